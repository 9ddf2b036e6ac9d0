package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// steps are how far the wall clock is set.
var steps = []time.Duration{
	time.Second, -time.Second, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour,
}

// wallCases: elapsed time does not notice when the wall clock is set, and what names an instant follows it.
var wallCases = []testCase{
	{"leases last as long", wallLeases},
	{"delays last as long", wallDelays},
	{"backoffs last as long", wallBackoffs},
	{"groups stay locked as long", wallGroups},
	{"deduplication lasts as long", wallDedup},
	{"idempotency keys last as long", wallOnce},
	{"attempts last as long", wallAttempts},
	{"retention lasts as long", wallRetention},
	{"times to live last as long", wallTTL},
	{"rates stay the same", wallRates},
	{"next due is right", wallNextDue},
	{"queue time goes on, and the wall clock is shown", wallReading},
	{"stamps follow it", wallStamps},
	{"ages do not follow it", wallAges},
	{"what waits for it follows it", wallNotBefore},
	{"what is put off by it follows it", wallReschedule},
	{"what was due stays due", wallStaysDue},
	{"what waits for it ages from when it is due", wallNotBeforeRetention},
	{"what waits for it waits in its group", wallNotBeforeFIFO},
	{"what waits for it may be purged, moved, acked and displaced", wallNotBeforeLeaves},
	{"many wait for it", wallNotBeforeMany},
	{"selections by age follow it", wallSelection},
	{"records follow it, and keep their own times", wallRecords},
	{"retention of records lasts as long", wallRecordRetention},
}

// eachStep runs a part of a case for each way of setting the wall clock.
func (f *fixture) eachStep(part func(step func())) {
	f.Helper()
	for _, d := range steps {
		part(func() { f.clock.Jump(d) })
		if f.Failed() {
			f.Fatalf("the wall clock was set by %v", d)
		}
		f.clock.Jump(-d)
	}
}

func wallLeases(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		r := f.claimFor(q, 1, time.Minute)
		f.clock.Advance(20 * time.Second)
		step()
		f.clock.Advance(40*time.Second - time.Millisecond)
		f.wantCounts(q, "just before the lease ends", counts{Leased: 1, Bytes: 1})
		f.wantStrict(q, items(r, store.Leased, time.Minute)[0], store.Settled)
		f.clock.Advance(time.Minute)
		f.wantClaim(q, 1, "a")
	})
}

func wallDelays(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.sendEntries(q, delayed("a", time.Minute))
		step()
		f.sendEntries(q, delayed("b", time.Second))
		f.clock.Advance(time.Second - time.Millisecond)
		f.wantClaim(q, 2)
		f.clock.Advance(time.Millisecond)
		f.wantClaim(q, 2, "b")
		f.clock.Advance(59*time.Second - time.Millisecond)
		f.wantCounts(q, "just before the delay ends", counts{Ready: 1, Delayed: 1, Bytes: 2})
		f.clock.Advance(time.Millisecond)
		f.wantClaim(q, 2, "b", "a")
	})
}

func wallBackoffs(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		f.wantSettleAll(q, f.wantClaim(q, 1, "a"), store.Ready, time.Minute)
		step()
		f.clock.Advance(time.Minute - time.Millisecond)
		f.wantClaim(q, 1)
		f.clock.Advance(time.Millisecond)
		f.wantClaim(q, 1, "a")
	})
}

func wallGroups(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.fifo()
		f.sendGroup(q, "g", "a", "b")
		f.sendGroup(q, "h", "c", "d")
		r := f.claimFor(q, 1, time.Minute)
		f.equal("Claim(max 1)", bodies(r), []string{"a"})
		f.wantSettleAll(q, f.claimFor(q, 1, time.Minute), store.Ready, time.Minute)
		step()
		f.clock.Advance(time.Minute - time.Millisecond)
		f.wantClaim(q, 4)
		until := f.clock.Now().Add(time.Millisecond)
		for _, g := range f.groups(q) {
			f.equal("Groups: LockedUntil of "+g.Name, g.LockedUntil.UTC(), until)
		}
		f.clock.Advance(time.Millisecond)
		f.wantClaim(q, 4, "a", "b", "c", "d")
	})
}

