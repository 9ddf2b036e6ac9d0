package redis

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// turnstile keeps commands from being written.
type turnstile struct {
	entered chan struct{}
	open    chan struct{}
}

func (g turnstile) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g turnstile) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.entered <- struct{}{}
		<-g.open
		return next(ctx, cmd)
	}
}

func (g turnstile) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.entered <- struct{}{}
		<-g.open
		return next(ctx, cmds)
	}
}

// A caller that leaves has changed nothing as long as its call waits for a lane. Once a lane has it, it may still be written.
func TestLeavingALane(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, Options{URL: server.url})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	v, err := s.topology.route(t.Context(), s.keys('q', 1, "state")[0])
	if err != nil {
		t.Fatal(err)
	}
	g := turnstile{make(chan struct{}, 100), make(chan struct{})}
	v.client.AddHook(g)
	// Each of these differs from the others, so that none waits for another one.
	call := func(ctx context.Context, n int) <-chan error {
		failed := make(chan error, 1)
		go func() {
			key := [16]byte{byte(n)}
			_, err := s.Send(ctx, store.SendParams{
				Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("m")}}, Once: &store.Once{Key: key, Window: 1},
			})
			failed <- err
		}()
		return failed
	}
	taken, leave := context.WithCancel(t.Context())
	defer leave()
	var inLanes []<-chan error
	for n := range ordinaryLanes {
		inLanes = append(inLanes, call(taken, n))
		<-g.entered
	}
	waits, withdraw := context.WithCancel(t.Context())
	defer withdraw()
	waiting := call(waits, ordinaryLanes)
	for waitingCalls(&v.lanes) == 0 {
		runtime.Gosched()
		select {
		case err := <-waiting:
			t.Fatalf("a call beside those that fill all lanes = %v, want that it waits", err)
		default:
		}
	}
	withdraw()
	if err := <-waiting; !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("a call that no lane has taken, when its caller leaves = %v, want %v alone", err, context.Canceled)
	}
	leave()
	for _, failed := range inLanes {
		if err := <-failed; !errors.Is(err, store.ErrUnknown) {
			t.Errorf("a call that a lane has taken, when its caller leaves = %v, want %v", err, store.ErrUnknown)
		}
	}
	close(g.open)
	if stats, err := s.Stats(t.Context(), 1); err != nil || stats.Ready > ordinaryLanes {
		t.Errorf("Stats = %+v, %v, want at most the %d messages of the calls that were taken", stats, err, ordinaryLanes)
	}
}

func waitingCalls(l *lanes) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
