package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var configureCases = []testCase{
	{"replaces settings under a higher revision", configureReplaces},
	{"may be repeated", configureAgain},
	{"ignores an older revision", configureOlder},
	{"may skip revisions", configureSkips},
	{"keeps messages", configureKeepsMessages},
	{"may turn lazy on and off", configureLazy},
	{"lists queues in rising order", queuesOrdered},
	{"lists queues by the page", queuesPaged},
}

func configureReplaces(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 5})
	f.send(q, "a")
	f.configure(q, store.Settings{MaxReceives: 1})
	deliver(f, q, 1, store.Died)
}

func configureAgain(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	err := f.store.Configure(f.Context(), q, store.Settings{Revision: 1, MaxReceives: 9})
	f.wantError("Configure at the present revision", err, nil)
	f.send(q, "a")
	deliver(f, q, 1, store.Died)
}

func configureOlder(f *fixture) {
	q := f.queue(store.Settings{})
	f.configure(q, store.Settings{})
	f.configure(q, store.Settings{MaxReceives: 1})
	err := f.store.Configure(f.Context(), q, store.Settings{Revision: 2, MaxReceives: 9})
	f.wantError("Configure at an older revision", err, nil)
	f.equal("Stats.Revision", f.stats(q).Revision, uint64(3))
	f.send(q, "a")
	deliver(f, q, 1, store.Died)
}

func configureSkips(f *fixture) {
	q := f.queue(store.Settings{})
	f.revision[q] = 1<<40 - 1
	f.configure(q, store.Settings{})
	f.equal("Stats.Revision", f.stats(q).Revision, uint64(1<<40))
	f.send(q, "a")
	f.wantClaim(q, 1, "a")
}

func configureKeepsMessages(f *fixture) {
	q := f.queue(store.Settings{})
	f.bury(q, "", "dead")
	f.send(q, "leased", "ready")
	r := f.wantClaim(q, 1, "leased")
	f.sendEntries(q, delayed("delayed", time.Minute))
	f.configure(q, store.Settings{MaxReceives: 9, Lazy: true, Retention: time.Hour})
	f.wantCounts(q, "after a change of settings", counts{Ready: 1, Leased: 1, Delayed: 1, Dead: 1, Bytes: 22})
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Settled)
	f.wantClaim(q, 3, "ready")
	f.clock.Advance(time.Minute)
	f.wantClaim(q, 1, "ready") // its lease has ended, and it is older
	f.wantClaim(q, 1, "delayed")
}

func configureLazy(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1, Lazy: true})
	f.send(q, "a")
	deliver(f, q, 1, store.Settled)
	f.configure(q, store.Settings{MaxReceives: 2})
	r := f.wantClaim(q, 1, "a") // it may have one more
	f.configure(q, store.Settings{MaxReceives: 2, Lazy: true})
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.configure(q, store.Settings{MaxReceives: 2})
	f.wantClaim(q, 1)
	f.wantCounts(q, "after all deliveries", counts{Dead: 1, Bytes: 1})
}

func queuesOrdered(f *fixture) {
	want := []store.QueueID{1, 2, 255, 256, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, i := range []int{4, 8, 0, 2, 6, 1, 7, 3, 5} {
		f.configure(want[i], store.Settings{})
	}
	f.equal("Queues(after 0, limit 100)", f.queues(0, 100), want)
	f.equal("Queues(after 2^63-1, limit 100)", f.queues(1<<63-1, 100), want[7:])
	f.equal("Queues(after 2^64-1, limit 100)", f.queues(1<<64-1, 100), want[9:])
	f.equal("Queues(after 3, limit 2)", f.queues(3, 2), want[2:4])
}

func queuesPaged(f *fixture) {
	var want, got []store.QueueID
	for range 25 {
		want = append(want, f.queue(store.Settings{}))
	}
	slices.Sort(want)
	var after store.QueueID
	for range 10 {
		page := f.queues(after, 3)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = page[len(page)-1]
	}
	f.equal("Queues in pages of 3", got, want)
}

func (f *fixture) queues(after store.QueueID, limit int) []store.QueueID {
	f.Helper()
	list, err := f.store.Queues(f.Context(), after, limit)
	f.wantError(fmt.Sprintf("Queues(%d, %d)", after, limit), err, nil)
	return list
}
