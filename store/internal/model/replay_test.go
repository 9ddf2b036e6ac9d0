package model

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

var (
	seed   = flag.Uint64("model.seed", 0, "seed of the random histories; 0 draws one")
	rounds = flag.Int("model.rounds", 30, "number of random histories")
)

// TestReplayEqualsDeciding runs random histories and, at random points, restores a snapshot and applies the encoded
// events of all later operations to it. In the end the copy must equal the original byte by byte, and the counts must
// add up at every step.
func TestReplayEqualsDeciding(t *testing.T) {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("run again with -model.seed=%d", s)
	for round := range uint64(*rounds) {
		h := newHistory(t, rand.New(rand.NewPCG(s, round)))
		for range 400 {
			h.step()
			h.checkCounts()
		}
		h.compare()
	}
}

// history drives a queue at random and keeps a copy that only sees snapshots and events.
type history struct {
	testing.TB
	rng      *rand.Rand
	now      Millis
	q, copy  *Queue
	held     []store.SettleItem
	revision uint64
	fifo     bool
}

func newHistory(tb testing.TB, rng *rand.Rand) *history {
	tb.Helper()
	return &history{TB: tb, rng: rng, now: 1_700_000_000_000, q: NewQueue(7), copy: NewQueue(7), fifo: rng.IntN(3) == 0}
}

func (h *history) step() {
	h.now += Millis(h.rng.IntN(300))
	switch h.rng.IntN(13) {
	case 12:
		h.setClock()
	case 0:
		h.configure()
	case 1, 2, 3:
		h.send()
	case 4, 5, 6:
		h.claim()
	case 7, 8, 9:
		h.settle()
	case 10:
		h.sweepOrMove()
	case 11:
		h.q.Stats(h.now) // advances the original only
		h.checkLooks()
		if h.rng.IntN(4) == 0 {
			h.restore()
		}
	}
}

// setClock sets the wall clock, or starts anew as a process does.
func (h *history) setClock() {
	ahead := Ahead(h.rng.IntN(3)*h.rng.IntN(10_000) - 10_000)
	if h.rng.IntN(3) > 0 {
		ev, err := DecodeStepped(h.q.Step(h.now, ahead).Encode(nil))
		h.must(err)
		h.copy.ApplyStepped(ev)
		return
	}
	ev, err := DecodeRestarted(Restarted{Reading: Reading{
		At: h.now, Ahead: h.q.Ahead(), Protected: h.now + Millis(h.rng.IntN(3)*h.rng.IntN(5000)), Boot: "b",
	}, Dated: h.rng.IntN(2) == 0}.Encode(nil))
	h.must(err)
	h.q.ApplyRestarted(ev)
	h.copy.ApplyRestarted(ev)
}

// wall is a time that the wall clock soon shows, or has just shown.
func (h *history) wall() Millis { return h.now + Millis(h.q.Ahead()) + Millis(h.rng.IntN(8000)) - 1000 }

func (h *history) configure() {
	h.revision++
	settings := store.Settings{
		Revision: h.revision, MaxReceives: uint32(h.rng.IntN(4)), Lazy: h.rng.IntN(2) == 0,
		Retention: time.Duration(h.rng.IntN(3)) * 10 * time.Second, ExpiredDead: h.rng.IntN(2) == 0,
		DedupWindow: time.Duration(h.rng.IntN(3)) * 3 * time.Second, Overflow: store.Overflow(h.rng.IntN(3)),
		MaxMessages: int64(h.rng.IntN(2) * h.rng.IntN(200)), MaxBytes: int64(h.rng.IntN(2) * h.rng.IntN(1<<20)),
		MaxInFlight: uint32(h.rng.IntN(2) * h.rng.IntN(100)), History: uint32(h.rng.IntN(3) * 5),
		Interval: time.Duration(h.rng.IntN(2)*h.rng.IntN(100)) * time.Millisecond,
	}
	switch pick := h.rng.IntN(4); {
	case h.fifo:
		settings.Mode, settings.Tail = store.FIFO, h.rng.IntN(2) == 0
	case pick == 0:
		settings.Mode = store.Fair
	case pick == 1:
		settings.Levels, settings.Ageing = 1+uint8(h.rng.IntN(10)), time.Duration(h.rng.IntN(3))*time.Second
	}
	if settings.Levels == 0 && h.rng.IntN(2) == 0 {
		settings.GroupInFlight = uint32(h.rng.IntN(10))
		settings.GroupInterval = time.Duration(h.rng.IntN(2)*h.rng.IntN(1000)) * time.Millisecond
	}
	ev, changed := h.q.Configure(h.now, settings)
	if changed {
		got, err := DecodeConfigured(ev.Encode(nil))
		h.must(err)
		h.copy.ApplyConfigured(got)
	}
}

