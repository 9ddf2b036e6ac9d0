package integration

import (
	"context"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestKillUnderLoad kills the server at random moments while clients send, receive and settle, and while it starts.
// After each kill, everything the queues hold is compared with what the clients know: what was acknowledged is there
// exactly as it was sent, once, unless it was acked; what was acked stays away; nothing is there that was never sent; a
// request that was cut off is repeated with its key and counts once.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	k := newKiller(t)
	c := k.srv.client()
	c.create(rejects, `{"visibility":"500ms"}`)
	c.create(jobs, `{"visibility":"500ms","dead_letter":{"queue":"rejects"},"retry":{"base":"50ms","cap":"200ms"}}`)
	k.torment(
		func(l *load) []work {
			return append(slices.Repeat([]work{l.sendOne}, 4), slices.Repeat([]work{l.consumeOne}, 4)...)
		},
		func(ctx context.Context, l *load, r *rand.Rand) error { return l.survey(ctx, r) },
		func(ctx context.Context, l *load) error { return l.drain(ctx) },
	)
	k.book.tally.requireAll(t)
}

// killer kills a server at work, starts it again, and lets the queues be compared with the ledger.
type killer struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	data string
	args []string
	srv  *server
	book *ledger
	tags atomic.Int64
}

// newKiller starts a server whose journal files fill fast.
func newKiller(t *testing.T) *killer {
	t.Helper()
	s := seed(t)
	k := &killer{
		t: t, seed: s, r: random(s, 0), book: newLedger(t),
		data: filepath.Join(t.TempDir(), "data"), args: []string{"--journal-size", "64KiB", "--log-level", "warn"},
	}
	k.srv = start(t, k.data, k.args...)
	return k
}

// torment lets clients work on the server and kills it, again and again, and surveys the queues after each kill. In the
// end it drains them, before and after a last restart.
func (k *killer) torment(clients func(*load) []work, survey func(context.Context, *load, *rand.Rand) error, drain func(context.Context, *load) error) {
	const most = 5 * time.Second // for a restart, 99 % of the time
	t := k.t
	t.Helper()
	var restarts []time.Duration
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	defer transport.CloseIdleConnections()
	kills := 0
	for kills < size(10, 1000) {
		l := k.load(transport)
		l.seed = k.r.Uint64()
		l.runUntilKilled(t.Context(), k.srv, k.r, clients(l))
		kills++
		for k.r.IntN(4) == 0 {
			launch(t, k.data, k.args...).killAfter(time.Duration(k.r.IntN(40)) * time.Millisecond)
			kills++
		}

		transport.CloseIdleConnections()
		k.srv.fsck()
		k.srv = launch(t, k.data, k.args...)
		restarts = append(restarts, k.srv.await())
		k.book.restarted()
		if err := survey(t.Context(), k.load(transport), k.r); err != nil {
			t.Fatalf("after kill %d of seed %d: %v", kills, k.seed, err)
		}
		if t.Failed() {
			t.Fatalf("after kill %d of seed %d", kills, k.seed)
		}
	}
	if err := drain(t.Context(), k.load(transport)); err != nil {
		t.Error(err)
	}
	k.srv.stop()
	k.srv = start(t, k.data, k.args...)
	if err := drain(t.Context(), k.load(transport)); err != nil {
		t.Errorf("after a last restart: %v", err)
	}

	slices.Sort(restarts)
	t.Logf("%d kills; restart to ready p50 %v, p99 %v, max %v", kills,
		percentile(restarts, 0.5), percentile(restarts, 0.99), restarts[len(restarts)-1])
	t.Logf("%v", k.book.tally)
	if p99 := percentile(restarts, 0.99); p99 > most {
		t.Errorf("a restart takes %v (p99), want at most %v", p99, most)
	}
	if last := lastJournal(t, k.data); last < 10 {
		t.Errorf("the journal is at file %d, so this run says little about full files", last)
	}
}

// load returns one for the server as it runs now.
func (k *killer) load(transport *http.Transport) *load {
	return &load{ledger: k.book, base: k.srv.base, tags: &k.tags, http: &http.Client{Transport: transport}}
}

// lastJournal is the number of the newest journal file.
func lastJournal(t *testing.T, data string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "*.journal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("journal files of %s: %v, %v", data, files, err)
	}
	slices.Sort(files)
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(files[len(files)-1]), ".journal"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runUntilKilled works on the server and kills it after a random number of answers and a moment more.
func (l *load) runUntilKilled(ctx context.Context, srv *server, r *rand.Rand, clients []work) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after := int64(50 + r.IntN(600))
	moment := time.Duration(r.IntN(10_000)) * time.Microsecond
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		defer cancel()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for l.answers.Load() < after && ctx.Err() == nil {
			select {
			case <-tick.C:
			case <-srv.ended:
				l.ledger.t.Errorf("the server ended by itself: %v", srv.cmd.ProcessState)
				return
			}
		}
		<-time.After(moment)
		l.dying.Store(true)
		srv.kill()
	}()
	l.run(ctx, clients)
	<-killed
}

// killAfter lets a starting server live for a moment.
func (s *server) killAfter(moment time.Duration) {
	<-time.After(moment)
	s.kill()
}