func wallDedup(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{DedupWindow: 5 * time.Minute})
		f.sendEntries(q, keyed("a", "k"))
		step()
		f.clock.Advance(5*time.Minute - time.Millisecond)
		f.wantFates(q, []store.Entry{keyed("b", "k")}, duplicate(1))
		f.clock.Advance(time.Millisecond)
		f.equal("Send after the window: First", f.sendEntries(q, keyed("c", "k")).First, store.Seq(2))
	})
}

func wallOnce(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		once := &store.Once{Key: [16]byte{1}, Fingerprint: [16]byte{2}, Window: time.Hour}
		first := f.sendOnce(q, once, entry("a"))
		step()
		f.clock.Advance(time.Hour - time.Millisecond)
		again := f.sendOnce(q, once, entry("a"))
		f.equal("repeated Send: Duplicate and First", []any{again.Duplicate, again.First}, []any{true, first.First})
		f.equal("repeated Send: SentAt", again.SentAt.UTC(), f.clock.Now().Add(time.Millisecond-time.Hour))
		f.clock.Advance(time.Millisecond)
		f.equal("Send after the window: Duplicate", f.sendOnce(q, once, entry("a")).Duplicate, false)
	})
}

func wallAttempts(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		p := f.claimParams(q, 1)
		p.Visibility, p.Attempt, p.AttemptWindow = time.Hour, [16]byte{1}, attemptWindowLength
		f.claimWith(p)
		step()
		f.clock.Advance(attemptWindowLength - time.Millisecond)
		f.equal("Claim within the window: Repeated", f.claimWith(p).Repeated, true)
		f.clock.Advance(time.Millisecond)
		f.equal("Claim after the window: Repeated", f.claimWith(p).Repeated, false)
	})
}

func wallRetention(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{Retention: time.Hour})
		f.bury(q, "", "b")
		f.send(q, "a")
		step()
		f.send(q, "c")
		f.clock.Advance(time.Hour - time.Millisecond)
		f.equal("Sweep before retention ends: Expired", f.sweep(q).Expired, 0)
		f.clock.Advance(2 * store.Tick)
		f.equal("Sweep after retention has ended: Expired", f.sweep(q).Expired, 3)
	})
}

func wallTTL(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.sendEntries(q, lasting("a", time.Hour))
		step()
		f.clock.Advance(time.Hour - time.Millisecond)
		f.equal("Sweep before it ends: Expired", f.sweep(q).Expired, 0)
		f.equal("Scan: ExpiresAt", f.scan(q, store.Selection{}, 1)[0].ExpiresAt.UTC(), f.clock.Now().Add(time.Millisecond))
		f.clock.Advance(time.Millisecond)
		f.equal("Sweep after it has ended: Expired", f.sweep(q).Expired, 1)
	})
}

func wallRates(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{Interval: time.Minute})
		f.send(q, "a", "b")
		f.wantClaim(q, 2, "a")
		step()
		f.clock.Advance(time.Minute - time.Millisecond)
		r := f.claim(q, 2)
		f.equal("Claim before the rate allows it", bodies(r), []string{"a"}[:0])
		f.clock.Advance(time.Millisecond)
		f.equal("Claim when the rate allows it", len(f.claim(q, 2).Messages), 1)
	})
}

func wallNextDue(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.sendEntries(q, delayed("a", time.Minute))
		step()
		f.clock.Advance(time.Second)
		f.wantDue("Stats", f.stats(q).NextDue, 59*time.Second)
	})
	q := f.queue(store.Settings{})
	e := entry("a")
	e.NotBefore = f.clock.Now().Add(time.Hour)
	f.wantDue("Send", f.sendEntries(q, e).NextDue, time.Hour)
	f.clock.Jump(30 * time.Minute)
	f.wantDue("Stats after the clock was put forward", f.stats(q).NextDue, 30*time.Minute)
	f.clock.Jump(-time.Hour)
	f.wantDue("Sweep after the clock was put back", f.sweep(q).NextDue, 90*time.Minute)
}

func wallReading(f *fixture) {
	f.eachStep(func(step func()) {
		before := f.store.Clock()
		f.equal("Clock().Wall", before.Wall.UTC(), f.clock.Now())
		step()
		f.clock.Advance(time.Second)
		after := f.store.Clock()
		f.equal("Clock().Now, 1 s later", after.Now-before.Now, store.Instant(1000))
		f.equal("Clock().Wall, 1 s later", after.Wall.UTC(), f.clock.Now())
		f.equal("Clock().Show(a second ago)", after.Show(before.Now).UTC(), f.clock.Now().Add(-time.Second))
		f.equal("Clock().Instant(of a second ago)", after.Instant(f.clock.Now().Add(-time.Second)), before.Now)
	})
}

