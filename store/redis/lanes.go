package redis

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

const (
	// ordinaryLanes and ackedLanes are how many connections of a server calls are sent over at a time. Calls that wait
	// for replicas have their own, since whatever is behind them on a connection waits with them.
	ordinaryLanes = 4
	ackedLanes    = 2
	// laneCalls and laneBytes bound what goes over one at once.
	laneCalls = 64
	laneBytes = 1 << 20
)

// lanes send calls to a server. Those that are made while all lanes are under way go together then, in one write, and their
// answers come in one read: a server and its client spend most of their time on these.
type lanes struct {
	server *server
	most   int

	mu      sync.Mutex
	waiting []*call
	running int
}

// call is one script on its way to a server.
type call struct {
	ctx     context.Context //nolint:containedctx // of whoever waits for it, who may give up
	cmd     *redis.Cmd
	before  []any // a command that goes before it, if any
	size    int
	acks    store.Acks
	written atomic.Bool // it may have reached the server
	awaited *awaited    // if acks ask for copies
	done    chan struct{}
}

func (l *lanes) init(v *server, most int) { l.server, l.most = v, most }

// do sends a call and waits for its answer, which is in cmd then, or for the end of its context.
func (l *lanes) do(c *call) error {
	l.mu.Lock()
	l.waiting = append(l.waiting, c)
	if l.running < l.most {
		l.running++
		l.server.store.work.Go(l.run) // the call that begins it is under way, so Close does not wait yet
	}
	l.mu.Unlock()
	select {
	case <-c.done:
		return c.cmd.Err()
	case <-c.ctx.Done():
		if !l.withdraw(c) {
			c.written.Store(true) // a lane has it, and may be about to
		}
		return c.ctx.Err()
	}
}

// withdraw takes back a call that no lane has taken yet.
func (l *lanes) withdraw(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, c)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// run sends what waits until nothing does.
func (l *lanes) run() {
	for {
		batch := l.take()
		if batch == nil {
			return
		}
		l.send(batch)
		for _, c := range batch {
			close(c.done)
		}
	}
}

// take takes the calls that go next, and ends the lane if there are none.
func (l *lanes) take() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := 0, 0
	for n < len(l.waiting) && n < laneCalls && (n == 0 || bytes+l.waiting[n].size <= laneBytes) {
		bytes += l.waiting[n].size
		n++
	}
	if n == 0 {
		l.running--
		l.waiting = nil
		return nil
	}
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return batch
}

func (l *lanes) send(batch []*call) {
	ctx, client := l.server.store.life, l.server.client
	live := batch[:0:0]
	for _, c := range batch {
		if err := c.ctx.Err(); err != nil {
			c.cmd.SetErr(err)
			continue
		}
		live = append(live, c)
	}
	if len(live) == 1 && !live[0].acks.All && live[0].before == nil {
		_ = client.Process(ctx, live[0].cmd)
		return
	}
	if len(live) == 0 {
		return
	}
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range live {
			if c.before != nil {
				_ = p.Process(ctx, redis.NewCmd(ctx, c.before...))
			}
			_ = p.Process(ctx, c.cmd)
		}
		if live[0].acks.All {
			l.server.await(ctx, p, live)
		}
		return nil
	})
}

// sizeOf is about how many bytes arguments are.
func sizeOf(args []any) int {
	n := 0
	for _, a := range args {
		switch v := a.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		default:
			n += 8
		}
	}
	return n
}