func (h *history) send() {
	entries := make([]store.Entry, 1+h.rng.IntN(5)*h.rng.IntN(80))
	for i := range entries {
		entries[i] = store.Entry{Payload: []byte{byte(i)}, Size: uint32(h.rng.IntN(1 << (1 + h.rng.IntN(18))))}
	}
	metas := make([]Meta, len(entries))
	payloads := make([][]byte, len(entries))
	for i := range metas {
		m := &metas[i]
		m.Size, payloads[i] = entries[i].Size, entries[i].Payload
		if h.rng.IntN(4) == 0 {
			m.Delay = Millis(h.rng.IntN(3000))
		}
		if h.rng.IntN(6) == 0 {
			m.Delay, m.NotBefore = 0, h.wall()
		}
		if h.rng.IntN(3) == 0 {
			m.Group = []string{"", "a", "b", "c"}[h.rng.IntN(4)]
		}
		if h.rng.IntN(3) == 0 {
			m.Priority, m.InOrder = uint8(h.rng.IntN(10)), h.rng.IntN(2) == 0 && m.NotBefore == 0
		}
		if h.rng.IntN(8) == 0 {
			m.TTL = Millis(1 + h.rng.IntN(5000))
		}
		if h.rng.IntN(5) == 0 {
			m.Dedup = store.DedupKey{byte(h.rng.IntN(50)), 1}
		}
		m.displace = h.rng.IntN(10) == 0
	}
	var once *store.Once
	if h.rng.IntN(3) == 0 {
		once = &store.Once{Key: [16]byte{byte(h.rng.IntN(20))}, Window: 5 * time.Second, Note: []byte("n")}
	}
	ev, res, fresh, err := h.q.Send(h.now, Sending{Entries: metas, Once: once, Whole: h.rng.IntN(3) == 0})
	h.must(err)
	if !fresh {
		return
	}
	if !ev.Simple {
		payloads = nil
		for i, e := range entries {
			if res.Fates == nil || res.Fates[i].Verdict == store.Accepted {
				payloads = append(payloads, e.Payload)
			}
		}
	}
	b := EncodeSent(nil, ev, payloads)
	Stamp(b, 7, ev.At, ev.First)
	batch, err := DecodeBatch(b, 7)
	h.must(err)
	h.copy.ApplySent(batch.Sent())
}

func (h *history) claim() {
	p := store.ClaimParams{
		Max: 1 + h.rng.IntN(20), MaxBytes: 1 << 20, Consumer: []string{"", "a", "b"}[h.rng.IntN(3)],
		Visibility: time.Duration(h.rng.IntN(3000)) * time.Millisecond,
	}
	if h.rng.IntN(3) == 0 {
		p.Attempt, p.AttemptWindow = [16]byte{byte(h.rng.IntN(5)), 1}, 5*time.Second
	}
	ev, _, changed := h.q.Claim(h.now, p)
	if !changed {
		return
	}
	for _, seq := range ev.Seqs {
		h.held = append(h.held, store.SettleItem{Seq: seq, Token: ev.Token})
	}
	got, err := DecodeClaimed(ev.Encode(nil))
	h.must(err)
	h.copy.ApplyClaimed(got)
}

func (h *history) settle() {
	p := store.SettleParams{Strict: h.rng.IntN(2) == 0}
	for range h.rng.IntN(8) {
		if len(h.held) == 0 {
			break
		}
		i := h.rng.IntN(len(h.held))
		item := h.held[i]
		item.Target = store.Target(1 + h.rng.IntN(4))
		item.After = time.Duration(h.rng.IntN(4)) * 500 * time.Millisecond
		item.Uncount = item.Target == store.Ready && h.rng.IntN(4) == 0
		item.Reason = []string{"", "boom", "timeout"}[h.rng.IntN(3)]
		if h.rng.IntN(5) == 0 {
			item.Token = store.AnyToken
			if h.rng.IntN(2) == 0 {
				item.NotBefore = Time(h.wall())
			}
		}
		p.Items = append(p.Items, item)
	}
	if h.rng.IntN(6) == 0 {
		p.Select, p.Each = h.selection(), store.SettleItem{Target: store.Target(1 + h.rng.IntN(4)), Token: store.AnyToken, Reason: "all"}
		if h.rng.IntN(2) == 0 {
			p.Each.NotBefore = Time(h.wall())
		}
	}
	ev, _, _, changed := h.q.Settle(h.now, p)
	if !changed {
		return
	}
	got, err := DecodeSettled(ev.Encode(nil))
	h.must(err)
	h.copy.ApplySettled(got)
}