func wallStamps(f *fixture) {
	f.eachStep(func(step func()) {
		q, target := f.queue(store.Settings{History: 10}), f.queue(store.Settings{})
		f.send(q, "a", "b", "c")
		f.sendEntries(q, delayed("d", time.Hour), lasting("e", time.Hour))
		f.wantSettleAll(q, f.claimAs(q, 1, "one"), store.Ready, 0)
		f.wantSettleAll(q, f.claimAs(q, 1, "one"), store.Done, 0)
		f.wantSettleAll(q, f.claimAs(q, 1, "one"), store.Dead, 0)
		f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
		step()
		now := f.clock.Now() // nothing has elapsed since all of that
		for _, v := range f.scan(q, store.Selection{}, 10) {
			f.equal("Scan: SentAt of "+string(v.Payload), v.SentAt.UTC(), now)
			if v.State == store.StateDelayed {
				f.equal("Scan: Due of "+string(v.Payload), v.Due.UTC(), now.Add(time.Hour))
				continue
			}
			f.equal("Scan: AvailableAt of "+string(v.Payload), v.AvailableAt.UTC(), now)
			for _, visit := range v.Visits {
				f.equal("Scan: Visits of "+string(v.Payload), []time.Time{visit.LeasedAt.UTC(), visit.EndedAt.UTC()}, []time.Time{now, now})
			}
		}
		var removed int
		for seq := store.Seq(1); seq <= 3; seq++ {
			if v := f.lookup(q, q, seq); v.State == 0 {
				removed++
				f.equal("Lookup of what was removed: RemovedAt and LeasedAt", []time.Time{v.RemovedAt.UTC(), v.LeasedAt.UTC()}, []time.Time{now, now})
			}
		}
		f.equal("removed messages that are remembered", removed, 2)
		m := f.claim(target, 1).Messages[0]
		f.equal("Claim of what was moved: SentAt, Origin.SentAt and Origin.MovedAt",
			[]time.Time{m.SentAt.UTC(), m.Origin.SentAt.UTC(), m.Origin.MovedAt.UTC()}, []time.Time{now, now, now})
		r := f.claimFor(q, 1, time.Minute)
		f.equal("Claim: Deadline", r.Deadline.UTC(), now.Add(time.Minute))
		f.equal("Send: SentAt", f.send(q, "f").SentAt.UTC(), now)
	})
}

func wallAges(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		f.clock.Advance(2 * time.Minute)
		step()
		f.wantAge(q, "after the clock was set", 2*time.Minute)
	})
}

// notBefore is a message that waits for the wall clock.
func (f *fixture) notBefore(body string, d time.Duration) store.Entry {
	e := entry(body)
	e.NotBefore = f.clock.Now().Add(d)
	return e
}

func wallNotBefore(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, f.notBefore("a", time.Hour), f.notBefore("b", 3*time.Hour), entry("c"))
	f.clock.Jump(time.Hour - time.Millisecond)
	f.wantClaim(q, 3, "c")
	f.equal("Scan: Due of b", f.scan(q, store.Selection{Seqs: []store.Seq{2}}, 1)[0].Due.UTC(), f.clock.Now().Add(2*time.Hour+time.Millisecond))
	f.clock.Jump(time.Second)
	f.wantCounts(q, "after the clock was put forward", counts{Ready: 1, Delayed: 1, Leased: 1, Bytes: 3})
	f.wantClaim(q, 3, "a")
	f.clock.Jump(-24 * time.Hour)
	f.sendEntries(q, f.notBefore("d", time.Minute))
	f.clock.Advance(time.Minute)
	f.wantClaim(q, 4, "a", "c", "d")
	f.wantCounts(q, "a minute after the clock was put back", counts{Delayed: 1, Leased: 3, Bytes: 4})
	f.clock.Jump(24 * time.Hour)
	f.clock.Advance(2*time.Hour - 2*time.Minute)
	f.wantClaim(q, 4, "a", "c", "d")
	f.clock.Advance(time.Minute)
	f.wantClaim(q, 4, "a", "c", "d", "b")
}

