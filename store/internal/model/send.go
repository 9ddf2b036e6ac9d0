package model

import (
	"fmt"
	"math"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Metas resolves what a send says of its messages. Times count from the moment of the send, which is not known yet.
func Metas(entries []store.Entry, c *Clock) []Meta {
	metas := make([]Meta, len(entries))
	for i := range entries {
		e := &entries[i]
		m := Meta{
			Size: e.Size, Delay: after(0, e.Delay), TTL: after(0, e.TTL), Group: e.Group, Priority: e.Priority,
			Dedup: e.Dedup, InOrder: e.InOrder, displace: e.Displace,
		}
		if !e.NotBefore.IsZero() {
			now, ahead := c.Read()
			m.Delay, m.NotBefore = waits(now, ahead, m.Delay, e.NotBefore)
			if m.InOrder && m.NotBefore > 0 {
				m.Delay, m.NotBefore = m.NotBefore-now-Millis(ahead), 0
			}
		}
		metas[i] = m
	}
	return metas
}

// waits gives the one of both that is later by the clocks: a delay, or what the wall clock has to show.
func waits(now Millis, ahead Ahead, delay Millis, notBefore time.Time) (Millis, Millis) {
	if at := ceilMillis(notBefore); at > 0 && at-Millis(ahead) > now+delay {
		return 0, at
	}
	return delay, 0
}

// Sending describes a send to the machine.
type Sending struct {
	Entries []Meta
	Once    *store.Once
	Whole   bool
}

// Send appends messages. When the call was made before, under the same Once key, or nothing was accepted, it returns
// false and the result. The event is as Entries say (Simple) unless some were not accepted, gave way or were put off.
func (q *Queue) Send(now Millis, p Sending) (ev Sent, res store.SendResult, changed bool, err error) {
	q.advance(now)
	if p.Once != nil {
		if first, seen := q.once.find(p.Once.Key, now); seen {
			if first.fingerprint != p.Once.Fingerprint {
				return Sent{}, store.SendResult{}, false, fmt.Errorf("send to queue %d: %w", q.id, store.ErrKeyReused)
			}
			return Sent{}, store.SendResult{
				First: first.first, Count: int(first.count), SentAt: Time(first.at), Fates: decodeFates(first.fates),
				Duplicate: true, Note: []byte(first.note), NextDue: q.NextDue(now),
			}, false, nil
		}
	}
	ev = Sent{At: now, First: q.next, Once: p.Once, Simple: true}
	if q.simple(p.Entries) {
		ev.Entries = p.Entries
		for i := range ev.Entries {
			q.accept(now, ev.Entries[i])
		}
	} else {
		s := sending{queue: q, ev: &ev, now: now}
		if p.Whole && s.refuses(p.Entries) {
			s.refuseAll(p.Entries)
		} else {
			s.judge(p.Entries)
		}
		res.Fates = s.result()
		res.Evicted = len(ev.Evictions)
		if res.Fates != nil {
			ev.Fates = encodeFates(res.Fates)
		}
	}
	res.First, res.Count, res.SentAt = ev.First, len(ev.Entries), Time(now)
	if p.Once != nil && len(ev.Entries) > 0 {
		q.once.add(ev)
	}
	res.NextDue = q.NextDue(now)
	return ev, res, len(ev.Entries) > 0, nil
}

// simple says that no entry can meet anything but acceptance as it is.
func (q *Queue) simple(entries []Meta) bool {
	if q.settings.MaxMessages > 0 || q.settings.MaxBytes > 0 {
		return false
	}
	for i := range entries {
		if entries[i].Dedup != (store.DedupKey{}) || entries[i].InOrder {
			return false
		}
	}
	return true
}

// accept adds one message and remembers its key.
func (q *Queue) accept(now Millis, m Meta) {
	if m.Dedup != (store.DedupKey{}) {
		if window := after(0, q.settings.DedupWindow); window > 0 {
			q.dedup.add(now, m.Dedup, q.next, window)
		}
	}
	q.add(now, m)
}

// Remembers says whether a Send under that key would be answered as a duplicate, or refused as another one.
func (q *Queue) Remembers(now Millis, once *store.Once) bool {
	q.advance(now)
	_, seen := q.once.find(once.Key, now)
	return seen
}

// ApplySent repeats a Send.
func (q *Queue) ApplySent(ev Sent) {
	q.advance(ev.At)
	if ev.First != q.next {
		panic(fmt.Sprintf("model: queue %d gets message %d, expected %d", q.id, ev.First, q.next))
	}
	gave := ev.Evictions
	for i, m := range ev.Entries {
		for ; len(gave) > 0 && int(gave[0].Before) == i; gave = gave[1:] {
			q.erase(ev.At, gave[0].Seq, store.Evicted)
		}
		q.accept(ev.At, m)
	}
	if ev.Once != nil {
		q.once.add(ev)
	}
}

// sending judges the entries of one send.
type sending struct {
	queue *Queue
	ev    *Sent
	now   Millis
	fates []store.Fate
	odd   bool // some entry was not accepted
}

func (s *sending) judge(entries []Meta) {
	for i := range entries {
		s.fates = append(s.fates, s.one(entries[i]))
	}
}

func (s *sending) one(m Meta) store.Fate {
	q := s.queue
	if seq, dup := s.duplicate(m); dup {
		s.odd = true
		return store.Fate{Verdict: store.Duplicate, Seq: seq}
	}
	if v := s.room(m); v != store.Accepted {
		s.odd = true
		return store.Fate{Verdict: v}
	}
	if m.InOrder && q.settings.Mode == store.FIFO {
		if due := q.lastInOrder(m.Group); due > s.now+m.Delay {
			m.Delay = due - s.now
			s.ev.Simple = false
		}
	}
	fate := store.Fate{Verdict: store.Accepted, Seq: q.next}
	q.accept(s.now, m)
	s.ev.Entries = append(s.ev.Entries, m)
	return fate
}

func (s *sending) duplicate(m Meta) (store.Seq, bool) {
	if m.Dedup == (store.DedupKey{}) || s.queue.settings.DedupWindow <= 0 {
		return 0, false
	}
	return s.queue.dedup.find(m.Dedup, s.now)
}

// room makes room for a message if it must, or says why there is none.
func (s *sending) room(m Meta) store.Verdict {
	q := s.queue
	if q.fits(m.Size, 0, 0) {
		return store.Accepted
	}
	switch {
	case q.settings.Overflow == store.DropOldest, m.displace:
	case q.settings.Overflow == store.DropNewest:
		return store.Dropped
	default:
		return store.Refused
	}
	if !q.wouldFit(q.leases.len()+1, q.leasedBytes+int64(m.Size)) {
		return store.Refused
	}
	for !q.fits(m.Size, 0, 0) {
		seq, ok := q.displaceable()
		if !ok {
			panic("model: a bounded queue is full of nothing")
		}
		s.ev.Evictions = append(s.ev.Evictions, Eviction{uint32(len(s.ev.Entries)), seq})
		s.ev.Simple = false
		q.erase(s.now, seq, store.Evicted)
	}
	return store.Accepted
}

// fits says whether there is room for a message of a size beside what is here and some more.
func (q *Queue) fits(size uint32, messages, bytes int64) bool {
	return q.wouldFit(q.Len()-q.dead.len()+messages+1, q.cols.bytes-q.deadBytes+bytes+int64(size))
}

func (q *Queue) wouldFit(messages, bytes int64) bool {
	return (q.settings.MaxMessages <= 0 || messages <= q.settings.MaxMessages) &&
		(q.settings.MaxBytes <= 0 || bytes <= q.settings.MaxBytes)
}

// displaceable is the oldest ready message, else the delayed one that is due first.
func (q *Queue) displaceable() (store.Seq, bool) {
	if seq, _, ok := q.eldest(); ok {
		return seq, true
	}
	var best store.Seq
	due := Millis(math.MaxInt64)
	sooner := func(at Millis, seq store.Seq) {
		if best == 0 || at < due || at == due && seq < best {
			best, due = seq, at
		}
	}
	if at, ok := q.firstPlanned(); ok {
		sooner(at, store.Seq(q.planned[0].id))
	}
	if at, ok := q.firstByWall(); ok {
		sooner(at, store.Seq(q.byWall.walls[0].id))
	}
	if !q.delays.empty() {
		s := q.delays.top()
		sooner(s.due, s.seq)
	}
	return best, best != 0
}

// refuses says whether some entry would not be accepted.
func (s *sending) refuses(entries []Meta) bool {
	q := s.queue
	var messages, bytes int64
	seen := make(map[store.DedupKey]bool)
	for i := range entries {
		m := &entries[i]
		if _, dup := s.duplicate(*m); dup || seen[m.Dedup] {
			continue
		}
		fits := q.fits(m.Size, messages, bytes)
		if q.settings.Overflow == store.DropOldest || m.displace {
			fits = q.wouldFit(q.leases.len()+1, q.leasedBytes+int64(m.Size))
		}
		if !fits {
			return true
		}
		if m.Dedup != (store.DedupKey{}) && q.settings.DedupWindow > 0 {
			seen[m.Dedup] = true
		}
		messages++
		bytes += int64(m.Size)
	}
	return false
}

func (s *sending) refuseAll(entries []Meta) {
	s.odd = true
	for i := range entries {
		if seq, dup := s.duplicate(entries[i]); dup {
			s.fates = append(s.fates, store.Fate{Verdict: store.Duplicate, Seq: seq})
			continue
		}
		s.fates = append(s.fates, store.Fate{Verdict: store.Refused})
	}
}

// result is nil when all were accepted.
func (s *sending) result() []store.Fate {
	if !s.odd {
		return nil
	}
	s.ev.Simple = false
	return s.fates
}

// encodeFates writes fates for those who repeat a send: n × { verdict u8 | seq u64 }.
func encodeFates(fates []store.Fate) string {
	w := writer{make([]byte, 0, 9*len(fates))}
	for _, f := range fates {
		w.u8(uint8(f.Verdict))
		w.seq(f.Seq)
	}
	return string(w.b)
}

func decodeFates(s string) []store.Fate {
	r := reader{b: []byte(s)}
	var fates []store.Fate
	for len(r.b) >= 9 {
		fates = append(fates, store.Fate{Verdict: store.Verdict(r.u8()), Seq: r.seq()})
	}
	return fates
}
