package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// shardCases: what a queue keeps and what it gives up when it is spread over shards, on backends that can do that.
var shardCases = []testCase{
	{"gives each message once", shardsAll},
	{"says truthfully whether there is more", shardsReady},
	{"settles messages of several shards in one call", shardsSettle},
	{"meets the first of a repeated send", shardsOnce},
	{"finds duplicates wherever their first is", shardsDedup},
	{"remembers a send of duplicates in several shards", shardsOnceDedup},
	{"gives the same messages to a repeated attempt", shardsAttempt},
	{"adds up", shardsStats},
	{"pages through all", shardsScan},
	{"changes what is selected", shardsSelect},
	{"purges", shardsPurge},
	{"moves messages out and back", shardsMove},
	{"moves between two such queues", shardsBetween},
	{"makes messages dead, and sweeps", shardsDead},
	{"wakes in time for the first", shardsDue},
	{"tells those who wait", shardsWatch},
	{"keeps the number it was created with", shardsFixed},
	{"refuses what cannot be kept", shardsRefused},
	{"follows its settings", shardsConfigure},
	{"is gone as a whole", shardsDrop},
}

// shardsOf is how many shards the cases use, as far as the backend has so many.
const shardsOf = 8

// canSpread says whether a backend has shards; the cases of queues with shards are for those only.
func canSpread(t *testing.T, h Harness) bool {
	t.Helper()
	info := setup(t, h).store.Info()
	if info.Shards < 2 {
		t.Logf("the %s store cannot spread a queue over shards (its Info.Shards is %d), so it gets none of their cases", info.Name, info.Shards)
	}
	return info.Shards >= 2
}

func (f *fixture) sharded() store.Settings {
	return store.Settings{Shards: min(shardsOf, f.store.Info().Shards)}
}

// spreadOut sends so many messages, each in a call of its own, and returns their bodies.
func (f *fixture) spreadOut(q store.QueueID, n int) []string {
	f.Helper()
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("m%02d", i)
		f.send(q, list[i])
	}
	return list
}

// drain claims until there is nothing more.
func (f *fixture) drain(q store.QueueID, limit int) []store.ClaimResult {
	f.Helper()
	var all []store.ClaimResult
	for {
		r := f.claim(q, limit)
		if len(r.Messages) == 0 {
			f.equal("Claim of nothing: Ready", r.Ready, false)
			return all
		}
		all = append(all, r)
	}
}

// sorted are the bodies of several claims.
func sorted(all []store.ClaimResult) []string {
	var list []string
	for _, r := range all {
		list = append(list, bodies(r)...)
	}
	slices.Sort(list)
	return list
}

// seen are all messages that a selection chooses, page by page.
func (f *fixture) seen(q store.QueueID, sel store.Selection, limit int) []store.View {
	f.Helper()
	var all []store.View
	for pages := 0; ; pages++ {
		f.pause()
		r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Select: sel, Limit: limit, MaxBytes: 1 << 30})
		f.wantError("Scan", err, nil)
		all = append(all, r.Views...)
		if sel.From = r.Next; r.Next == 0 {
			break
		}
		if pages > 1000 {
			f.Fatal("Scan: no end after 1000 pages")
		}
	}
	for i := 1; i < len(all); i++ {
		if all[i].Seq <= all[i-1].Seq {
			f.Fatalf("Scan: sequence %d comes after %d", all[i].Seq, all[i-1].Seq)
		}
	}
	return all
}

// viewed are the bodies of views.
func viewed(views []store.View) []string {
	list := make([]string, len(views))
	for i, v := range views {
		list[i] = string(v.Payload)
	}
	slices.Sort(list)
	return list
}

func shardsAll(f *fixture) {
	q := f.queue(f.sharded())
	want := f.spreadOut(q, 40)
	f.equal("sends: sequences below 2^53", slices.ContainsFunc(f.seen(q, store.Selection{}, 100), func(v store.View) bool { return v.Seq >= 1<<53 }), false)
	got := f.drain(q, 3)
	f.equal("all that was claimed", sorted(got), want)
	for _, r := range got {
		f.finish(q, r)
	}
	f.wantCounts(q, "after all is done", counts{})
}

func shardsReady(f *fixture) {
	q := f.queue(f.sharded())
	const n = 25
	f.spreadOut(q, n)
	for left := n; left > 0; {
		r := f.claim(q, 2)
		left -= len(r.Messages)
		if len(r.Messages) == 0 || len(r.Messages) > 2 {
			f.Fatalf("Claim(max 2): got %d messages with %d left", len(r.Messages), left)
		}
		f.equal(fmt.Sprintf("Claim with %d left: Ready", left), r.Ready, left > 0)
	}
}