func (h *history) sweepOrMove() {
	if h.rng.IntN(2) == 0 {
		ev, changed := h.q.Sweep(h.now)
		if changed {
			got, err := DecodeSwept(ev.Encode(nil))
			h.must(err)
			h.copy.ApplySwept(got)
		}
		return
	}
	if h.rng.IntN(4) == 0 {
		ev, _, _, changed := h.q.Purge(h.now, h.selection())
		if changed {
			got, err := DecodePurged(ev.Encode(nil))
			h.must(err)
			h.copy.ApplyPurged(got)
		}
		return
	}
	out, in := MovedOut{At: h.now}, MovedIn{At: h.now, First: h.q.Next()}
	bodies, _ := h.q.Movable(h.now, h.selection(), 1+h.rng.IntN(5))
	for _, m := range bodies {
		out.Seqs = append(out.Seqs, m.Seq)
		in.Entries = append(in.Entries, Meta{Size: m.Size, Group: m.Group, Priority: m.Priority, Expires: m.Expires, Alias: uint32(m.Seq)})
	}
	for _, q := range []*Queue{h.q, h.copy} {
		q.ApplyMovedOut(out)
		q.ApplyMovedIn(in)
	}
}

func (h *history) selection() *store.Selection {
	sel := &store.Selection{States: store.States(h.rng.IntN(16))}
	if h.rng.IntN(2) == 0 {
		sel.Group = &[]string{"", "a", "b"}[h.rng.IntN(3)]
	}
	if h.rng.IntN(4) == 0 {
		sel.Consumer = "a"
	}
	if h.rng.IntN(3) == 0 {
		sel.From = store.Seq(h.rng.IntN(1000))
	}
	if h.rng.IntN(3) == 0 {
		sel.AvailableBefore = Time(h.now - 3000)
	}
	return sel
}

func (h *history) restore() {
	q, err := Restore(7, h.q.Freeze().Encode(nil))
	h.must(err)
	h.copy = q
}

func (h *history) checkCounts() {
	s := h.q.Stats(h.now)
	if sum := s.Ready + s.Leased + s.Delayed + s.Dead; sum != h.q.Len() {
		h.Fatalf("counts add up to %d, want %d: %+v", sum, h.q.Len(), s)
	}
	var bytes int64
	for seq := range h.q.liveSeqs() {
		bytes += int64(h.q.Size(seq))
	}
	if bytes != s.Bytes {
		h.Fatalf("bytes %d, the live messages have %d", s.Bytes, bytes)
	}
}

// checkLooks compares what is quicker than looking at every message with doing so.
func (h *history) checkLooks() {
	sel := h.selection()
	var want []store.Seq
	locks := make(map[string]store.Group)
	for seq := range h.q.liveSeqs() {
		if h.q.chosen(sel, seq) {
			want = append(want, seq)
		}
		if n, touched := h.q.slots.find(seq); touched && (h.q.slots.slab[n].state == leased || h.q.slots.slab[n].state == backoff) {
			v := h.q.view(seq)
			g := locks[v.Group]
			tail := h.q.settings.Tail && g.Head != 0 // only the first one counts
			if g.Head == 0 {
				g.Head = seq
			}
			if v.Due.After(g.LockedUntil) && !tail {
				g.LockedUntil = v.Due
			}
			locks[v.Group] = g
		}
		if v := h.q.view(seq); v.State == store.StateReady && h.q.settings.Tail && locks[v.Group].Head == 0 {
			locks[v.Group] = store.Group{Head: seq} // before all that could lock it
		}
		agenda := h.q.planned
		if h.q.cols.kind(seq) == planned && h.q.cols.byWall(seq) {
			agenda = h.q.byWall.walls
		}
		if h.q.cols.kind(seq) == planned && !slices.Contains(agenda, entry{h.q.cols.due(seq), uint64(seq)}) {
			h.Fatalf("message %d is due at %d by its facts only", seq, h.q.cols.due(seq))
		}
	}
	var got []store.Seq
	for next := store.Seq(1); next != 0; {
		var page []store.Seq
		page, next = h.q.choose(sel, 1+h.rng.IntN(50))
		got = append(got, page...)
		sel.From = max(sel.From, next)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Fatalf("choice of %+v (-all messages +pages):\n%s", *sel, diff)
	}
	if h.q.settings.Mode != store.FIFO {
		return
	}
	var after *string
	for n := 1 + h.rng.IntN(4); ; {
		page := h.q.Groups(h.now, after, n)
		for _, g := range page {
			if want := locks[g.Name]; want.Head != 0 && (g.Head != want.Head || !g.LockedUntil.Equal(want.LockedUntil)) {
				h.Fatalf("group %+v, want it locked by %d until %v", g, want.Head, want.LockedUntil)
			}
			after = &g.Name
		}
		if len(page) < n {
			return
		}
	}
}

func (h *history) compare() {
	want, got := h.q.Stats(h.now), h.copy.Stats(h.now)
	if diff := cmp.Diff(want, got); diff != "" {
		h.Fatalf("stats of the copy (-original +copy):\n%s", diff)
	}
	if !bytes.Equal(h.q.Freeze().Encode(nil), h.copy.Freeze().Encode(nil)) {
		h.Fatal("the copy's snapshot differs from the original's")
	}
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}
