package model

import (
	"cmp"
	"encoding/binary"
	"iter"
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
			v.AvailableAt, v.Due = v.Due, Time(q.dueOf(seq))
		}
		return v
	}
	s := &q.slots.slab[n]
	v.Entered, v.Token = s.entered, s.token
	if s.avail > 0 {
		v.AvailableAt = Time(Millis(s.avail * tickMillis))
	}
	if s.due > 0 {
		v.Due = Time(q.slotDue(s))
	}
	if s.since > 0 {
		v.LeasedAt = Time(s.since)
	}
	v.Consumer, v.Reason, v.Visits = q.texts.get(s.consumer), q.texts.get(s.reason), q.visitsOf(s.visits)
	return v
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
	for _, p := range slices.Backward(q.departed) {
		if p.alias == short || own && p.alias == 0 && p.seq == seq {
			return append(found, Sought{p.view(), true})
		}
	}
	return found
}

// aliased yields the sequences of messages with an alias.
func (c *columns) aliased(short uint32) iter.Seq[store.Seq] {
	return func(yield func(store.Seq) bool) {
		for at, ch := range c.chunks {
			if ch == nil {
				continue
			}
			for i := range ch.holders(fieldAlias, int64(short)) {
				if !yield(store.Seq(c.index[at]*chunkLen + uint64(ch.skip) + uint64(i))) {
					return
				}
			}
		}
	}
}

// holders yields the places of the values of a field that equal v. It is what a lookup of a moved message spends its time
// in: a queue of 1,000,000 has 4,000 chunks to look at.
func (ch *chunk) holders(field int, v int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !ch.full {
			for i := range ch.open {
				if row := ch.open[i].row(); row[field] == v && !yield(i) {
					return
				}
			}
			return
		}
		data, width := ch.column(field), int(ch.width[field])
		if v < ch.base[field] || width < 8 && (v-ch.base[field])>>(8*width) != 0 {
			return
		}
		want := uint64(v - ch.base[field])
		for i := range ch.len() {
			if width == 4 && binary.LittleEndian.Uint32(data[4*i:]) != uint32(want) { // quicker, and what hashes take
				continue
			}
			if unpack(data, i, width) == want && !yield(i) {
				return
			}
		}
	}
}

// Groups lists groups with messages by name, after the given one, at most limit. It looks at the names of all groups
// and at all leases and backoffs once, whatever the limit; with Tail it need not look at these.
func (q *Queue) Groups(now Millis, after *string, limit int) []store.Group {
	q.advance(now)
	if !grouped(&q.settings) || limit < 1 {
		return nil
	}
	page := make([]store.Group, 0, min(limit, len(q.lanes.index)))
	for _, key := range q.firstGroups(after, limit) {
		page = append(page, q.groupOf(now, key))
	}
	if q.settings.Mode == store.FIFO && !q.settings.Tail {
		q.findLocks(page)
	}
	return page
}

// firstGroups are the keys of the groups that come first by name after the given one, at most limit.
func (q *Queue) firstGroups(after *string, limit int) []uint32 {
	byName := func(a, b uint32) int { return cmp.Compare(q.names.get(a), q.names.get(b)) }
	var first []uint32 // up to twice as many as are wanted, so that sorting them costs little for each
	full, last := false, ""
	for i := range q.lanes.list { // quicker than its index
		l := &q.lanes.list[i]
		name := q.names.get(l.key)
		if l.empty() || after != nil && name <= *after || full && name >= last {
			continue
		}
		if first = append(first, l.key); len(first)/2 >= limit {
			slices.SortFunc(first, byName)
			first = first[:limit]
			full, last = true, q.names.get(first[limit-1])
		}
	}
	slices.SortFunc(first, byName)
	return first[:min(limit, len(first))]
}

func (q *Queue) groupOf(now Millis, key uint32) store.Group {
	n := q.lanes.index[key]
	l := &q.lanes.list[n]
	g := store.Group{
		Name: q.names.get(key), Ready: int64(l.ready), Leased: int64(l.leased), Delayed: int64(l.delayed), Dead: int64(l.dead),
		HeadAge: -1,
	}
	if l.ready > 0 {
		seq := q.first(l)
		g.Head, g.HeadAge = seq, age(now, q.availOf(seq))
	}
	if q.locked(n) {
		g.Head = 0 // until findLocks
		if s := q.blocker(n); s != nil {
			g.Head, g.LockedUntil = s.seq, Time(s.due)
		}
	}
	return g
}

// findLocks fills in what locks the groups of a page, in a queue without Tail.
func (q *Queue) findLocks(page []store.Group) {
	locked := make(map[uint32]*store.Group)
	for i := range page {
		key, _ := q.names.id(page[i].Name)
		if q.locked(q.lanes.index[key]) {
			locked[key] = &page[i]
		}
	}
	if len(locked) == 0 {
		return
	}
	for _, o := range []*order{&q.leases, &q.delays} {
		for i := range o.items {
			s := o.at(i)
			g := locked[q.cols.group(s.seq)]
			if s.state == delayed || g == nil {
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
}

// IsFrom says whether a message was first sent to a queue under a sequence, and came from there.
func IsFrom(v store.View, origin store.QueueID, seq store.Seq) bool {
	return v.Origin != nil && v.Origin.Queue == origin && v.Origin.Seq == seq
}