func shardsSettle(f *fixture) {
	q := f.queue(f.sharded())
	f.spreadOut(q, 30)
	var list []store.SettleItem
	var want []store.Outcome
	for i, r := range f.drain(q, 4) {
		for j, m := range r.Messages {
			list, want = append(list, item(m.Seq, r.Token, store.Done, 0)), append(want, store.Settled)
			switch (i + j) % 5 {
			case 1:
				list, want = append(list, item(m.Seq, r.Token, store.Done, 0)), append(want, store.Gone)
			case 2:
				list[len(list)-1] = item(m.Seq, r.Token+1, store.Done, 0)
				want[len(want)-1] = store.Lost
			case 3:
				list, want = append(list, item(m.Seq+1<<40, r.Token, store.Done, 0)), append(want, store.Gone)
			}
		}
	}
	list, want = append(list, item(math.MaxUint64, 1, store.Done, 0), item(63<<47|1, 1, store.Done, 0)), append(want, store.Gone, store.Gone)
	f.equal("Settle over all shards", f.settle(q, list...).Outcomes, want)
}

func shardsOnce(f *fixture) {
	q := f.queue(f.sharded())
	for i := range 20 {
		key := fmt.Sprint("k", i)
		first := f.sendOnce(q, onceKey(key, "f", time.Hour), entry("a"), entry("b"))
		again := f.sendOnce(q, onceKey(key, "f", time.Hour), entry("a"), entry("b"))
		f.equal("repeated Send", []any{again.First, again.Count, again.Duplicate, string(again.Note)}, []any{first.First, 2, true, "note of " + key})
		f.pause()
		_, err := f.store.Send(f.Context(), store.SendParams{
			Queue: q, Revision: 1, Entries: entries("c"), Once: onceKey(key, "g", time.Hour),
		})
		f.wantError("Send of other content under the same key", err, store.ErrKeyReused)
	}
	f.wantCounts(q, "after repeated sends", counts{Ready: 40, Bytes: 40})
}

// deduplicated is a message whose body is its deduplication key.
func deduplicated(body string) store.Entry {
	e := entry(body)
	copy(e.Dedup[8:], body)
	return e
}

func shardsDedup(f *fixture) {
	s := f.sharded()
	s.DedupWindow = time.Minute
	q := f.queue(s)
	var list []store.Entry
	for i := range 20 {
		list = append(list, deduplicated(fmt.Sprint("d", i)))
	}
	one := f.sendEntries(q, list[3])
	f.equal("Send of one: Count", one.Count, 1)
	all := f.sendEntries(q, append(list, entry("plain"))...)
	f.equal("Send of all: Count", all.Count, len(list))
	known := make(map[store.Seq]string)
	for _, v := range f.seen(q, store.Selection{}, 100) {
		known[v.Seq] = string(v.Payload)
	}
	for i, e := range append(list, entry("plain")) {
		want := store.Accepted
		if i == 3 {
			want = store.Duplicate
		}
		f.equal(fmt.Sprintf("fate of entry %d", i), []any{all.Fates[i].Verdict, known[all.Fates[i].Seq]}, []any{want, string(e.Payload)})
	}
	again := f.sendEntries(q, list...)
	f.equal("Send of all again: Count", again.Count, 0)
	for i := range list {
		f.equal("fate of a duplicate", again.Fates[i], store.Fate{Verdict: store.Duplicate, Seq: all.Fates[i].Seq})
	}
	f.wantCounts(q, "with duplicates left out", counts{Ready: 21, Bytes: int64(10*2 + 10*3 + 5)})
}

func shardsOnceDedup(f *fixture) {
	s := f.sharded()
	s.DedupWindow = time.Second
	q := f.queue(s)
	list := []store.Entry{entry("plain")}
	for i := range 12 {
		list = append(list, deduplicated(fmt.Sprint("d", i)))
	}
	first := f.sendOnce(q, onceKey("k", "f", time.Hour), list...)
	f.clock.Advance(time.Minute) // the deduplication keys are forgotten, the call is not
	again := f.sendOnce(q, onceKey("k", "f", time.Hour), list...)
	f.equal("repeated Send", []any{again.Duplicate, again.Count, string(again.Note)}, []any{true, 13, "note of k"})
	f.equal("repeated Send: Fates", again.Fates, first.Fates)
	f.wantCounts(q, "after the repeat", counts{Ready: 13, Bytes: int64(5 + 10*2 + 2*3)})
}

