package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var (
	queueFence = newRepeatable("queue_fence")
	logFence   = newRepeatable("log_fence")
	kvFence    = newRepeatable("kv_fence")
)

const (
	// mostUnseen is more than the commits that others can have made in a lost time line: what is passed over beyond that is
	// a jump in it.
	mostUnseen = 1 << 26
	// droppedFor is for how long it is known for sure that a queue or log was dropped, in milliseconds: less than the hour in
	// the scripts that drop.
	droppedFor = int64(30 * time.Minute / time.Millisecond)
)

// errBefore is of a place that was asked at a server that does not know of its failover yet.
var errBefore = errors.New("the server is the one before the failover; repeat later")

// span are the numbers from one up to another.
type span struct{ from, to int64 }

// meets is how many numbers two spans share.
func (a span) meets(b span) int64 { return max(min(a.to, b.to)-max(a.from, b.from), 0) }

// passed are the numbers that a place has passed over, for every time that it began another time line. What has such a
// number is lost.
type passed struct {
	spans []span
	// all says that the place itself is lost.
	all bool
	now int64 // queue time
	// bump is what the place was told: it says nothing of a newer time line.
	bump int64
}

func (p *passed) has(a *answer) bool {
	if p.all {
		return a.at > p.now-droppedFor
	}
	return slices.ContainsFunc(p.spans, func(s span) bool { return s.meets(span{a.first, a.behind()}) > 0 })
}

// ledger is what was counted of the changes of others, so that nothing is counted twice.
type ledger map[place][]entry

// entry says how many changes of others were counted as lost among the numbers that a place has passed over.
type entry struct {
	span
	others int64
	// unclear says that they could not be counted.
	unclear bool
}

// mostEntries bounds those of a place, mostLedgers the places.
const (
	mostEntries = 32
	mostLedgers = 1 << 16
)

// countLosses brings all queues, logs and key-value pairs with these tags of which this process remembers changes into
// the time line of the present bump, and counts what it was told was done and is lost. Nothing is counted twice. If it
// fails, what it returns is part of it, and the rest is counted by the next call.
func (s *Store) countLosses(ctx context.Context, tags []int) (Loss, error) {
	s.counting.Lock()
	defer s.counting.Unlock()
	var l Loss
	var errs []error
	wanted := make(map[int]bool, len(tags))
	for _, tag := range tags {
		wanted[tag] = true
	}
	places, oldest := s.answers.unsure(func(a *answer) (concerned, unsure bool) {
		tag := s.tagOfPlace(a.place)
		return wanted[tag], a.bump < s.bumps[tag].Load()
	})
	for p, own := range places {
		bump := s.bumps[s.tagOfPlace(p)].Load()
		over, err := s.passedOver(ctx, p)
		if err == nil && over.bump < bump {
			err = errBefore
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ask %s what is lost: %w", p, err))
			continue
		}
		s.countPlace(&l, p, own, over, bump)
		l.Partial = l.Partial || slices.ContainsFunc(own, func(r remembered) bool { return r.number == oldest && r.lost })
	}
	return l, errors.Join(errs...)
}

// String implements [fmt.Stringer].
func (p place) String() string {
	switch {
	case p.id == 0:
		return "the key-value part"
	case p.log:
		return fmt.Sprintf("partition %d of log %d", p.partition, p.id)
	case p.of > 0:
		return fmt.Sprintf("shard %d of queue %d", p.shard, p.id)
	}
	return fmt.Sprintf("queue %d", p.id)
}

// remembered is an answer and which one it was.
type remembered struct {
	answer
	number int
}

// unsure are all answers of the places of which there is one, not lost yet, that is unsure. If others were forgotten it also
// returns which is the oldest that is of concern, if it is not lost yet; else -1.
func (m *answers) unsure(ask func(*answer) (concerned, unsure bool)) (map[place][]remembered, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places, oldest, found := make(map[place][]remembered), -1, false
	for number := m.noted - len(m.list); number < m.noted; number++ {
		a := &m.list[number%mostAnswers]
		concerned, unsure := ask(a)
		if concerned && !found {
			found = true
			if !a.lost && m.noted > len(m.list) {
				oldest = number
			}
		}
		if concerned && unsure && !a.lost {
			places[a.place] = nil
		}
	}
	if len(places) == 0 {
		return nil, -1
	}
	for number := m.noted - len(m.list); number < m.noted; number++ {
		a := m.list[number%mostAnswers]
		if own, ok := places[a.place]; ok {
			places[a.place] = append(own, remembered{a, number})
		}
	}
	return places, oldest
}

// settle notes what became of answers that are still remembered.
func (m *answers) settle(list []remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range list {
		if r := &list[i]; r.number >= m.noted-len(m.list) {
			m.list[r.number%mostAnswers] = r.answer
		}
	}
}

