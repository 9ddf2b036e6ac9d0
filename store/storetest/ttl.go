package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// ttlCases are about the time to live of single messages.
var ttlCases = []testCase{
	{"ends what nobody took", ttlEnds},
	{"lets a message be delivered until then", ttlDelivers},
	{"is shown", ttlShown},
	{"runs during a delay", ttlDelay},
	{"does not end a lease", ttlLease},
	{"ends what was given back too late", ttlReturned},
	{"ends a backoff", ttlBackoff},
	{"counts the message until it leaves", ttlCounts},
	{"leaves others", ttlOthers},
	{"makes dead when asked", ttlDead},
	{"makes dead with the claim when asked", ttlDeadByClaim},
	{"does not end what is dead", ttlOfTheDead},
	{"goes along with a move", ttlMoved},
	{"ends with a death", ttlMovedDead},
	{"frees the group", ttlFIFO},
	{"passes over the expired in each mode", ttlModes},
	{"may be shorter than retention or longer", ttlAndRetention},
	{"is swept by the thousand", ttlThousand},
}

// Like retention, it may be kept in ticks by a backend: the cases stay a second away from the moment itself.
const ttl = time.Minute

func ttlEnds(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.clock.Advance(ttl + time.Second)
	r := f.wantClaim(q, 1)
	f.equal("Claim of an expired message: Expired", r.Expired, 1)
	f.wantCounts(q, "after the claim", counts{})
}

func ttlDelivers(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.clock.Advance(ttl - time.Second)
	f.equal("Sweep before the end: Expired", f.sweep(q).Expired, 0)
	f.wantClaim(q, 1, "a")
}

func ttlShown(f *fixture) {
	q := f.queue(store.Settings{})
	f.clock.Advance(1234 * time.Millisecond)
	f.sendEntries(q, lasting("a", ttl), entry("b"))
	want := f.clock.Now().Add(ttl)
	f.clock.Advance(time.Second)
	r := f.wantClaim(q, 2, "a", "b")
	f.equal("Claim: ExpiresAt", r.Messages[0].ExpiresAt.UTC(), want)
	f.equal("Claim of a message without an end: ExpiresAt", r.Messages[1].ExpiresAt.IsZero(), true)
}

func ttlDelay(f *fixture) {
	q := f.queue(store.Settings{})
	never, just := lasting("never", ttl), lasting("just", ttl)
	never.Delay, just.Delay = 2*ttl, ttl/2
	f.sendEntries(q, never, just)
	f.clock.Advance(ttl / 2)
	f.finish(q, f.wantClaim(q, 2, "just"))
	f.clock.Advance(2 * ttl)
	f.wantClaim(q, 2)
	f.wantCounts(q, "after all", counts{})
}

func ttlLease(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	r := f.claimFor(q, 1, 3*ttl)
	f.clock.Advance(2 * ttl)
	f.equal("Sweep while it is leased: Expired", f.sweep(q).Expired, 0)
	f.wantStrict(q, items(r, store.Leased, 3*ttl)[0], store.Settled)
	f.clock.Advance(2 * ttl)
	f.wantStrict(q, items(r, store.Done, 0)[0], store.Settled)
}

func ttlReturned(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("nacked", ttl), lasting("ended", ttl))
	r := f.claimFor(q, 2, 2*ttl)
	f.clock.Advance(2*ttl - time.Second)
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Second)
	f.wantClaim(q, 2)
	f.wantCounts(q, "after both came back", counts{})
}

func ttlBackoff(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, time.Hour)...)
	f.clock.Advance(ttl + time.Second)
	f.equal("Sweep of a backoff past its end: Expired", f.sweep(q).Expired, 1)
	f.wantCounts(q, "after the sweep", counts{})
}

func ttlCounts(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.clock.Advance(ttl + time.Second)
	f.wantCounts(q, "before anybody looked", counts{Ready: 1, Bytes: 1})
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	f.wantCounts(q, "after the sweep", counts{})
}

func ttlOthers(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, lasting("short", ttl), entry("for ever"), lasting("long", 3*ttl))
	f.clock.Advance(ttl + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	f.wantClaim(q, 3, "for ever", "long")
}