func shardsAttempt(f *fixture) {
	q := f.queue(f.sharded())
	f.spreadOut(q, 30)
	for i := range 8 {
		attempt := fmt.Sprint("attempt", i)
		first := f.claimAttempt(q, 2, attempt)
		again := f.claimAttempt(q, 2, attempt)
		f.equal("Claim(attempt): Repeated", []bool{first.Repeated, again.Repeated}, []bool{false, true})
		f.equal("Claim(attempt) again", bodies(again), bodies(first))
		f.equal("Claim(attempt) again: Token", again.Token, first.Token)
		f.equal("Claim(attempt) again: Ready", again.Ready, true)
		f.finish(q, again)
	}
}

func shardsStats(f *fixture) {
	q := f.queue(f.sharded())
	f.equal("Stats of none: OldestAge", f.stats(q).OldestAge < 0, true)
	f.spreadOut(q, 20)
	f.clock.Advance(10 * time.Second)
	for range 6 {
		f.sendEntries(q, delayed("later", time.Hour))
	}
	for range 5 {
		m, token := f.claimOne(q)
		f.wantSettle(q, item(m.Seq, token, store.Dead, 0), store.Settled)
		f.claimOne(q)
	}
	f.wantCounts(q, "of all shards", counts{Ready: 10, Leased: 5, Delayed: 6, Dead: 5, Bytes: 20*3 + 6*5})
	s := f.stats(q)
	f.equal("Stats: Approximate, Revision", []any{s.Approximate, s.Revision}, []any{true, uint64(1)})
	if s.OldestAge < 9*time.Second || s.OldestAge > 11*time.Second {
		f.Errorf("Stats: OldestAge = %v, want 10s within a second", s.OldestAge)
	}
	f.equal("Stats: NextDue", s.NextDue, lease)
	groups, err := f.store.Groups(f.Context(), q, nil, 10)
	f.wantError("Groups", err, nil)
	f.equal("Groups", groups, []store.Group(nil))
}

func shardsScan(f *fixture) {
	q := f.queue(f.sharded())
	want := f.spreadOut(q, 40)
	all := f.seen(q, store.Selection{}, 100)
	f.equal("Scan", viewed(all), want)
	for _, limit := range []int{1, 3, 7} {
		f.equal(fmt.Sprintf("Scan, %d a page", limit), viewed(f.seen(q, store.Selection{}, limit)), want)
	}
	from, upTo := all[7].Seq, all[31].Seq
	f.equal("Scan from and up to", viewed(f.seen(q, store.Selection{From: from, UpTo: upTo}, 5)), viewed(all[7:32]))
	f.equal("Scan up to beyond all", viewed(f.seen(q, store.Selection{UpTo: math.MaxUint64}, 5)), want)
	f.equal("Scan from beyond all", f.seen(q, store.Selection{From: 1 << 60}, 5), []store.View(nil))
	var some []store.Seq
	for i := 0; i < len(all); i += 3 {
		some = append(some, all[i].Seq, all[i].Seq+1000)
	}
	slices.Sort(some)
	f.equal("Scan of some", len(f.seen(q, store.Selection{Seqs: some}, 4)), 14)
	r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Limit: 100, MaxBytes: 10})
	f.wantError("Scan", err, nil)
	f.equal("Scan of 10 bytes: views", len(r.Views), 3)
	v, err := f.store.Lookup(f.Context(), q, q, all[20].Seq)
	f.wantError("Lookup", err, nil)
	f.equal("Lookup", []any{v.Seq, string(v.Payload), v.State}, []any{all[20].Seq, string(all[20].Payload), store.StateReady})
	for _, seq := range []store.Seq{all[20].Seq + 1000, 1 << 60, 63<<47 | 1} {
		f.pause()
		_, err = f.store.Lookup(f.Context(), q, q, seq)
		f.wantError("Lookup of none", err, store.ErrNotFound)
	}
}

func shardsSelect(f *fixture) {
	q := f.queue(f.sharded())
	f.spreadOut(q, 30)
	f.drain(q, 1)
	p := store.SettleParams{
		Queue: q, Revision: 1, Select: &store.Selection{Consumer: "consumer"}, Each: store.SettleItem{Target: store.Ready},
	}
	given := 0
	for {
		r := f.settleWith(p)
		given += len(r.Outcomes)
		if r.Next == 0 {
			break
		}
		p.Select.From = r.Next
	}
	f.equal("messages given back", given, 30)
	f.wantCounts(q, "after a release", counts{Ready: 30, Bytes: 90})
}

