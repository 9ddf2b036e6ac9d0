package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

// mergeSeed is that of the environment, or a fresh one.
func mergeSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("DABBA_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("DABBA_SEED: %v", err)
		}
	}
	t.Logf("DABBA_SEED=%d repeats this run", seed)
	return seed
}

// Calls that share a script come to the same as one after the other, for callers and for the queue.
func TestMergedIsTheSame(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	r := rand.New(rand.NewPCG(mergeSeed(t), 1))
	clock := storetest.NewClock()
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url), Now: clock.Now})
	for i := range 60 {
		p := pair{T: t, r: r, s: s, clock: clock, queues: [2]store.QueueID{store.QueueID(2*i + 1), store.QueueID(2*i + 2)}}
		p.run()
		if t.Failed() {
			return
		}
	}
}

// pair is two queues: one is called by scripts that calls share, the other by one for each call.
type pair struct {
	*testing.T
	r      *rand.Rand
	s      *Store
	clock  *storetest.Clock
	queues [2]store.QueueID
	leased []store.SettleItem
}

func (p *pair) run() {
	set := store.Settings{Revision: 1, Mode: store.Mode(p.r.IntN(3)), MaxReceives: uint32(p.r.IntN(3)), Lazy: p.r.IntN(2) == 0}
	if p.r.IntN(2) == 0 {
		set.MaxMessages, set.MaxBytes = int64(p.r.IntN(30)), int64(p.r.IntN(200))
		set.Overflow = store.Overflow(p.r.IntN(3))
	}
	if p.r.IntN(2) == 0 {
		set.DedupWindow = time.Minute
	}
	switch p.r.IntN(4) {
	case 0:
		set.MaxInFlight = uint32(1 + p.r.IntN(20))
	case 1:
		set.Interval = time.Duration(1+p.r.IntN(400)) * time.Millisecond
	case 2:
		if set.Mode == store.Standard {
			set.Levels, set.Ageing = uint8(1+p.r.IntN(4)), time.Duration(p.r.IntN(2))*time.Second
		} else {
			set.GroupInFlight = uint32(1 + p.r.IntN(4))
			set.GroupInterval = time.Duration(p.r.IntN(2)*100) * time.Millisecond
		}
	}
	set.Tail = set.Mode == store.FIFO && p.r.IntN(2) == 0
	set.ExpiredDead = p.r.IntN(2) == 0
	set.Retention = time.Duration(p.r.IntN(2)*p.r.IntN(8000)) * time.Millisecond
	for _, q := range p.queues {
		if err := p.s.Configure(p.Context(), q, set); err != nil {
			p.Fatal(err)
		}
	}
	for range 6 {
		p.send()
		p.claim()
		p.settle()
		p.clock.Advance(time.Duration(p.r.IntN(3000)) * time.Millisecond)
		p.alike()
		if p.Failed() {
			p.Fatalf("of queues with %+v", set)
		}
	}
}

func (p *pair) entries() []store.Entry {
	list := make([]store.Entry, 1+p.r.IntN(6))
	for i := range list {
		e := store.Entry{
			Payload: fmt.Append(nil, p.r.IntN(1000)), Size: uint32(p.r.IntN(20)), Group: fmt.Sprint(p.r.IntN(4)),
			InOrder: p.r.IntN(3) == 0, Priority: uint8(p.r.IntN(4)), Displace: p.r.IntN(4) == 0,
		}
		if p.r.IntN(4) == 0 {
			e.Delay = time.Duration(p.r.IntN(3000)) * time.Millisecond
		}
		if p.r.IntN(4) == 0 {
			e.TTL = time.Duration(1+p.r.IntN(3000)) * time.Millisecond
		}
		if p.r.IntN(3) == 0 {
			e.Dedup[0] = byte(1 + p.r.IntN(9))
		}
		list[i] = e
	}
	return list
}

