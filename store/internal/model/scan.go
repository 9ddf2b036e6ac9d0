package model

import (
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// Scan looks at up to limit messages of up to maxBytes, at least one, without what they say; next is where to go on.
func (q *Queue) Scan(now Millis, sel *store.Selection, limit int, maxBytes int64) (views []store.View, next store.Seq) {
	q.advance(now)
	seqs, next := q.choose(sel, limit)
	var bytes int64
	for i, seq := range seqs {
		if bytes += int64(q.Size(seq)); i > 0 && bytes > maxBytes {
			return views, seq
		}
		views = append(views, q.view(seq))
	}
	return views, next
}

// view is a live message without what it says.
func (q *Queue) view(seq store.Seq) store.View {
	v := store.View{State: q.stateOf(seq)}
	v.Seq, v.Size = seq, q.Size(seq)
	v.Group, v.Priority = q.names.get(q.cols.group(seq)), q.cols.priority(seq)
	if at := q.cols.expires(seq); at > 0 {
		v.ExpiresAt = Time(at)
	}
	n, touched := q.slots.find(seq)
	if !touched {
		v.AvailableAt = Time(Millis(q.cols.avail(seq) * tickMillis))
		if v.State == store.StateDelayed {
			v.AvailableAt, v.Due = v.Due, Time(q.plannedFor(seq))
		}
		return v
	}
	s := &q.slots.slab[n]
	v.Entered, v.Token = s.entered, s.token
	if s.avail > 0 {
		v.AvailableAt = Time(Millis(s.avail * tickMillis))
	}
	if s.due > 0 {
		v.Due = Time(s.due)
	}
	if s.since > 0 {
		v.LeasedAt = Time(s.since)
	}
	v.Consumer, v.Reason, v.Visits = q.texts.get(s.consumer), q.texts.get(s.reason), q.visitsOf(s.visits)
	return v
}

// plannedFor is when a planned message is due, to the millisecond.
func (q *Queue) plannedFor(seq store.Seq) Millis {
	i := slices.IndexFunc(q.planned, func(e entry) bool { return e.id == uint64(seq) })
	return q.planned[i].at
}

// Sought is an answer to Lookup: a message that may be the one, or the history of one that was.
type Sought struct {
	View store.View
	// Sure says that it is the one; otherwise its origin has to be looked at.
	Sure bool
}

// Lookup finds messages that may be the one first sent to origin under seq, the likeliest first.
func (q *Queue) Lookup(now Millis, origin store.QueueID, seq store.Seq) []Sought {
	q.advance(now)
	var found []Sought
	own, short := origin == q.id, alias(origin, seq)
	if own && q.Live(seq) && q.cols.alias(seq) == 0 {
		found = append(found, Sought{q.view(seq), true})
	}
	for s := range q.cols.aliased(short) {
		if q.Live(s) {
			found = append(found, Sought{View: q.view(s)})
		}
	}
	for _, p := range slices.Backward(q.past) {
		if p.alias == short || own && p.alias == 0 && p.seq == seq {
			return append(found, Sought{p.view(), true})
		}
	}
	return found
}

// aliased yields the sequences of messages with an alias.
func (c *columns) aliased(short uint32) func(yield func(store.Seq) bool) {
	return func(yield func(store.Seq) bool) {
		for at, ch := range c.chunks {
			if ch == nil || ch.full && ch.width[fieldAlias] == 0 && ch.base[fieldAlias] != int64(short) {
				continue
			}
			n := len(ch.open)
			if ch.full {
				n = ch.len()
			}
			for i := range n {
				if ch.field(uint64(i)+uint64(ch.skip), fieldAlias) != int64(short) {
					continue
				}
				if !yield(store.Seq(c.index[at]*chunkLen + uint64(ch.skip) + uint64(i))) {
					return
				}
			}
		}
	}
}

// Groups lists groups with messages by name, after the given one, at most limit.
func (q *Queue) Groups(now Millis, after *string, limit int) []store.Group {
	q.advance(now)
	if !grouped(&q.settings) {
		return nil
	}
	var names []string
	byName := make(map[string]*lane)
	for key, n := range q.lanes.index {
		if name := q.names.get(key); after == nil || name > *after {
			names = append(names, name)
			byName[name] = &q.lanes.list[n]
		}
	}
	slices.Sort(names)
	list := make([]store.Group, 0, min(limit, len(names)))
	for _, name := range names[:min(limit, len(names))] {
		list = append(list, q.groupOf(now, name, byName[name]))
	}
	return list
}

func (q *Queue) groupOf(now Millis, name string, l *lane) store.Group {
	g := store.Group{
		Name: name, Ready: int64(l.ready), Leased: int64(l.leased), Delayed: int64(l.delayed), Dead: int64(l.dead),
		HeadAge: -1,
	}
	if l.ready > 0 {
		seq, _, _ := q.first(l)
		g.Head, g.HeadAge = seq, age(now, q.availOf(seq))
	}
	if q.locked(l) {
		g.Head = 0
		for i := range q.timed.items {
			s := q.timed.at(i)
			if s.state == delayed || q.cols.group(s.seq) != l.key {
				continue
			}
			if g.Head == 0 || s.seq < g.Head {
				g.Head = s.seq
			}
			if until := Time(s.due); until.After(g.LockedUntil) {
				g.LockedUntil = until
			}
		}
	}
	return g
}

// IsFrom says whether a message was first sent to a queue under a sequence, and came from there.
func IsFrom(v store.View, origin store.QueueID, seq store.Seq) bool {
	return v.Origin != nil && v.Origin.Queue == origin && v.Origin.Seq == seq
}