func wallReschedule(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, entry("a"), delayed("b", time.Minute), f.notBefore("c", time.Minute))
	at := f.clock.Now().Add(time.Hour)
	for seq := store.Seq(1); seq <= 3; seq++ {
		f.wantSettle(q, store.SettleItem{Seq: seq, Token: store.AnyToken, Target: store.Ready, NotBefore: at}, store.Settled)
	}
	f.clock.Jump(-30 * time.Minute)
	f.clock.Advance(time.Hour)
	f.wantCounts(q, "before the clock shows that time", counts{Delayed: 3, Bytes: 3})
	for _, v := range f.scan(q, store.Selection{}, 3) {
		f.equal("Scan: Due of "+string(v.Payload), v.Due.UTC(), at)
	}
	f.wantSettle(q, store.SettleItem{Seq: 2, Token: store.AnyToken, Target: store.Ready, After: 2 * time.Hour}, store.Settled)
	f.clock.Jump(30 * time.Minute)
	f.wantClaim(q, 3, "a", "c")
	f.clock.Advance(2 * time.Hour)
	f.equal("Claim after the last delay", len(f.claim(q, 3).Messages), 3)
}

func wallStaysDue(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, f.notBefore("a", time.Hour))
	f.clock.Jump(2 * time.Hour)
	f.wantCounts(q, "after the clock was put forward", counts{Ready: 1, Bytes: 1})
	f.clock.Jump(-2 * time.Hour)
	f.wantCounts(q, "after it was put back", counts{Ready: 1, Bytes: 1})
	f.wantClaim(q, 1, "a")
}

func wallNotBeforeRetention(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{Retention: time.Hour})
		f.sendEntries(q, f.notBefore("a", 400*24*time.Hour))
		step()
		f.clock.Jump(400 * 24 * time.Hour) // it is due at the latest after both
		defer f.clock.Jump(-400 * 24 * time.Hour)
		if f.stats(q).Ready == 0 {
			f.clock.Jump(365 * 24 * time.Hour)
			defer f.clock.Jump(-365 * 24 * time.Hour)
		}
		f.wantCounts(q, "when it is due", counts{Ready: 1, Bytes: 1})
		f.clock.Advance(time.Hour - time.Millisecond)
		f.equal("Sweep before retention ends: Expired", f.sweep(q).Expired, 0)
		f.clock.Advance(2 * store.Tick)
		f.equal("Sweep after retention has ended: Expired", f.sweep(q).Expired, 1)
	})
}

func wallNotBeforeFIFO(f *fixture) {
	q := f.fifo()
	e := f.notBefore("a", time.Hour)
	e.Group = "g"
	f.sendEntries(q, e)
	f.sendGroup(q, "g", "b")
	f.finish(q, f.wantClaim(q, 2, "b"))
	f.sendGroup(q, "g", "c")
	f.clock.Jump(time.Hour)
	f.wantClaim(q, 3, "a", "c")
}

func wallNotBeforeLeaves(f *fixture) {
	for _, touched := range []bool{false, true} {
		q, target := f.queue(store.Settings{MaxMessages: 5, Overflow: store.DropOldest}), f.queue(store.Settings{})
		list := make([]store.Entry, 0, 5)
		for _, body := range []string{"a", "b", "c", "d", "e"} {
			list = append(list, f.notBefore(body, time.Duration(10-len(list))*time.Hour))
		}
		f.sendEntries(q, list...)
		for seq := store.Seq(1); touched && seq <= 5; seq++ {
			f.wantSettle(q, store.SettleItem{
				Seq: seq, Token: store.AnyToken, Target: store.Ready, NotBefore: list[seq-1].NotBefore,
			}, store.Settled)
		}
		f.clock.Jump(-time.Minute)
		f.wantSettle(q, anyone(1, store.Done, 0), store.Settled)
		f.move(store.MoveParams{Source: q, Target: target, Select: store.Selection{Seqs: []store.Seq{2}}, Limit: 1})
		f.wantClaim(target, 1, "b")
		f.equal("Purge: Purged", f.purge(q, store.Selection{Seqs: []store.Seq{3}}).Purged, int64(1))
		f.wantCounts(q, "after three have left", counts{Delayed: 2, Bytes: 2})
		f.send(q, "f", "g", "h")
		f.wantClaim(q, 3, "f", "g", "h")
		f.equal("Send to a full queue: Evicted", f.sendEntries(q, f.notBefore("i", time.Hour)).Evicted, 1)
		left := f.scan(q, store.Selection{States: store.StateDelayed}, 10)
		f.equal("the one that would be due first gave way", []string{string(left[0].Payload), string(left[1].Payload)}, []string{"d", "i"})
		f.equal("Purge of all: Purged", f.purge(q, store.Selection{}).Purged, int64(5))
		f.clock.Jump(24 * time.Hour)
		f.wantCounts(q, "after a purge", counts{})
		f.clock.Jump(-24*time.Hour + time.Minute)
	}
}

