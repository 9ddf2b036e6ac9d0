package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// wallReopenCases: what a store makes of the time for which it was closed, when the wall clock was set meanwhile. If the machine
// ran all the time that is measured, else it is taken from the wall clock.
var wallReopenCases = []testCase{
	{"what elapsed is measured", wallReopenMeasured},
	{"without a measurement it is taken from the wall clock", wallReopenEstimated},
	{"nothing is lost when a wrong clock is corrected", wallReopenCorrected},
	{"nothing is removed soon after an implausible gap", wallReopenProtected},
	{"protection goes on over another restart", wallReopenProtectedAgain},
	{"what waits for the wall clock follows it", wallReopenNotBefore},
	{"stamps follow it", wallReopenStamps},
	{"tokens still fence", wallReopenTokens},
	{"an idle time is measured, too", wallReopenIdle},
}

// closed closes the store for ten seconds in which something happens to the clocks, and says what it reported.
func (f *fixture) closed(meanwhile func()) []store.Gap {
	f.Helper()
	f.wantError("Close", f.store.Close(), nil)
	f.clock.Advance(10 * time.Second)
	meanwhile()
	f.reopen()
	return f.harness.Gaps(f.store)
}

func (f *fixture) eachStepClosed(part func(d time.Duration, step func())) {
	f.Helper()
	for _, d := range append([]time.Duration{0}, steps...) {
		part(d, func() { f.clock.Jump(d) })
		if f.Failed() {
			f.Fatalf("the wall clock was set by %v", d)
		}
	}
}

func wallReopenMeasured(f *fixture) {
	f.eachStepClosed(func(d time.Duration, step func()) {
		q := f.queue(store.Settings{Retention: time.Hour, DedupWindow: time.Minute})
		f.send(q, "leased")
		f.claimFor(q, 1, time.Minute)
		f.sendEntries(q, keyed("k", "k"))
		f.sendEntries(q, delayed("delayed", time.Minute), lasting("lasting", time.Minute))
		gaps := f.closed(step)
		if d == 0 {
			f.equal("reported gaps", len(gaps), 0)
		} else {
			f.equal("reported gaps", gaps, []store.Gap{{Counted: 10 * time.Second, Wall: 10*time.Second + d, Measured: true}})
			f.equal("Gap.Step()", gaps[0].Step(), d)
		}
		f.equal("Clock().Protected", f.store.Clock().Protected, time.Duration(0))
		f.clock.Advance(50*time.Second - time.Millisecond)
		f.wantCounts(q, "just before all ends", counts{Ready: 2, Leased: 1, Delayed: 1, Bytes: 21})
		f.wantFates(q, []store.Entry{keyed("k", "k")}, duplicate(2))
		f.equal("Sweep just before all ends: Expired", f.sweep(q).Expired, 0)
		f.clock.Advance(time.Millisecond)
		f.equal("Sweep when all has ended: Expired", f.sweep(q).Expired, 1)
		f.wantCounts(q, "when all has ended", counts{Ready: 3, Bytes: 14})
		f.equal("Send after the window: First", f.sendEntries(q, keyed("k", "k")).First, store.Seq(5))
	})
}

func wallReopenEstimated(f *fixture) {
	f.eachStepClosed(func(d time.Duration, step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "leased")
		r := f.claimFor(q, 1, time.Minute)
		wall := 10*time.Second + d
		counted := max(wall, 0)
		gaps := f.closed(func() { step(); f.clock.Reboot() })
		if wall >= 0 && wall <= time.Hour {
			f.equal("reported gaps", len(gaps), 0)
			f.equal("Clock().Protected", f.store.Clock().Protected, time.Duration(0))
		} else {
			f.equal("reported gaps", gaps, []store.Gap{{Counted: counted, Wall: wall, Protected: store.Protection}})
			f.equal("Clock().Protected", f.store.Clock().Protected, store.Protection)
		}
		if counted < time.Minute {
			f.clock.Advance(time.Minute - counted - time.Millisecond)
			f.wantStrict(q, items(r, store.Leased, time.Millisecond)[0], store.Settled)
			f.clock.Advance(time.Millisecond)
		}
		f.wantClaim(q, 1, "leased")
		f.clock.Advance(store.Protection)
	})
}

// "A wrong clock at the first boot loses acknowledged messages."
func wallReopenCorrected(f *fixture) {
	for _, reboot := range []bool{false, true} {
		q := f.queue(store.Settings{Retention: 4 * 24 * time.Hour})
		f.clock.Jump(-30 * 24 * time.Hour)
		f.send(q, "a")
		f.closed(func() {
			f.clock.Jump(30 * 24 * time.Hour)
			if reboot {
				f.clock.Reboot()
			}
		})
		f.equal("Sweep after the clock was corrected: Expired", f.sweep(q).Expired, 0)
		f.wantClaim(q, 1, "a")
		f.clock.Advance(time.Hour)
	}
	for _, reboot := range []bool{false, true} {
		q := f.queue(store.Settings{})
		f.clock.Jump(365 * 24 * time.Hour)
		f.send(q, "a")
		f.closed(func() {
			f.clock.Jump(-365 * 24 * time.Hour)
			if reboot {
				f.clock.Reboot()
			}
		})
		f.equal("Send after the clock was corrected: SentAt", f.send(q, "b").SentAt.UTC(), f.clock.Now())
		f.wantClaim(q, 2, "a", "b")
		f.clock.Advance(time.Hour)
	}
}

