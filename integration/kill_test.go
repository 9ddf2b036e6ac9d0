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
	const most = 5 * time.Second // for a restart, 99 % of the time
	s := seed(t)
	r := random(s, 0)
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--journal-size", "64KiB", "--log-level", "warn"}

	srv := start(t, data, args...)
	c := srv.client()
	c.create(rejects, `{"visibility":"500ms"}`)
	c.create(jobs, `{"visibility":"500ms","dead_letter":{"queue":"rejects"},"retry":{"base":"50ms","cap":"200ms"}}`)

	var tags atomic.Int64
	book := newLedger(t)
	var restarts []time.Duration
	kills := 0
	for n := uint64(1); kills < size(10, 1000); n++ {
		transport := &http.Transport{MaxIdleConnsPerHost: 32}
		l := &load{
			ledger: book, seed: r.Uint64(), base: srv.base, tags: &tags,
			http: &http.Client{Transport: transport},
		}
		l.runUntilKilled(t.Context(), srv, r)
		transport.CloseIdleConnections()
		kills++
		for r.IntN(4) == 0 {
			launch(t, data, args...).killAfter(time.Duration(r.IntN(40)) * time.Millisecond)
			kills++
		}

		srv = launch(t, data, args...)
		restarts = append(restarts, srv.await())
		book.restarted()
		l = &load{ledger: book, base: srv.base, tags: &tags, http: &http.Client{Transport: transport}}
		if err := l.survey(t.Context(), r); err != nil {
			t.Fatalf("after kill %d: %v", kills, err)
		}
		if t.Failed() {
			t.Fatalf("after kill %d of seed %d", kills, s)
		}
	}
	l := &load{ledger: book, base: srv.base, tags: &tags, http: plain}
	if err := l.drain(t.Context()); err != nil {
		t.Error(err)
	}
	srv.stop()
	srv = start(t, data, args...)
	l.base = srv.base
	if err := l.drain(t.Context()); err != nil {
		t.Errorf("after a last restart: %v", err)
	}

	slices.Sort(restarts)
	t.Logf("%d kills; restart to ready p50 %v, p99 %v, max %v", kills,
		percentile(restarts, 0.5), percentile(restarts, 0.99), restarts[len(restarts)-1])
	t.Logf("%v", book.tally)
	if p99 := percentile(restarts, 0.99); p99 > most {
		t.Errorf("a restart takes %v (p99), want at most %v", p99, most)
	}
	if last := lastJournal(t, data); last < 10 {
		t.Errorf("the journal is at file %d, so this run says little about full files", last)
	}
	book.tally.requireAll(t)
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
func (l *load) runUntilKilled(ctx context.Context, srv *server, r *rand.Rand) {
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
	l.run(ctx, 4, 4)
	<-killed
}

// killAfter lets a starting server live for a moment.
func (s *server) killAfter(moment time.Duration) {
	<-time.After(moment)
	s.kill()
}
