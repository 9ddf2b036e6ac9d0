package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var onceCases = []testCase{
	{"gives the first result to a repeat", onceRepeat},
	{"refuses other content", onceOther},
	{"remembers until the window ends", onceWindow},
	{"counts the window from the first use", onceWindowFixed},
	{"starts again after the window", onceAgain},
	{"remembers after the messages are gone", onceAfterDelete},
	{"remembers after they were moved", onceAfterMove},
	{"keeps keys apart by queue", oncePerQueue},
	{"keeps keys apart", onceManyKeys},
	{"keeps notes of any size", onceNotes},
	{"remembers under new settings", onceConfigure},
}

func onceKey(key, fingerprint string, window time.Duration) *store.Once {
	o := &store.Once{Window: window, Note: []byte("note of " + key)}
	copy(o.Key[:], key)
	copy(o.Fingerprint[:], fingerprint)
	return o
}

func onceRepeat(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "before")
	first := f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"), entry("b"))
	f.equal("first Send: Duplicate", first.Duplicate, false)
	f.equal("first Send: First", first.First, store.Seq(2))
	f.send(q, "between")
	f.clock.Advance(10 * time.Minute)
	for range 3 {
		again := onceKey("k", "f", 5*time.Hour)
		again.Note = []byte("not this one")
		r := f.sendOnce(q, again, entry("a"), entry("b"))
		f.equal("repeated Send", store.SendResult{
			First: r.First, Count: r.Count, SentAt: r.SentAt.UTC(), Duplicate: r.Duplicate, Note: r.Note,
		}, store.SendResult{First: 2, Count: 2, SentAt: first.SentAt.UTC(), Duplicate: true, Note: []byte("note of k")})
	}
	f.wantClaim(q, 10, "before", "a", "b", "between")
}

func onceOther(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"))
	_, err := f.store.Send(f.Context(), store.SendParams{
		Queue: q, Revision: 1, Entries: entries("b"), Once: onceKey("k", "g", time.Hour),
	})
	f.wantError("Send of other content under the same key", err, store.ErrKeyReused)
	f.equal("repeat of the first: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a")).Duplicate, true)
	f.wantClaim(q, 10, "a")
}

func onceWindow(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendOnce(q, onceKey("k", "f", time.Minute), entry("a"))
	f.clock.Advance(time.Minute - time.Millisecond)
	f.equal("Send within the window: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Minute), entry("b")).Duplicate, true)
	f.clock.Advance(2 * time.Millisecond)
	f.equal("Send after the window: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Minute), entry("c")).Duplicate, false)
	f.wantClaim(q, 10, "a", "c")
}

func onceWindowFixed(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendOnce(q, onceKey("k", "f", time.Minute), entry("a"))
	for range 3 {
		f.clock.Advance(19 * time.Second)
		f.equal("Send within the window: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Minute), entry("b")).Duplicate, true)
	}
	f.clock.Advance(4 * time.Second)
	f.equal("Send after the first use's window: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Minute), entry("c")).Duplicate, false)
}

// Keys with short and long windows, in any order, each end on their own.
func onceAgain(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendOnce(q, onceKey("long", "f", time.Hour), entry("long"))
	f.sendOnce(q, onceKey("short", "f", time.Minute), entry("short"))
	f.clock.Advance(2 * time.Minute)
	f.sweep(q)
	second := f.sendOnce(q, onceKey("short", "other", time.Minute), entry("short again"))
	f.equal("Send after the window: Duplicate", second.Duplicate, false)
	f.clock.Advance(30 * time.Second)
	again := f.sendOnce(q, onceKey("short", "other", time.Minute), entry("x"))
	f.equal("repeat of the second use: First", again.First, second.First)
	f.equal("repeat of the second use: Duplicate", again.Duplicate, true)
	f.equal("repeat under the long window: Duplicate", f.sendOnce(q, onceKey("long", "f", time.Hour), entry("x")).Duplicate, true)
	f.clock.Advance(time.Hour)
	f.equal("Send after both: Duplicate", f.sendOnce(q, onceKey("long", "f", time.Hour), entry("long again")).Duplicate, false)
}

// "Dedup forgotten after delete."
func onceAfterDelete(f *fixture) {
	q := f.queue(store.Settings{Retention: time.Minute})
	f.sendOnce(q, onceKey("acked", "f", time.Hour), entry("a"))
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Done, 0)...)
	f.sendOnce(q, onceKey("expired", "f", time.Hour), entry("b"))
	f.clock.Advance(2 * time.Minute)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	for _, key := range []string{"acked", "expired"} {
		r := f.sendOnce(q, onceKey(key, "f", time.Hour), entry("c"))
		f.equal("repeat of what was "+key+": Duplicate", r.Duplicate, true)
	}
	f.wantCounts(q, "after repeats", counts{})
}

func onceAfterMove(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"))
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	f.equal("repeat in the source: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a")).Duplicate, true)
	f.equal("Send to the target: Duplicate", f.sendOnce(target, onceKey("k", "f", time.Hour), entry("b")).Duplicate, false)
	f.wantClaim(target, 10, "a", "b")
}

