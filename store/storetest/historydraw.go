package storetest

import (
	"math/rand/v2"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// drawer makes the choices of one call.
type drawer struct {
	*rand.Rand
	world *historyWorld
}

// one is true once in n times.
func (d drawer) one(n int) bool { return d.IntN(n) == 0 }

// few is a small number above 0, mostly a very small one.
func (d drawer) few() int { return 1 + d.IntN(1+d.IntN(12)) }

// duration is nothing, a moment, a while, or a round one: so that things often end just when time has come there.
func (d drawer) duration() time.Duration {
	switch d.IntN(5) {
	case 0:
		return 0
	case 1:
		return time.Duration(d.IntN(2000)) * time.Millisecond
	case 2:
		return [...]time.Duration{time.Second, 10 * time.Second, time.Minute}[d.IntN(3)]
	}
	return time.Duration(d.IntN(60)*d.IntN(60)) * 100 * time.Millisecond
}

// group is one of the names in a history.
func (d drawer) group() string {
	return [...]string{"", "a", "b", "ähnlich", "a group with a longer name"}[d.IntN(5)]
}

func (d drawer) consumer() string { return [...]string{"", "c1", "c2"}[d.IntN(3)] }

// seq is likely that of a message that is still there.
func (d drawer) seq(q store.QueueID) store.Seq {
	return 1 + d.world.last[q] - min(d.world.last[q], store.Seq(d.IntN(30)))
}

// settings are a configuration that the engine could have made: groups take turns or have an order, or levels do.
func (d drawer) settings(fifo bool) store.Settings {
	s := store.Settings{MaxReceives: uint32(d.IntN(4)), Lazy: d.one(4), ExpiredDead: d.one(2), Overflow: store.Overflow(d.IntN(3))}
	some := func(n int, choose func()) {
		if d.one(n) {
			choose()
		}
	}
	interval := func() time.Duration {
		return [...]time.Duration{333 * time.Microsecond, 7 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second}[d.IntN(4)]
	}
	some(3, func() { s.Retention = 10 * d.duration() })
	some(2, func() { s.DedupWindow = d.duration() })
	some(4, func() { s.MaxMessages = int64(1 + d.IntN(20)) })
	some(6, func() { s.MaxBytes = int64(1 + d.IntN(5000)) })
	some(5, func() { s.MaxInFlight = uint32(1 + d.IntN(6)) })
	some(5, func() { s.Interval = interval() })
	some(2, func() { s.History = 1 << 20 })
	switch {
	case fifo:
		s.Mode, s.Tail = store.FIFO, d.one(2)
	case d.one(3):
		s.Mode = store.Fair
	case d.one(2):
		s.Levels = uint8(1 + d.IntN(10))
		some(2, func() { s.Ageing = 10*time.Millisecond + d.duration() })
		return s
	}
	some(5, func() { s.GroupInFlight = uint32(1 + d.IntN(3)) })
	some(5, func() { s.GroupInterval = interval() })
	return s
}

// selection chooses by some of what one can choose by.
func (d drawer) selection(q store.QueueID) store.Selection {
	var s store.Selection
	if d.one(2) {
		s.States = store.States(1 + d.IntN(int(store.AnyState)))
	}
	if d.one(3) {
		group := d.group()
		s.Group = &group
	}
	if d.one(6) {
		s.Consumer = d.consumer()
	}
	if d.one(5) {
		s.AvailableBefore = tickTime(tick(d.world.clock.Now()) - int64(d.IntN(100)))
	}
	if d.one(5) {
		s.From = d.seq(q)
	}
	if d.one(5) {
		s.UpTo = d.seq(q)
	}
	if d.one(5) {
		s.Seqs = []store.Seq{}
		for seq := d.seq(q); len(s.Seqs) < d.IntN(6); seq += store.Seq(1 + d.IntN(4)) {
			s.Seqs = append(s.Seqs, seq)
		}
	}
	return s
}

// item says what messages are made.
func (d drawer) item() store.SettleItem {
	i := store.SettleItem{Target: store.Target(1 + d.IntN(4)), After: d.duration()}
	if d.one(2) {
		i.Reason = [...]string{"broken", "too late", "a longer reason, as people write them"}[d.IntN(3)]
	}
	return i
}
