package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// reopenCases: a clean stop and start changes nothing that anyone could see.
var reopenCases = []testCase{
	{"an empty store stays empty", reopenEmpty},
	{"keeps messages and their order", reopenMessages},
	{"keeps leases and their tokens", reopenLeases},
	{"keeps delays and backoffs", reopenDelays},
	{"keeps counts of deliveries", reopenDeliveries},
	{"keeps deleted messages deleted", reopenDeleted},
	{"keeps dead messages and their reasons", reopenDead},
	{"keeps moved dead letters where they went", reopenMoved},
	{"keeps origins", reopenOrigin},
	{"keeps settings", reopenSettings},
	{"keeps dropped queues dropped", reopenDropped},
	{"keeps idempotency keys", reopenOnce},
	{"keeps the key-value part", reopenKV},
	{"goes on numbering", reopenNumbers},
	{"raises tokens", reopenTokens},
	{"does not turn time back", reopenTime},
	{"counts the time it was closed", reopenClosedTime},
	{"keeps large and empty payloads", reopenSizes},
	{"may be done many times", reopenOften},
}

func reopenEmpty(f *fixture) {
	f.reopen()
	f.equal("Queues", f.queues(0, 10), []store.QueueID{})
	f.equal("List", keys(f.list("", "", 10)), []string{})
}

func reopenMessages(f *fixture) {
	q := f.queue(store.Settings{})
	for _, body := range []string{"a", "b", "c", "d"} {
		f.send(q, body)
		f.clock.Advance(time.Second)
	}
	r := f.wantClaim(q, 2, "a", "b")
	f.settle(q, items(r, store.Ready, 0)[1])
	before := f.stats(q)
	f.reopen()
	f.equal("Stats after a restart", f.stats(q), before)
	f.wantClaim(q, 10, "b", "c", "d")
}

func reopenLeases(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Leased, time.Hour)[1], store.Settled)
	f.reopen()
	f.wantCounts(q, "after a restart", counts{Ready: 1, Leased: 2, Bytes: 3})
	f.wantStrict(q, items(r, store.Done, 0)[0], store.Settled)
	f.clock.Advance(time.Hour - time.Millisecond)
	f.wantClaim(q, 2, "c")
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "b")
}

// "Delay or wait setting lost at restart."
func reopenDelays(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("sent", time.Minute), entry("nacked"))
	f.settle(q, items(f.wantClaim(q, 1, "nacked"), store.Ready, 2*time.Minute)...)
	for range 2 {
		f.clock.Advance(time.Second)
		f.reopen()
		f.wantCounts(q, "after a restart", counts{Delayed: 2, Bytes: 10})
	}
	f.clock.Advance(58*time.Second - time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "sent")
	f.clock.Advance(time.Minute)
	f.wantClaim(q, 2, "nacked", "sent")
}

func reopenDeliveries(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 3})
	f.send(q, "a")
	deliver(f, q, 1, store.Settled)
	f.reopen()
	deliver(f, q, 2, store.Settled)
	f.reopen()
	deliver(f, q, 3, store.Died)
	f.reopen()
	f.wantCounts(q, "after all deliveries", counts{Dead: 1, Bytes: 1})
}

func reopenDeleted(f *fixture) {
	q := f.queue(store.Settings{Retention: time.Minute})
	f.send(q, "acked", "expired")
	f.settle(q, items(f.wantClaim(q, 1, "acked"), store.Done, 0)...)
	f.clock.Advance(2 * time.Minute)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	f.reopen()
	f.wantCounts(q, "after a restart", counts{})
	f.configure(q, store.Settings{})
	f.wantClaim(q, 10)
}

func reopenDead(f *fixture) {
	q, target := f.queue(store.Settings{MaxReceives: 1}), f.queue(store.Settings{})
	reason := strings.Repeat("because ", 128)
	f.bury(q, reason, "a")
	f.send(q, "b")
	f.wantClaim(q, 1, "b")
	f.clock.Advance(lease)
	f.reopen()
	f.wantCounts(q, "after a restart", counts{Dead: 2, Bytes: 2})
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 2})
	r := f.wantClaim(target, 2, "a", "b")
	f.equal("Origin.Reason after a restart", r.Messages[0].Origin.Reason, reason)
}

// "Deleted dead letters returning after restart."
func reopenMoved(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(q, "", "a", "b")
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 2})
	f.settle(target, items(f.wantClaim(target, 1, "a"), store.Done, 0)...)
	f.reopen()
	f.wantCounts(q, "of the source", counts{})
	f.wantCounts(target, "of the target", counts{Ready: 1, Bytes: 1})
	f.wantClaim(target, 2, "b")
}

func reopenOrigin(f *fixture) {
	a, b, c := f.queue(store.Settings{}), f.queue(store.Settings{}), f.queue(store.Settings{})
	sent := f.clock.Now()
	f.bury(a, "first", "m")
	f.clock.Advance(time.Second)
	f.move(store.MoveParams{Source: a, Target: b, Select: theDead, Limit: 1, Label: "a"})
	f.reopen()
	f.settle(b, items(f.wantClaim(b, 1, "m"), store.Dead, 0)...)
	f.reopen()
	f.move(store.MoveParams{Source: b, Target: c, Select: theDead, Limit: 1, Label: "b"})
	f.reopen()
	m, _ := f.claimOne(c)
	f.equal("Claim after moves and restarts: Receives and Entered", [2]uint32{m.Receives, m.Entered}, [2]uint32{3, 1})
	f.wantOrigin(m, store.Origin{
		Queue: a, Seq: 1, SentAt: sent, Receives: 2, Label: "b", Reason: m.Origin.Reason, MovedAt: f.clock.Now(),
	})
}