func oncePerQueue(f *fixture) {
	for range 3 {
		q := f.queue(store.Settings{})
		f.equal("Send: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a")).Duplicate, false)
	}
}

func onceManyKeys(f *fixture) {
	q := f.queue(store.Settings{})
	for round := range 2 {
		for i := range 300 {
			r := f.sendOnce(q, onceKey(fmt.Sprint(i), "f", time.Hour), entry("a"))
			f.equal(fmt.Sprintf("Send %d, round %d", i, round), [2]any{r.First, r.Duplicate}, [2]any{store.Seq(i + 1), round > 0})
		}
	}
	f.wantCounts(q, "after two rounds", counts{Ready: 300, Bytes: 300})
}

func onceNotes(f *fixture) {
	q := f.queue(store.Settings{})
	for i, note := range [][]byte{nil, {}, {0}, bytes.Repeat([]byte{0xFE}, 1024)} {
		once := onceKey(fmt.Sprint(i), "f", time.Hour)
		once.Note = note
		f.sendOnce(q, once, entry("a"))
		once.Note = []byte("other")
		f.equal(fmt.Sprintf("repeated Send with a note of %d bytes: Note", len(note)), f.sendOnce(q, once, entry("a")).Note, note)
	}
}

func onceConfigure(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"))
	f.configure(q, store.Settings{MaxReceives: 3})
	_, err := f.store.Send(f.Context(), store.SendParams{
		Queue: q, Revision: 1, Entries: entries("a"), Once: onceKey("k", "f", time.Hour),
	})
	f.wantError("repeat at an old revision", err, store.ErrStaleConfig)
	f.equal("repeat at the new revision: Duplicate", f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a")).Duplicate, true)
}

func onceConcurrent(f *fixture) {
	q := f.queue(store.Settings{})
	const callers = 16
	results := make([]store.SendResult, callers)
	errs := make([]error, callers)
	var done sync.WaitGroup
	for i := range callers {
		done.Go(func() {
			results[i], errs[i] = f.store.Send(f.Context(), store.SendParams{
				Queue: q, Revision: 1, Entries: entries("a", "b"), Once: onceKey("k", "f", time.Hour),
			})
		})
	}
	done.Wait()
	var firsts int
	for i, r := range results {
		f.wantError("concurrent Send", errs[i], nil)
		f.equal("concurrent Send: First and Count", [2]any{r.First, r.Count}, [2]any{store.Seq(1), 2})
		if !r.Duplicate {
			firsts++
		}
	}
	f.equal("concurrent Sends that were the first", firsts, 1)
	f.wantCounts(q, "after concurrent repeats", counts{Ready: 2, Bytes: 2})
}