func ttlDead(f *fixture) {
	q, target := f.queue(store.Settings{ExpiredDead: true}), f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.clock.Advance(ttl + time.Second)
	r := f.sweep(q)
	f.equal("Sweep: Lapsed, Expired and Dead", [3]int{r.Lapsed, r.Expired, int(r.Dead)}, [3]int{1, 0, 1})
	f.wantClaim(q, 1)
	f.wantCounts(q, "after the sweep", counts{Dead: 1, Bytes: 1})
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	f.wantClaim(target, 1, "a")
}

func ttlDeadByClaim(f *fixture) {
	q := f.queue(store.Settings{ExpiredDead: true})
	f.sendEntries(q, lasting("a", ttl), entry("b"))
	f.clock.Advance(ttl + time.Second)
	r := f.wantClaim(q, 1, "b")
	f.equal("Claim past an expired message: Died and Expired", [2]int{r.Died, r.Expired}, [2]int{1, 0})
	f.wantCounts(q, "after the claim", counts{Leased: 1, Dead: 1, Bytes: 2})
}

func ttlOfTheDead(f *fixture) {
	for _, expiredDead := range []bool{false, true} {
		q := f.queue(store.Settings{ExpiredDead: expiredDead})
		f.sendEntries(q, lasting("a", ttl))
		f.settle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)...)
		f.clock.Advance(2 * ttl)
		r := f.sweep(q)
		f.equal("Sweep: Expired and Lapsed", [2]int{r.Expired, r.Lapsed}, [2]int{0, 0})
		f.wantCounts(q, "after the sweep", counts{Dead: 1, Bytes: 1})
	}
}

func ttlMoved(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl), lasting("b", ttl))
	want := f.clock.Now().Add(ttl)
	f.clock.Advance(ttl / 2)
	f.move(store.MoveParams{Source: q, Target: target, Select: store.Selection{States: store.StateReady}, Limit: 10})
	m, token := f.claimOne(target)
	f.equal("Claim after a move: ExpiresAt", m.ExpiresAt.UTC(), want)
	f.wantSettle(target, item(m.Seq, token, store.Done, 0), store.Settled)
	f.clock.Advance(ttl/2 + time.Second)
	f.equal("Sweep of the target: Expired", f.sweep(target).Expired, 1)
}

func ttlMovedDead(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(q, lasting("a", ttl))
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 10})
	f.clock.Advance(2 * ttl)
	m, _ := f.claimOne(target)
	f.equal("Claim of a moved dead message: ExpiresAt", m.ExpiresAt.IsZero(), true)
}

func ttlFIFO(f *fixture) {
	q := f.fifo()
	backing, waiting := lasting("backing off", ttl), lasting("waiting", ttl)
	f.sendEntries(q, backing, waiting, entry("a"))
	f.settle(q, items(f.wantClaim(q, 1, "backing off"), store.Ready, time.Hour)...)
	f.clock.Advance(ttl + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 2)
	f.wantClaim(q, 3, "a")
}

func ttlModes(f *fixture) {
	for _, s := range []store.Settings{{}, {Levels: 10}, {Mode: store.Fair}, {Mode: store.FIFO}} {
		q := f.queue(s)
		f.sendEntries(q, lasting("a", ttl), entry("b"), lasting("c", ttl), entry("d"))
		f.clock.Advance(ttl + time.Second)
		r := f.wantClaim(q, 4, "b", "d")
		f.equal(fmt.Sprintf("Claim of %+v past expired messages: Expired", s), r.Expired, 2)
	}
}

func ttlAndRetention(f *fixture) {
	q := f.queue(store.Settings{Retention: 2 * ttl})
	f.sendEntries(q, lasting("short", ttl), lasting("long", 10*ttl))
	f.clock.Advance(ttl + time.Second)
	f.equal("Sweep past the time to live of one: Expired", f.sweep(q).Expired, 1)
	f.clock.Advance(ttl)
	f.equal("Sweep past retention: Expired", f.sweep(q).Expired, 1)
}

func ttlThousand(f *fixture) {
	q := f.queue(store.Settings{})
	list := make([]store.Entry, 500)
	for i := range list {
		list[i].TTL = ttl
	}
	for range 5 {
		f.sendEntries(q, list...)
	}
	f.clock.Advance(ttl + time.Second)
	var expired int
	for calls := 1; expired < 2500; calls++ {
		n := f.sweep(q).Expired
		if n < 1 || n > 1000 {
			f.Fatalf("Sweep %d of 2,500 expired messages: got %d expired, want 1 to 1,000", calls, n)
		}
		expired += n
	}
	f.equal("expired altogether", expired, 2500)
}