func shardsPurge(f *fixture) {
	q := f.queue(f.sharded())
	f.spreadOut(q, 30)
	for range 5 {
		f.sendEntries(q, delayed("later", time.Hour))
	}
	sel, purged := store.Selection{States: store.StateDelayed}, int64(0)
	for {
		f.pause()
		r, err := f.store.Purge(f.Context(), q, sel)
		f.wantError("Purge", err, nil)
		purged += r.Purged
		if sel.From = r.Next; r.Next == 0 {
			break
		}
	}
	f.equal("delayed messages purged", purged, int64(5))
	f.claim(q, 10)
	f.pause()
	r, err := f.store.Purge(f.Context(), q, store.Selection{})
	f.wantError("Purge", err, nil)
	f.equal("Purge of all", r, store.PurgeResult{Purged: 30})
	f.wantCounts(q, "after a purge", counts{})
}

// movePages moves what is selected, call after call.
func (f *fixture) movePages(p store.MoveParams) int {
	f.Helper()
	moved := 0
	for {
		r := f.move(p)
		moved += r.Moved
		if p.Select.From = r.Next; r.Next == 0 {
			return moved
		}
	}
}

func shardsMove(f *fixture) {
	s := f.sharded()
	s.History = 100
	q, plain := f.queue(s), f.queue(store.Settings{})
	want := f.spreadOut(q, 30)
	first := f.seen(q, store.Selection{}, 100)
	f.equal("messages moved out", f.movePages(store.MoveParams{Source: q, Target: plain, Limit: 4, Label: "sharded"}), 30)
	f.wantCounts(q, "after all was moved out", counts{})
	r := f.claim(plain, 100)
	f.equal("what came", sorted([]store.ClaimResult{r}), want)
	for _, m := range r.Messages {
		if m.Origin == nil || m.Origin.Queue != q || !slices.ContainsFunc(first, func(v store.View) bool {
			return v.Seq == m.Origin.Seq && string(v.Payload) == string(m.Payload)
		}) {
			f.Fatalf("message %q came with origin %+v, want where it was sent", m.Payload, m.Origin)
		}
	}
	f.wantSettleAll(plain, r, store.Ready, 0)
	f.wantSettle(q, item(first[3].Seq, 1, store.Done, 0), store.Lost)
	v, err := f.store.Lookup(f.Context(), q, q, first[3].Seq)
	f.wantError("Lookup of what was moved away", err, nil)
	f.equal("Lookup of what was moved away", v.Removal, store.MovedAway)

	f.equal("messages moved back", f.movePages(store.MoveParams{Source: plain, Target: q, Limit: 1, Label: "plain"}), 30)
	for _, was := range first {
		f.pause()
		v, err := f.store.Lookup(f.Context(), q, q, was.Seq)
		f.wantError("Lookup by the first place", err, nil)
		f.equal("Lookup by the first place", []any{string(v.Payload), v.State}, []any{string(was.Payload), store.StateReady})
	}
	f.equal("what came back", sorted(f.drain(q, 10)), want)
}

func shardsBetween(f *fixture) {
	s := f.sharded()
	from, to := f.queue(s), f.queue(s)
	want := f.spreadOut(from, 30)
	f.equal("messages moved", f.movePages(store.MoveParams{Source: from, Target: to, Limit: 2, Renew: true}), 30)
	f.equal("messages moved of none", f.movePages(store.MoveParams{Source: from, Target: to, Limit: 2}), 0)
	f.equal("what came", sorted(f.drain(to, 3)), want)
}

func shardsDead(f *fixture) {
	s := f.sharded()
	s.MaxReceives, s.Retention = 1, time.Hour
	q, dead := f.queue(s), f.queue(store.Settings{})
	want := f.spreadOut(q, 20)
	f.drain(q, 2)
	f.clock.Advance(lease)
	f.equal("Sweep: Dead", f.sweep(q).Dead, int64(20))
	f.equal("dead messages moved", f.movePages(store.MoveParams{Source: q, Target: dead, Select: theDead, Limit: 7, Label: "q"}), 20)
	f.equal("dead messages", sorted(f.drain(dead, 100)), want)
	f.spreadOut(q, 20)
	f.equal("Sweep: Ready", f.sweep(q).Ready, int64(20))
	f.clock.Advance(2 * time.Hour)
	r := f.sweep(q)
	f.equal("Sweep: Expired, Ready", []int64{int64(r.Expired), r.Ready}, []int64{20, 0})
}

