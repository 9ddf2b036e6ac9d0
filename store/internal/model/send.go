package model

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Send appends messages. When the call was made before, under the same Once key, it returns false and the first result.
func (q *Queue) Send(now Millis, entries []Meta, once *store.Once) (Sent, store.SendResult, bool, error) {
	q.advance(now)
	if once != nil {
		if first, seen := q.once.find(once.Key, now); seen {
			if first.fingerprint != once.Fingerprint {
				return Sent{}, store.SendResult{}, false, fmt.Errorf("send to queue %d: %w", q.id, store.ErrKeyReused)
			}
			return Sent{}, store.SendResult{
				First: first.first, Count: int(first.count), SentAt: Time(first.at),
				Duplicate: true, Note: []byte(first.note), NextDue: q.NextDue(now),
			}, false, nil
		}
	}
	ev := Sent{At: now, First: q.next, Entries: entries, Once: once}
	q.ApplySent(ev)
	return ev, store.SendResult{
		First: ev.First, Count: len(entries), SentAt: Time(now), NextDue: q.NextDue(now),
	}, true, nil
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
	for _, m := range ev.Entries {
		q.add(ev.At, m)
	}
	if ev.Once != nil {
		q.once.add(ev)
	}
}

// Delays resolves the delays of entries to milliseconds from now, or nil when there are none.
func Delays(entries []store.Entry, c *Clock) []Millis {
	var delays []Millis
	for i, e := range entries {
		d := e.Delay
		if !e.NotBefore.IsZero() {
			d = max(d, c.Until(e.NotBefore))
		}
		if d <= 0 {
			continue
		}
		if delays == nil {
			delays = make([]Millis, len(entries))
		}
		delays[i] = after(0, d)
	}
	return delays
}