// passedOver asks a place.
func (s *Store) passedOver(ctx context.Context, p place) (passed, error) {
	switch {
	case p.id == 0:
		r, now, err := s.timed(ctx, kvFence, s.kvKeys(5))
		if err != nil {
			return passed{}, err
		}
		return passed{spans: r.cuts(), now: now, bump: r.bump}, r.done()
	case p.log:
		r, now, err := s.timed(ctx, logFence, s.logKeys(store.LogID(p.id), []string{"c"}), p.partition)
		if err != nil {
			return passed{}, err
		}
		over := passed{all: r.text() == "absent", now: now, bump: r.bump}
		if r.more() {
			for holes := r.list(); holes.more(); {
				over.spans = append(over.spans, span{holes.int(), holes.int()})
			}
		}
		return over, r.done()
	}
	r, now, err := part{s, uint32(p.shard), uint32(p.of)}.queue(ctx, queueFence, queueCall{id: store.QueueID(p.id)})
	if err != nil {
		return passed{}, err
	}
	over := passed{all: r.text() == "absent", now: now, bump: r.bump}
	over.spans = r.cuts()
	return over, r.done()
}

// cuts reads, of each, the number before it and its last one.
func (r *reply) cuts() []span {
	var list []span
	for r.more() {
		list = append(list, span{r.int() + 1, r.int() + 1})
	}
	return list
}

// countPlace counts the losses of one place, of which all own answers are given.
func (s *Store) countPlace(l *Loss, p place, own []remembered, over passed, bump int64) {
	slices.SortStableFunc(own, func(a, b remembered) int { return cmp.Compare(a.first, b.first) })
	for i := range own {
		a := &own[i]
		switch {
		case a.lost:
		case !over.has(&a.answer):
			a.bump = max(a.bump, bump)
		default:
			a.lost = true
			// A repeat that was told that it was one was told of the same change.
			if i == 0 || own[i-1].first != a.first || !own[i-1].lost {
				l.add(&a.answer)
			}
		}
	}
	s.countOthers(l, p, own, over)
	s.answers.settle(own)
}

// add counts one answer.
func (l *Loss) add(a *answer) {
	n := int(a.count)
	switch a.kind {
	case sends:
		l.Sends += n
	case receives:
		l.Receives += n
	case settles:
		l.Settles += n
	case appends:
		l.Appends += n
	case catalog:
		l.Catalog += n
	case nothingMuch:
	}
}

// countOthers counts, in each span that a place has passed over, the changes of others before the last own one: they are lost
// as well.
func (s *Store) countOthers(l *Loss, p place, own []remembered, over passed) {
	if len(s.ledger) > mostLedgers {
		s.ledger = nil
	}
	known := s.ledger[p]
	for _, cut := range over.spans {
		behind, mine := cut.from, int64(0)
		for i := range own {
			a := &own[i]
			if i > 0 && own[i-1].first == a.first {
				continue
			}
			if n := cut.meets(span{a.first, a.behind()}); n > 0 {
				mine, behind = mine+n, max(behind, a.behind())
			}
		}
		if mine == 0 {
			continue
		}
		// The time line that is lost may itself have passed over something.
		all := span{cut.from, behind}
		others, at := all.to-all.from-mine, -1
		for i := range known {
			if known[i].from == cut.from {
				at = i
			} else {
				others -= all.meets(known[i].span)
			}
		}
		if at < 0 {
			known, at = append(known, entry{span: cut}), len(known)
		}
		e := &known[at]
		e.span = cut
		if others > mostUnseen {
			l.Partial = l.Partial || !e.unclear
			e.unclear = true
		} else if others > e.others {
			l.Others += int(others - e.others)
			e.others = others
		}
	}
	if len(known) > 0 {
		if s.ledger == nil {
			s.ledger = make(ledger)
		}
		s.ledger[p] = known[max(0, len(known)-mostEntries):]
	}
}

// countLate counts by itself, in the background, what came of a tag after that was counted.
func (s *Store) countLate(tag int) {
	if s.enter() != nil {
		return
	}
	defer s.calls.Done()
	m := &s.answers
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.late == nil {
		m.late = make(map[int]struct{})
	}
	m.late[tag] = struct{}{}
	if m.counting {
		return
	}
	m.counting = true
	s.work.Go(func() {
		for tags := m.lateTags(); len(tags) > 0; tags = m.lateTags() {
			s.reportLate(tags)
		}
	})
}

// reportLate counts and reports.
func (s *Store) reportLate(tags []int) {
	if s.life.Err() != nil {
		return
	}
	l, err := s.countAll(tags)
	if err != nil && s.life.Err() == nil {
		s.o.Warning(fmt.Sprintf("What Redis answered late, in a failover, could not be found again: %v", err))
		l.Partial = true
	}
	if l != (Loss{}) && s.o.Lost != nil {
		ctx, cancel := context.WithTimeout(s.life, countTime)
		defer cancel()
		if v, err := s.topology.route(ctx, s.fenceKey(tags[0])); err == nil {
			l.Server = v.name
		}
		s.o.Lost(l)
	}
}

// lateTags takes the tags that are to be counted again. Without any, nobody counts any more.
func (m *answers) lateTags() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	tags := slices.Collect(maps.Keys(m.late))
	clear(m.late)
	m.counting = len(tags) > 0
	return tags
}