func wallNotBeforeMany(f *fixture) {
	const n = 600
	q := f.queue(store.Settings{})
	list := make([]store.Entry, n)
	for i := range list {
		list[i] = f.notBefore("m", time.Duration((i*7)%n+1)*time.Second)
	}
	for i := 0; i < n; i += 100 {
		f.sendEntries(q, list[i:i+100]...)
	}
	f.clock.Jump(-n / 2 * time.Second)
	f.clock.Advance(n / 2 * time.Second)
	f.wantCounts(q, "before any is due", counts{Delayed: n, Bytes: n})
	f.clock.Advance(n / 3 * time.Second)
	f.wantCounts(q, "when a third is due", counts{Ready: n / 3, Delayed: n - n/3, Bytes: n})
	f.clock.Jump(n / 3 * time.Second)
	f.wantCounts(q, "when two thirds are due", counts{Ready: 2 * n / 3, Delayed: n - 2*n/3, Bytes: n})
	f.clock.Jump(n * time.Second)
	f.wantCounts(q, "when all are due", counts{Ready: n, Bytes: n})
}

func wallSelection(f *fixture) {
	f.eachStep(func(step func()) {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		f.clock.Advance(time.Minute)
		f.send(q, "b")
		step()
		sel := store.Selection{AvailableBefore: f.clock.Now().Add(-30 * time.Second)}
		f.equal("Scan of what is older than 30 s", len(f.scan(q, sel, 10)), 1)
		f.wantEach(q, sel, store.Done, 1)
		f.equal("Purge of what is older than 30 s: Purged", f.purge(q, sel).Purged, int64(0))
		f.wantClaim(q, 2, "b")
	})
}

func wallRecords(f *fixture) {
	f.eachStep(func(step func()) {
		l := f.log(store.LogSettings{Partitions: 1})
		own := f.clock.Now().Add(-time.Hour)
		f.append(l, "a")
		f.appendWith(f.appendParams(l, store.AppendPart{Records: []store.LogRecord{{Payload: []byte("b"), Size: 1, Time: own}}}))
		f.clock.Advance(time.Minute)
		step()
		at := f.append(l, "c")
		f.equal("Append: offset", at, store.Offset(2))
		now := f.clock.Now()
		var times []time.Time
		for _, r := range f.fetch(store.FetchParams{Log: l, Max: 10, MaxBytes: 1 << 20}).Records {
			times = append(times, r.Time.UTC())
		}
		f.equal("Fetch: Time", times, []time.Time{now.Add(-time.Minute), own, now})
		for _, c := range []struct {
			at   time.Time
			want store.Offset
		}{{now.Add(-time.Minute), 0}, {now, 2}, {now.Add(time.Millisecond), 3}} {
			if !c.at.After(own) {
				continue // the record with a time of its own comes first
			}
			got, err := f.store.Seek(f.Context(), l, 0, c.at)
			f.wantError("Seek", err, nil)
			f.equal("Seek("+c.at.String()+")", got, c.want)
		}
	})
}

func wallRecordRetention(f *fixture) {
	f.eachStep(func(step func()) {
		l := f.log(store.LogSettings{Partitions: 1, RetentionAge: time.Hour})
		f.append(l, "a")
		step()
		f.append(l, "b")
		f.clock.Advance(time.Hour - time.Millisecond)
		f.equal("SweepLog before retention ends: Trimmed", f.sweepLog(l).Trimmed, int64(0))
		f.clock.Advance(time.Millisecond)
		f.equal("SweepLog after retention has ended: Trimmed", f.sweepLog(l).Trimmed, int64(2))
	})
}