// send makes some sends of both queues.
func (p *pair) send() {
	calls := make([]store.SendParams, 1+p.r.IntN(8))
	for i := range calls {
		calls[i] = store.SendParams{Queue: p.queues[0], Revision: 1, Entries: p.entries()}
	}
	var single []store.SendResult
	for _, c := range calls {
		c.Queue = p.queues[1]
		res, _, err := p.s.whole().sendAlone(p.Context(), c)
		if err != nil {
			p.Fatalf("sendAlone = %v, want nil", err)
		}
		single = append(single, res)
	}
	together, err := sendTogether(p.Context(), p.s.whole().sendKind(calls[0]), calls)
	if err != nil {
		p.Fatalf("sendTogether = %v, want nil", err)
	}
	for i := range single {
		single[i].NextDue = single[len(single)-1].NextDue // all of them look at it after the last
	}
	p.same("sends", single, together)
}

// claim makes some claims of both.
func (p *pair) claim() {
	calls := make([]store.ClaimParams, 1+p.r.IntN(5))
	for i := range calls {
		calls[i] = store.ClaimParams{
			Queue: p.queues[0], Revision: 1, Max: 1 + p.r.IntN(6), MaxBytes: int64(p.r.IntN(60)),
			Visibility: time.Duration(1+p.r.IntN(4000)) * time.Millisecond, Consumer: fmt.Sprint("c", i),
		}
	}
	var single []store.ClaimResult
	for _, c := range calls {
		c.Queue = p.queues[1]
		got := p.s.whole().claimAlone(p.Context(), []store.ClaimParams{c})
		if got[0].err != nil {
			p.Fatalf("claimAlone = %v, want nil", got[0].err)
		}
		single = append(single, got[0].result)
	}
	list := p.s.whole().claimAlone(p.Context(), calls)
	together := make([]store.ClaimResult, len(list))
	for i, c := range list {
		if c.err != nil {
			p.Fatalf("claimAlone of %d claims = %v, want nil", len(calls), c.err)
		}
		together[i] = c.result
		for _, m := range c.result.Messages {
			p.leased = append(p.leased, store.SettleItem{Seq: m.Seq, Token: c.result.Token})
		}
	}
	for i := range single {
		single[i].NextDue = single[len(single)-1].NextDue
	}
	p.same("claims", single, together)
}

// settle settles some messages of both, some of them more than once.
func (p *pair) settle() {
	strict := p.r.IntN(2) == 0
	calls := make([]store.SettleParams, 1+p.r.IntN(5))
	for i := range calls {
		c := store.SettleParams{Queue: p.queues[0], Revision: 1, Strict: strict}
		for range 1 + p.r.IntN(4) {
			item := store.SettleItem{Seq: store.Seq(1 + p.r.IntN(20)), Token: store.AnyToken}
			if len(p.leased) > 0 && p.r.IntN(5) > 0 {
				item = p.leased[p.r.IntN(len(p.leased))]
			}
			item.Target = store.Target(1 + p.r.IntN(4))
			item.After = time.Duration(p.r.IntN(2)*p.r.IntN(3000)) * time.Millisecond
			item.Uncount = p.r.IntN(4) == 0 && item.Target == store.Ready
			if p.r.IntN(3) == 0 {
				item.Reason = "why"
			}
			c.Items = append(c.Items, item)
		}
		calls[i] = c
	}
	var single []store.SettleResult
	for _, c := range calls {
		c.Queue = p.queues[1]
		res, err := p.s.whole().settleAlone(p.Context(), c)
		if err != nil {
			p.Fatalf("settleAlone = %v, want nil", err)
		}
		single = append(single, res)
	}
	together, err := settleTogether(p.Context(), p.s.whole().settleKind(calls[0]), calls)
	if err != nil {
		p.Fatalf("settleTogether = %v, want nil", err)
	}
	for i := range single {
		single[i].NextDue = single[len(single)-1].NextDue
	}
	p.same("settlements", single, together)
}

// alike looks at all of both queues.
func (p *pair) alike() {
	var stats [2]store.Stats
	var scans [2]store.ScanResult
	for i, q := range p.queues {
		var err error
		if stats[i], err = p.s.Stats(p.Context(), q); err != nil {
			p.Fatalf("Stats = %v, want nil", err)
		}
		if scans[i], err = p.s.Scan(p.Context(), store.ScanParams{Queue: q, Limit: 1000, MaxBytes: 1 << 20}); err != nil {
			p.Fatalf("Scan = %v, want nil", err)
		}
	}
	p.same("stats", stats[1], stats[0])
	p.same("messages", scans[1], scans[0])
}

