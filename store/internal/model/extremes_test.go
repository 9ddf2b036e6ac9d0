package model

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const testNow = Millis(1_700_000_000_000)

// newTestQueue is a queue with settings.
func newTestQueue(s store.Settings) *Queue {
	q := NewQueue(7)
	s.Revision = 1
	q.Configure(testNow, s)
	return q
}

func send(t *testing.T, q *Queue, now Millis, entries ...Meta) store.SendResult {
	t.Helper()
	_, res, _, err := q.Send(now, Sending{Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func claim(q *Queue, now Millis, limit int) Claimed {
	ev, _, _ := q.Claim(now, store.ClaimParams{Max: limit, MaxBytes: 1 << 30, Visibility: time.Second})
	return ev
}

func TestNotBeforeReachesAnyTime(t *testing.T) {
	start := time.Now()
	c := NewClock(func() time.Time { return start.Add(999 * time.Microsecond) }, nil, MillisOf(start))
	for _, year := range []int{1, 1969, 2100, 2318, 9999} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		m := Metas([]store.Entry{{NotBefore: at, Delay: time.Second}, {NotBefore: at, InOrder: true}}, c)
		if year < 2100 {
			if m[0].NotBefore != 0 || m[0].Delay != 1000 || m[1].NotBefore != 0 || m[1].Delay != 0 {
				t.Errorf("not before the year %d: %+v", year, m)
			}
			continue
		}
		if m[0].NotBefore != MillisOf(at) || m[0].Delay != 0 {
			t.Errorf("not before the year %d: %+v", year, m[0])
		}
		if m[1].NotBefore != 0 || m[1].Delay < MillisOf(at)-c.Now()-1 || m[1].Delay > MillisOf(at)-c.Now() {
			t.Errorf("not before the year %d, in order: %+v", year, m[1])
		}
	}
}

func TestTheLongestDurations(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	q := newTestQueue(store.Settings{Interval: longest, Retention: longest, MaxReceives: 3})
	send(t, q, testNow, Meta{}, Meta{}, Meta{Delay: after(0, longest), TTL: after(0, longest)})
	ev, _, _ := q.Claim(testNow, store.ClaimParams{Max: 10, MaxBytes: 10, Visibility: longest})
	if !slices.Equal(ev.Seqs, []store.Seq{1}) {
		t.Fatalf("claimed %v, want the one that the rate allows", ev.Seqs)
	}
	for _, now := range []Millis{testNow, testNow + 1_000_000_000} {
		if due := q.NextDue(now); due <= 0 || due >= store.NoDue {
			t.Errorf("next due in %v", due)
		}
		if ev := claim(q, now, 10); len(ev.Seqs) > 0 {
			t.Errorf("claimed %v past the rate", ev.Seqs)
		}
	}
}

// TestLongDedupWindows goes beyond what 32 bits of milliseconds hold.
func TestLongDedupWindows(t *testing.T) {
	const day = Millis(24 * 60 * 60 * 1000)
	q := newTestQueue(store.Settings{DedupWindow: 100 * 24 * time.Hour})
	m := Meta{Dedup: store.DedupKey{1}}
	send(t, q, testNow, m)
	for range 2 {
		if res := send(t, q, testNow+99*day, m); res.Count != 0 || res.Fates[0].Verdict != store.Duplicate {
			t.Errorf("a repeat within the window: %+v", res)
		}
		var err error
		if q, err = Restore(7, q.Freeze().Encode(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if res := send(t, q, testNow+100*day, m); res.Count != 1 {
		t.Errorf("a repeat after the window: %+v", res)
	}
}

// TestFreezingManyKeys takes a snapshot of many keys while more are added: it must not change, and duplicates are still
// found in all of them.
func TestFreezingManyKeys(t *testing.T) {
	q := newTestQueue(store.Settings{DedupWindow: time.Hour})
	keyed := func(from, n int) (list []Meta) {
		for i := range n {
			list = append(list, Meta{Dedup: store.DedupKey{1, byte(from + i), byte((from + i) >> 8)}})
		}
		return list
	}
	send(t, q, testNow, keyed(0, 20_000)...)
	before := q.Freeze()
	if n := len(q.dedup.buckets); n != 1 {
		t.Fatalf("%d buckets, want one that is closed", n)
	}
	if n := send(t, q, testNow+1, keyed(10_000, 20_000)...).Count; n != 10_000 {
		t.Errorf("%d were accepted of which 10,000 are new", n)
	}
	restored, err := Restore(7, before.Encode(nil))
	if err != nil {
		t.Fatal(err)
	}
	if n := send(t, restored, testNow+1, keyed(10_000, 20_000)...).Count; n != 10_000 {
		t.Errorf("after a restart %d were accepted of which 10,000 are new", n)
	}
}

// TestEntriesOfAgendasStayFew gives messages back again and again: what is noted of their times to live must not grow.
func TestEntriesOfAgendasStayFew(t *testing.T) {
	q := newTestQueue(store.Settings{})
	for range 100 {
		send(t, q, testNow, Meta{TTL: 1_000_000}, Meta{})
	}
	for round := range Millis(50) {
		now := testNow + round
		var p store.SettleParams
		for _, seq := range claim(q, now, 1000).Seqs {
			p.Items = append(p.Items, store.SettleItem{Seq: seq, Token: q.token, Target: store.Ready})
		}
		q.Settle(now, p)
		send(t, q, now, Meta{})
		q.Settle(now, store.SettleParams{Items: []store.SettleItem{{Seq: q.next - 1, Token: store.AnyToken, Target: store.Done}}})
		if n := len(q.expiring); n > 2*100+100 {
			t.Fatalf("after round %d there are %d entries for 100 messages", round, n)
		}
	}
	if ev, _ := q.Sweep(testNow + 1_000_000); len(ev.Expired) != 100 {
		t.Errorf("%d expired, want 100", len(ev.Expired))
	}
}

func TestRepeatingAnAttemptLeavesFewEntries(t *testing.T) {
	q := newTestQueue(store.Settings{})
	send(t, q, testNow, Meta{})
	for i := range Millis(1000) {
		p := store.ClaimParams{Max: 1, MaxBytes: 1, Attempt: attemptKey{1}, AttemptWindow: time.Hour}
		if ev, _, _ := q.Claim(testNow+i, p); ev.Repeated || len(ev.Seqs) != 1 {
			t.Fatalf("claim %d = %+v; its lease has ended, so it is a new one", i, ev)
		}
	}
	if n := len(q.attempts.ending); n > 20 {
		t.Errorf("%d entries for one key", n)
	}
	if q.Stats(testNow + 3_600_998); len(q.attempts.seen) != 1 {
		t.Error("forgotten before the window of the last one has ended")
	}
	if q.Stats(testNow + 3_600_999); q.attempts.seen != nil {
		t.Error("still remembered after it")
	}
}

// TestFitGoesOnAtTheLowest cuts a list that is ordered by age, as that of dead messages.
func TestFitGoesOnAtTheLowest(t *testing.T) {
	list := []Body{{Seq: 5, Size: moveBytes}, {Seq: 9, Size: 1}, {Seq: 3, Size: 1}}
	for next, want := range map[store.Seq]store.Seq{0: 3, 1: 1, 20: 3} {
		if cut, got := Fit(list, next); len(cut) != 1 || got != want {
			t.Errorf("Fit of dead messages before %d = %d of them, go on at %d; want 1, %d", next, len(cut), got, want)
		}
	}
}

func TestAnIdleQueueForgetsNames(t *testing.T) {
	q := newTestQueue(store.Settings{Mode: store.FIFO})
	for i := range 100 {
		send(t, q, testNow, Meta{Group: string(rune('a' + i))})
	}
	for q.Len() > 0 {
		for _, seq := range claim(q, testNow, 100).Seqs {
			q.Settle(testNow, store.SettleParams{Items: []store.SettleItem{{Seq: seq, Token: q.token, Target: store.Done}}})
		}
	}
	if q.names.list != nil || q.names.free != nil {
		t.Errorf("%d names of groups that are gone", len(q.names.list))
	}
}

func TestGroupsWithoutABound(t *testing.T) {
	q := newTestQueue(store.Settings{Mode: store.Fair})
	send(t, q, testNow, Meta{Group: "b"}, Meta{Group: "a"})
	if list := q.Groups(testNow, nil, math.MaxInt); len(list) != 2 || list[0].Name != "a" {
		t.Errorf("groups %+v", list)
	}
}

// TestStillMovable changes messages between the choice and the move.
func TestStillMovable(t *testing.T) {
	q := newTestQueue(store.Settings{})
	for range 5 {
		send(t, q, testNow, Meta{Size: 1})
	}
	sel := &store.Selection{States: store.StateReady}
	bodies, _ := q.Movable(testNow, sel, 10)
	var list []Moved
	for _, b := range bodies {
		list = append(list, Moved{Body: b})
	}
	claim(q, testNow, 3)
	items := func(target store.Target, seqs ...store.Seq) (p store.SettleParams) {
		for _, seq := range seqs {
			p.Items = append(p.Items, store.SettleItem{Seq: seq, Token: store.AnyToken, Target: target, After: time.Hour})
		}
		return p
	}
	q.Settle(testNow, items(store.Done, 1))
	q.Settle(testNow, store.SettleParams{Items: []store.SettleItem{{Seq: 2, Token: q.token, Target: store.Ready}}}) // as before, but once more delivered
	q.Settle(testNow, items(store.Ready, 4))                                                                        // delayed by now
	var still []store.Seq
	for _, m := range q.StillMovable(testNow, sel, list) {
		still = append(still, m.Seq)
	}
	if !slices.Equal(still, []store.Seq{5}) {
		t.Errorf("still movable: %v, want 5: 1 is gone, 2 was delivered again, 3 is leased, 4 delayed", still)
	}
}
