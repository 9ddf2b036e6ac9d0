package storetest

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// sending is what the ledger foretells of a send. Sequences are 0 where they are not known.
type sending struct {
	Count   int
	Fates   []store.Fate
	Evicted int
}

// send notes a send at a moment and says what becomes of each entry. First is the sequence of the first accepted one, or
// 0 when the answer never came.
func (q *queueLedger) send(list []store.Entry, first store.Seq, now time.Time) sending {
	var s sending
	for _, e := range list {
		key := e.Dedup[0]
		if seq, used := q.dedup[key]; used && e.Dedup != (store.DedupKey{}) {
			s.Fates = append(s.Fates, store.Fate{Verdict: store.Duplicate, Seq: seq})
			continue
		}
		evicted, fits := q.makeRoom(e, now)
		if !fits {
			s.Fates = append(s.Fates, store.Fate{Verdict: store.Refused})
			continue
		}
		s.Evicted += evicted
		m := message{number: binary.BigEndian.Uint64(e.Payload), size: e.Size, group: e.Group, sentAt: now, avail: q.due(e, now)}
		if m.avail.After(now) {
			m.due = m.avail
		}
		if first != 0 {
			m.seq = first + store.Seq(s.Count)
		}
		s.Count++
		q.add(m)
		if e.Dedup != (store.DedupKey{}) {
			q.dedup[key] = m.seq
		}
		s.Fates = append(s.Fates, store.Fate{Verdict: store.Accepted, Seq: m.seq})
	}
	return s
}

// due is when a message becomes available, not before those of its group that were sent in order before it.
func (q *queueLedger) due(e store.Entry, now time.Time) time.Time {
	at := now.Add(e.Delay)
	if e.InOrder {
		if before := q.inOrder[e.Group]; before.After(at) {
			at = before
		}
		q.inOrder[e.Group] = at
	}
	return at
}

// makeRoom removes the oldest ready messages if that is what the queue does, and says whether a message fits.
func (q *queueLedger) makeRoom(e store.Entry, now time.Time) (evicted int, fits bool) {
	var messages, size int64
	for _, m := range append(q.inState(now, isReady), q.inState(now, isHeld)...) {
		messages, size = messages+1, size+int64(m.size)
	}
	full := func() bool {
		s := q.settings
		return s.MaxMessages > 0 && messages+1 > s.MaxMessages || s.MaxBytes > 0 && size+int64(e.Size) > s.MaxBytes
	}
	if q.settings.Overflow != store.DropOldest {
		return 0, !full()
	}
	ready := q.inState(now, isReady) // queues of these tests that drop the oldest delay nothing
	for evicted < len(ready) && full() {
		messages, size = messages-1, size-int64(ready[evicted].size)
		evicted++
	}
	if full() {
		return 0, false
	}
	for _, m := range ready[:evicted] {
		delete(q.messages, m.number)
	}
	return evicted, true
}

// dedupOf is the key of a test message.
func dedupOf(key byte) store.DedupKey { return store.DedupKey{key, 1} }

// free lists, by group and in the order in which they are offered, the ready messages of groups that are not locked.
func (q *queueLedger) free(now time.Time) map[string][]message {
	groups := make(map[string][]message)
	for _, m := range q.inState(now, isReady) {
		groups[m.group] = append(groups[m.group], m)
	}
	if q.settings.Mode != store.FIFO {
		return groups
	}
	for name, list := range groups {
		if q.locked(name, now) {
			delete(groups, name)
		}
		slices.SortFunc(list, func(a, b message) int { return cmp.Compare(a.place, b.place) })
	}
	return groups
}

// locked says that a message of a FIFO group is leased or backs off.
func (q *queueLedger) locked(group string, now time.Time) bool {
	return slices.ContainsFunc(q.inState(now, isHeld), func(m message) bool {
		return m.group == group && (m.lease.After(now) || m.backsOff)
	})
}

// leased counts messages that are held by receivers.
func (q *queueLedger) leased(now time.Time) int {
	n := 0
	for _, m := range q.inState(now, isHeld) {
		if m.lease.After(now) {
			n++
		}
	}
	return n
}