func (p *pair) same(what string, single, merged any) {
	p.Helper()
	if diff := cmp.Diff(single, merged); diff != "" {
		p.Errorf("%s of scripts that calls share differ (-single +merged):\n%s", what, diff)
	}
}

// gate holds back the scripts that calls share.
type gate struct {
	begun chan int // how many calls each has
	let   chan struct{}
}

// gateSends holds back those of a store's sends.
func gateSends(s *Store) gate {
	g := gate{make(chan int, 100), make(chan struct{})}
	together := s.sends.together
	s.sends.together = func(ctx context.Context, kind sendKind, calls []store.SendParams) ([]store.SendResult, error) {
		g.begun <- len(calls)
		<-g.let
		return together(ctx, kind, calls)
	}
	return g
}

// waits waits until so many calls wait in line.
func waits[K comparable, P, R any](m *merger[K, P, R], kind K, n int) {
	for {
		m.mu.Lock()
		got := 0
		if line := m.lines[kind]; line != nil {
			got = len(line.waiting)
		}
		m.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

// The sends of a store that wait go to the server together, and each caller gets what is its own.
func TestSendsTogether(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	g := gateSends(s)
	const callers = 8
	var (
		work    sync.WaitGroup
		results [callers]store.SendResult
		errs    [callers]error
	)
	one := store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}}
	for i := range callers {
		p := one
		p.Entries = nil
		for range 1 + i%3 {
			p.Entries = append(p.Entries, one.Entries[0])
		}
		work.Go(func() { results[i], errs[i] = s.Send(t.Context(), p) })
		if i < mergeAbreast {
			<-g.begun
		} else {
			waits(s.sends, s.whole().sendKind(p), i+1-mergeAbreast)
		}
	}
	stale := one
	stale.Revision = 2
	var wrong error
	work.Go(func() { _, wrong = s.Send(t.Context(), stale) })
	<-g.begun
	close(g.let)
	work.Wait()
	if n := <-g.begun; n != callers-mergeAbreast {
		t.Errorf("%d calls went together, want the %d that waited", n, callers-mergeAbreast)
	}
	seen := map[store.Seq]bool{}
	for i, r := range results {
		if errs[i] != nil || r.Count != 1+i%3 || r.Fates != nil {
			t.Errorf("send %d = %+v, %v; want %d messages accepted", i, r, errs[i], 1+i%3)
		}
		for seq := r.First; seq < r.First+store.Seq(r.Count); seq++ {
			if seen[seq] {
				t.Errorf("sequence %d was given out twice", seq)
			}
			seen[seq] = true
		}
	}
	if !errors.Is(wrong, store.ErrStaleConfig) {
		t.Errorf("a send with another revision = %v, want %v", wrong, store.ErrStaleConfig)
	}
}

// An error of a script is that of all whose sends went together.
func TestSendsTogetherToAQueueThatIsGone(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	g := gateSends(s)
	p := store.SendParams{Queue: 7, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}}
	var work sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		work.Go(func() { _, errs[i] = s.Send(t.Context(), p) })
	}
	waits(s.sends, s.whole().sendKind(p), len(errs)-mergeAbreast)
	close(g.let)
	work.Wait()
	for i, err := range errs {
		if !errors.Is(err, store.ErrGone) {
			t.Errorf("send %d = %v, want %v", i, err, store.ErrGone)
		}
	}
}

// Close waits for what was sent; what only waits is refused.
func TestCloseWithSendsInLine(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	g := gateSends(s)
	p := store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}}
	var work sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		work.Go(func() { _, errs[i] = s.Send(t.Context(), p) })
	}
	waits(s.sends, s.whole().sendKind(p), len(errs)-mergeAbreast)
	var closing error
	work.Go(func() { closing = s.Close() })
	for s.enter() == nil {
		s.calls.Done()
		runtime.Gosched()
	}
	close(g.let)
	work.Wait()
	if closing != nil {
		t.Errorf("Close = %v, want nil", closing)
	}
	for i, err := range errs {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("send %d that had not reached the server = %v, want %v", i, err, store.ErrClosed)
		}
	}
	if _, err := s.Send(t.Context(), p); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Send after Close = %v, want %v", err, store.ErrClosed)
	}
}

