package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var statsCases = []testCase{
	{"of an empty queue", statsEmpty},
	{"follow a message through its life", statsLife},
	{"say how old the oldest is", statsOldest},
	{"add up at each moment of a busy hour", statsAddUp},
	{"show the revision", statsRevision},
	{"refuse an unknown queue", statsRefuse},
}

func statsEmpty(f *fixture) {
	q := f.queue(store.Settings{})
	s := f.stats(q)
	if s.OldestAge >= 0 {
		f.Errorf("Stats of an empty queue: got oldest age %v, want a negative one", s.OldestAge)
	}
	s.OldestAge = 0
	f.equal("Stats of an empty queue", s, store.Stats{Revision: 1, NextDue: store.NoDue})
}

func statsLife(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(q, delayed("12345", time.Second))
	f.wantCounts(q, "of a delayed message", counts{Delayed: 1, Bytes: 5})
	f.clock.Advance(time.Second)
	f.wantCounts(q, "of a ready message", counts{Ready: 1, Bytes: 5})
	r := f.claim(q, 1)
	f.wantCounts(q, "of a leased message", counts{Leased: 1, Bytes: 5})
	f.settle(q, items(r, store.Ready, time.Second)...)
	f.wantCounts(q, "of a message that is backing off", counts{Delayed: 1, Bytes: 5})
	f.clock.Advance(time.Second)
	f.wantCounts(q, "of a message that came back", counts{Ready: 1, Bytes: 5})
	f.settle(q, items(f.claim(q, 1), store.Dead, 0)...)
	f.wantCounts(q, "of a dead message", counts{Dead: 1, Bytes: 5})
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	f.wantCounts(q, "of the queue it left", counts{})
	f.wantCounts(target, "of the queue it went to", counts{Ready: 1, Bytes: 5})
	f.settle(target, items(f.claim(target, 1), store.Done, 0)...)
	f.wantCounts(target, "after it was done", counts{})
}

// wantAge expects the age of the oldest ready message, to a second.
func (f *fixture) wantAge(q store.QueueID, when string, want time.Duration) {
	f.Helper()
	if got := f.stats(q).OldestAge; got < want-time.Second || got > want+time.Second {
		f.Fatalf("Stats %s: got oldest age %v, want %v within a second", when, got, want)
	}
}

func (f *fixture) wantNoAge(q store.QueueID, when string) {
	f.Helper()
	if got := f.stats(q).OldestAge; got >= 0 {
		f.Fatalf("Stats %s: got oldest age %v, want a negative one", when, got)
	}
}

func statsOldest(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("delayed", 10*time.Second))
	f.wantNoAge(q, "with a delayed message only")
	f.clock.Advance(15 * time.Second)
	f.wantAge(q, "5 s after a delay ended", 5*time.Second)
	f.send(q, "new")
	f.clock.Advance(5 * time.Second)
	f.wantAge(q, "10 s after a delay ended", 10*time.Second)
	r := f.wantClaim(q, 1, "delayed")
	f.wantAge(q, "with the oldest leased", 5*time.Second)
	f.settle(q, items(r, store.Ready, 0)...)
	f.wantAge(q, "with the oldest given back", 10*time.Second)
	f.wantClaim(q, 2, "delayed", "new")
	f.wantNoAge(q, "with all leased")
	f.clock.Advance(time.Hour)
	f.wantAge(q, "an hour later", time.Hour+10*time.Second)
}

// A message is in exactly one state at each moment. The ledger here is a few lines: what was sent, less what was acked.
func statsAddUp(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 3})
	rng := rand.New(rand.NewPCG(1, 2))
	var held []store.SettleItem
	var total, size int64
	sizes := make(map[store.Seq]int64)
	for step := range 400 {
		switch rng.IntN(4) {
		case 0:
			e := store.Entry{Size: rng.Uint32N(100), Delay: time.Duration(rng.IntN(2)*rng.IntN(20)) * time.Second}
			r := f.sendEntries(q, e)
			sizes[r.First] = int64(e.Size)
			total, size = total+1, size+int64(e.Size)
		case 1:
			held = append(held, items(f.claim(q, 3), store.Target(1+rng.IntN(4)), time.Duration(rng.IntN(30))*time.Second)...)
		case 2:
			if len(held) == 0 {
				continue
			}
			i := held[0]
			held = held[1:]
			if f.settle(q, i).Outcomes[0] == store.Settled && i.Target == store.Done {
				total, size = total-1, size-sizes[i.Seq]
			}
		case 3:
			f.clock.Advance(time.Duration(rng.IntN(10_000)) * time.Millisecond)
		}
		s := f.stats(q)
		f.equal(fmt.Sprintf("Stats at step %d: sum of the counts", step), s.Ready+s.Leased+s.Delayed+s.Dead, total)
		f.equal(fmt.Sprintf("Stats at step %d: Bytes", step), s.Bytes, size)
		if (s.Ready > 0) != (s.OldestAge >= 0) {
			f.Fatalf("Stats at step %d: got %d ready and oldest age %v", step, s.Ready, s.OldestAge)
		}
	}
}

func statsRevision(f *fixture) {
	q := f.queue(store.Settings{})
	f.configure(q, store.Settings{MaxReceives: 3})
	f.equal("Stats.Revision", f.stats(q).Revision, uint64(2))
}

func statsRefuse(f *fixture) {
	_, err := f.store.Stats(f.Context(), 404)
	f.wantError("Stats of an unknown queue", err, store.ErrGone)
}