func shardsDue(f *fixture) {
	q := f.queue(f.sharded())
	for i := range 16 {
		f.sendEntries(q, delayed(fmt.Sprint(i), time.Duration(16-i)*time.Minute))
	}
	for i := range 16 {
		r := f.claim(q, 10)
		f.equal("Claim before the first is due", bodies(r), []string(nil))
		f.equal("Claim: NextDue", r.NextDue, time.Minute)
		f.equal("Sweep: NextDue", f.sweep(q).NextDue, time.Minute)
		f.clock.Advance(time.Minute)
		r = f.claim(q, 10)
		f.equal("Claim when one is due", bodies(r), []string{fmt.Sprint(15 - i)})
		f.finish(q, r)
	}
}

func shardsWatch(f *fixture) {
	s := f.sharded()
	if f.harness.lone || f.restless {
		return // who was told is gone
	}
	w := watch(f)
	q := f.queue(s)
	for range 2 * shardsOf {
		w.reset()
		f.send(q, "a")
		w.want(f, q, "a send")
	}
	for _, r := range f.drain(q, 1) {
		w.reset()
		f.wantSettleAll(q, r, store.Ready, 0)
		w.want(f, q, "a nack")
	}
}

func shardsFixed(f *fixture) {
	s := f.sharded()
	q, plain := f.queue(s), f.queue(store.Settings{})
	for _, c := range []struct {
		queue  store.QueueID
		shards uint32
	}{{q, 1}, {q, 0}, {q, 2}, {plain, s.Shards}} {
		f.pause()
		err := f.store.Configure(f.Context(), c.queue, store.Settings{Revision: 9, Shards: c.shards})
		f.wantError(fmt.Sprintf("Configure with %d shards", c.shards), err, store.ErrConflict)
	}
	want := f.spreadOut(q, 20)
	f.equal("messages of a queue that stayed as it was", sorted(f.drain(q, 2)), want)
	f.send(plain, "a")
	f.wantClaim(plain, 1, "a")
}

func shardsRefused(f *fixture) {
	s := f.sharded()
	for i, bad := range []store.Settings{
		{Mode: store.FIFO},
		{Mode: store.Fair},
		{Levels: 2},
		{MaxMessages: 1},
		{MaxBytes: 1},
		{MaxInFlight: 1},
		{GroupInFlight: 1},
		{Interval: time.Second},
		{GroupInterval: time.Second},
	} {
		bad.Revision, bad.Shards = 1, s.Shards
		f.pause()
		if err := f.store.Configure(f.Context(), store.QueueID(1000+i), bad); err == nil {
			f.Errorf("Configure(%+v) = nil, want an error", bad)
		}
	}
	if err := f.store.Configure(f.Context(), 2000, store.Settings{Revision: 1, Shards: f.store.Info().Shards + 1}); err == nil {
		f.Error("Configure with more shards than there can be = nil, want an error")
	}
	list, err := f.store.Queues(f.Context(), 0, 100)
	f.wantError("Queues", err, nil)
	f.equal("Queues after refusals", list, []store.QueueID(nil))
}

func shardsConfigure(f *fixture) {
	s := f.sharded()
	q := f.queue(s)
	f.spreadOut(q, 20)
	s.MaxReceives = 1
	f.configure(q, s)
	for range 2 * shardsOf {
		f.pause()
		_, err := f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("a")})
		f.wantError("Send for the settings before", err, store.ErrStaleConfig)
		_, err = f.store.Claim(f.Context(), store.ClaimParams{Queue: q, Revision: 1, Max: 1})
		f.wantError("Claim for the settings before", err, store.ErrStaleConfig)
	}
	for _, r := range f.drain(q, 3) {
		for _, o := range f.settle(q, items(r, store.Ready, 0)...).Outcomes {
			f.equal("nack of the last delivery", o, store.Died)
		}
	}
}

func shardsDrop(f *fixture) {
	q := f.queue(f.sharded())
	f.spreadOut(q, 20)
	other := f.queue(f.sharded())
	list, err := f.store.Queues(f.Context(), 0, 100)
	f.wantError("Queues", err, nil)
	f.equal("Queues: how many", len(list), 2)
	for range 2 {
		f.pause()
		f.wantError("Drop", f.store.Drop(f.Context(), q), nil)
	}
	for range 2 * shardsOf {
		f.pause()
		_, err := f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("a")})
		f.wantError("Send to what was dropped", err, store.ErrGone)
	}
	_, err = f.store.Stats(f.Context(), q)
	f.wantError("Stats of what was dropped", err, store.ErrGone)
	list, err = f.store.Queues(f.Context(), 0, 100)
	f.wantError("Queues", err, nil)
	f.equal("Queues", list, []store.QueueID{other})
	f.wantCounts(other, "of the other queue", counts{})
}