func reopenSettings(f *fixture) {
	q := f.queue(store.Settings{})
	f.configure(q, store.Settings{MaxReceives: 1, Lazy: true, Retention: time.Hour})
	f.send(q, "a")
	f.reopen()
	f.equal("Stats.Revision", f.stats(q).Revision, uint64(2))
	_, err := f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("b")})
	f.wantError("Send at an old revision", err, store.ErrStaleConfig)
	deliver(f, q, 1, store.Settled)
	f.equal("Claim of a used up message: Died", f.claim(q, 1).Died, 1)
	f.clock.Advance(time.Hour + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
}

func reopenDropped(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(q, "a")
	f.send(other, "b")
	f.drop(q)
	f.reopen()
	_, err := f.store.Stats(f.Context(), q)
	f.wantError("Stats of a dropped queue", err, store.ErrGone)
	f.equal("Queues", f.queues(0, 10), []store.QueueID{other})
	f.wantClaim(other, 1, "b")
}

func reopenOnce(f *fixture) {
	q := f.queue(store.Settings{})
	first := f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"), entry("b"))
	f.settle(q, items(f.wantClaim(q, 2, "a", "b"), store.Done, 0)...)
	f.clock.Advance(time.Minute)
	f.reopen()
	r := f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"), entry("b"))
	f.equal("repeat after a restart", [3]any{r.First, r.Count, r.Duplicate}, [3]any{first.First, 2, true})
	f.equal("repeat after a restart: SentAt", r.SentAt.UTC(), first.SentAt.UTC())
	f.equal("repeat after a restart: Note", string(r.Note), "note of k")
	_, err := f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("c"), Once: onceKey("k", "g", time.Hour)})
	f.wantError("other content after a restart", err, store.ErrKeyReused)
	f.clock.Advance(time.Hour)
	f.equal("Send after the window: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a")).Duplicate, false)
}

func reopenKV(f *fixture) {
	a := f.put("a", []byte("one"), 0)
	f.put("b", []byte("two"), 0)
	last := f.put("b", []byte{}, store.AnyRevision)
	f.wantError("Delete", f.store.Delete(f.Context(), "b", last), nil)
	c := f.put("c", bytes.Repeat([]byte("x"), 100_000), 0)
	f.reopen()
	f.wantPair("a", "one", a)
	f.wantAbsent("b")
	f.equal("List", keys(f.list("", "", 10)), []string{"a", "c"})
	if r := f.put("b", nil, 0); r <= max(last, c) {
		f.Errorf("Put after a restart: got revision %d, want above %d", r, max(last, c))
	}
	f.put("a", []byte("three"), a)
}

func reopenNumbers(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	f.settle(q, items(f.wantClaim(q, 2, "a", "b"), store.Done, 0)...)
	f.reopen()
	f.equal("Send after a restart: First", f.send(q, "c").First, store.Seq(3))
}

func reopenTokens(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	var last store.Token
	for range 3 {
		r := f.claimFor(q, 1, 0)
		if r.Token <= last {
			f.Fatalf("Claim after a restart: got token %d, want above %d", r.Token, last)
		}
		last = r.Token
		f.reopen()
	}
}

func reopenTime(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", time.Minute))
	f.clock.Advance(30 * time.Second)
	before := f.store.Clock().Instant(f.send(q, "b").SentAt)
	f.clock.Jump(-time.Hour)
	f.reopen()
	after := f.store.Clock().Instant(f.send(q, "c").SentAt)
	if after < before {
		f.Errorf("Send after a restart and a jump back: got sent at %v, want not before %v", after, before)
	}
	f.wantClaim(q, 3, "b", "c")
	f.clock.Advance(time.Hour + 30*time.Second)
	f.wantClaim(q, 3, "b", "c", "a")
}

func reopenClosedTime(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 2})
	f.sendEntries(q, delayed("delayed", time.Minute), entry("leased"))
	f.wantClaim(q, 1, "leased")
	f.wantError("Close", f.store.Close(), nil)
	f.clock.Advance(time.Hour)
	f.reopen()
	f.wantCounts(q, "after an hour without a store", counts{Ready: 2, Bytes: 13})
	f.wantClaim(q, 2, "leased", "delayed")
}

func reopenSizes(f *fixture) {
	q := f.queue(store.Settings{})
	want := [][]byte{{}, bytes.Repeat([]byte{7}, 4<<20), {0}, bytes.Repeat([]byte{0}, 70_000), {}}
	for _, p := range want {
		f.sendEntries(q, store.Entry{Payload: p, Size: uint32(len(p))})
	}
	f.reopen()
	for i, m := range f.claim(q, len(want)+1).Messages {
		if !bytes.Equal(m.Payload, want[i]) {
			f.Errorf("Claim after a restart: payload %d of %d bytes came back different, with %d bytes", i, len(want[i]), len(m.Payload))
		}
	}
	f.wantCounts(q, "after a restart", counts{Leased: int64(len(want)), Bytes: 4<<20 + 70_001})
}

func reopenOften(f *fixture) {
	q := f.queue(store.Settings{})
	for i := range 12 {
		f.send(q, fmt.Sprint(2*i), fmt.Sprint(2*i+1))
		r := f.wantClaim(q, 1, fmt.Sprint(i))
		f.settle(q, items(r, store.Done, 0)...)
		f.reopen()
	}
	f.wantCounts(q, "after many restarts", counts{Ready: 12, Bytes: 24})
}