// Many callers at once, some of whom leave, lose nothing and get nothing twice.
func TestMergeManyCallers(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	ctx := t.Context()
	if err := s.Configure(ctx, 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		sent = map[store.Seq]bool{}
		done = map[store.Seq]bool{}
	)
	for i := range 16 {
		work.Go(func() {
			for j := range 30 {
				ctx, leave := context.WithCancel(ctx)
				if (i+j)%7 == 0 {
					go leave()
				}
				p := store.SendParams{Queue: 1, Revision: 1, Entries: make([]store.Entry, 1+j%3)}
				r, err := s.Send(ctx, p)
				leave()
				mu.Lock()
				for k := range r.Count {
					if seq := r.First + store.Seq(k); sent[seq] {
						t.Errorf("sequence %d was given out twice", seq)
					} else {
						sent[seq] = true
					}
				}
				mu.Unlock()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("Send = %v", err)
				}
			}
		})
		work.Go(func() {
			for range 60 {
				got, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 3, MaxBytes: 1 << 20, Visibility: time.Hour})
				if err != nil {
					t.Errorf("Claim = %v", err)
				}
				p := store.SettleParams{Queue: 1, Revision: 1}
				for _, m := range got.Messages {
					p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done})
				}
				if len(p.Items) == 0 {
					continue
				}
				r, err := s.Settle(ctx, p)
				if err != nil || len(r.Outcomes) != len(p.Items) {
					t.Errorf("Settle = %+v, %v; want %d outcomes", r, err, len(p.Items))
				}
				mu.Lock()
				for k, m := range p.Items {
					if done[m.Seq] || k < len(r.Outcomes) && r.Outcomes[k] != store.Settled {
						t.Errorf("message %d was acknowledged before, or not at all", m.Seq)
					}
					done[m.Seq] = true
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	stats, err := s.Stats(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Leased != 0 {
		t.Errorf("%d messages are leased after all were acknowledged", stats.Leased)
	}
	left := 0
	for seq := range sent {
		if !done[seq] {
			left++
		}
	}
	if int(stats.Ready) < left {
		t.Errorf("%d messages are ready, want at least the %d that were accepted and not acknowledged", stats.Ready, left)
	}
}

// One script does not give more than is good for the server; the claims it leaves out are made by another.
func TestClaimsThatAreMuch(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	const n, size = 9, 300 << 10
	for range n {
		p := store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: make([]byte, size), Size: size}}}
		if _, err := s.Send(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	calls := slices.Repeat([]store.ClaimParams{{Queue: 1, Revision: 1, Max: 2, MaxBytes: 1 << 30, Visibility: time.Minute}}, 6)
	if got := s.whole().claimAlone(t.Context(), calls); len(got) != 2 {
		t.Errorf("a script made %d claims of %d bytes each, want 2", len(got), 2*size)
	}
	list, err := claimTogether(t.Context(), claimKind{s.whole(), 1, 1}, calls)
	if err != nil || len(list) != len(calls) {
		t.Fatalf("claimTogether = %d results, %v; want %d", len(list), err, len(calls))
	}
	for i, want := range []int{2, 2, 1, 0, 0, 0} {
		if c := list[i]; c.err != nil || len(c.result.Messages) != want {
			t.Errorf("claim %d = %d messages, %v; want %d", i, len(c.result.Messages), c.err, want)
		}
	}
}

// A claim that was sent gives its answer also to a caller that has left: else its messages would be nobody's.
func TestClaimWhoseCallerLeaves(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	send := store.SendParams{Queue: 1, Revision: 1, Entries: make([]store.Entry, 1)}
	if _, err := s.Send(t.Context(), send); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	together := s.claims.together
	s.claims.together = func(ctx context.Context, kind claimKind, calls []store.ClaimParams) ([]claimed, error) {
		leave()
		return together(ctx, kind, calls)
	}
	got, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 2, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil || len(got.Messages) != 1 {
		t.Errorf("Claim of a caller that left = %d messages, %v; want 1", len(got.Messages), err)
	}
}