func wallReopenProtected(f *fixture) {
	for _, d := range []time.Duration{-time.Hour, 24 * time.Hour} {
		q := f.queue(store.Settings{Retention: 5 * time.Minute})
		lapsing := f.queue(store.Settings{ExpiredDead: true})
		l := f.log(store.LogSettings{Partitions: 1, RetentionAge: time.Minute})
		f.send(q, "a")
		f.sendEntries(q, lasting("b", time.Minute))
		f.sendEntries(lapsing, lasting("c", time.Minute))
		f.append(l, "record")
		f.closed(func() { f.clock.Jump(d); f.clock.Reboot() })
		f.clock.Advance(store.Protection - time.Millisecond)
		f.equal("Sweep while it is protected: Expired", f.sweep(q).Expired, 0)
		f.equal("Sweep while it is protected: Lapsed", f.sweep(lapsing).Lapsed, 0)
		f.equal("SweepLog while it is protected: Trimmed", f.sweepLog(l).Trimmed, int64(0))
		f.wantDue("Stats while it is protected", f.stats(q).NextDue, time.Millisecond)
		r := f.claimFor(q, 2, 0)
		f.equal("Claim while it is protected", bodies(r), []string{"a", "b"})
		f.clock.Advance(time.Millisecond)
		f.equal("Clock().Protected afterwards", f.store.Clock().Protected, time.Duration(0))
		f.equal("Sweep after that: Expired", f.sweep(q).Expired, 2)
		f.equal("Sweep after that: Lapsed", f.sweep(lapsing).Lapsed, 1)
		f.equal("SweepLog after that: Trimmed", f.sweepLog(l).Trimmed, int64(1))
	}
}

func wallReopenProtectedAgain(f *fixture) {
	q := f.queue(store.Settings{Retention: time.Minute})
	f.send(q, "a")
	f.closed(func() { f.clock.Jump(24 * time.Hour); f.clock.Reboot() })
	f.clock.Advance(time.Minute)
	f.closed(func() {})
	f.equal("Clock().Protected after another restart", f.store.Clock().Protected, store.Protection-70*time.Second)
	f.equal("Sweep after another restart: Expired", f.sweep(q).Expired, 0)
	f.clock.Advance(store.Protection - 70*time.Second)
	f.equal("Sweep after the protection: Expired", f.sweep(q).Expired, 1)
}

func wallReopenNotBefore(f *fixture) {
	for _, reboot := range []bool{false, true} {
		f.eachStepClosed(func(d time.Duration, step func()) {
			q := f.queue(store.Settings{})
			const wait = 2 * 365 * 24 * time.Hour
			f.sendEntries(q, f.notBefore("a", wait), entry("b"))
			at := f.clock.Now().Add(wait)
			f.wantSettle(q, store.SettleItem{Seq: 2, Token: store.AnyToken, Target: store.Ready, NotBefore: at}, store.Settled)
			f.closed(func() {
				step()
				if reboot {
					f.clock.Reboot()
				}
			})
			for _, v := range f.scan(q, store.Selection{}, 2) {
				f.equal("Scan: Due", v.Due.UTC(), at)
			}
			f.clock.Jump(wait - d - 10*time.Second - time.Millisecond)
			f.wantCounts(q, "just before the clock shows that time", counts{Delayed: 2, Bytes: 2})
			f.reopen()
			f.wantCounts(q, "just before the clock shows that time", counts{Delayed: 2, Bytes: 2})
			f.clock.Advance(time.Millisecond)
			f.equal("Claim when the clock shows that time", len(f.claim(q, 2).Messages), 2)
			f.clock.Jump(10*time.Second - wait)
			f.clock.Advance(store.Protection)
		})
	}
}

func wallReopenStamps(f *fixture) {
	f.eachStepClosed(func(d time.Duration, step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		f.closed(step)
		sent := f.clock.Now().Add(-10 * time.Second)
		f.equal("Claim: SentAt, by the clock as it is now", f.claim(q, 1).Messages[0].SentAt.UTC(), sent)
	})
}

func wallReopenTokens(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.claimFor(q, 1, time.Minute)
	for _, d := range steps {
		f.closed(func() { f.clock.Jump(d); f.clock.Reboot() })
		f.clock.Advance(time.Minute)
		again := f.claimFor(q, 1, time.Minute)
		if again.Token <= r.Token {
			f.Fatalf("Claim after the clock was set by %v: got token %d, want above %d", d, again.Token, r.Token)
		}
		f.wantSettle(q, items(r, store.Done, 0)[0], store.Lost)
		r = again
	}
}

func wallReopenIdle(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", 3*time.Hour))
	f.clock.Advance(time.Hour) // in which nothing is recorded
	f.equal("reported gaps", len(f.closed(func() {})), 0)
	f.clock.Advance(2*time.Hour - 10*time.Second - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 1, "a")
}
