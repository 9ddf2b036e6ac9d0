package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestManyLongPollsOnRedis lets one node have thousands of receives wait on some hundred queues, wakes them by sends at an
// ordinary rate, and looks at how soon Redis answers another client meanwhile. Those who wait hold no connection to Redis.
// With DABBA_TORTURE they are 5,000.
func TestManyLongPollsOnRedis(t *testing.T) {
	t.Parallel()
	waiters, queues, sends := size(500, 5000), size(50, 300), size(500, 6000)
	const rate = 200 // sends a second
	db := redistest.Start(t)
	srv := startOn(t, db)
	c := srv.client()
	for i := range queues {
		c.create(fmt.Sprintf("q%d", i), `{"visibility":"1h"}`)
	}
	p := startPolls(t, srv, waiters, queues)
	eventually(t, "all receives to wait", func() bool { return c.gauge("dabba_waiting_receives") == float64(waiters) })

	pings := startPings(t, db.URL)
	next := time.NewTicker(time.Second / rate)
	defer next.Stop()
	for i := range sends {
		<-next.C
		c.send(fmt.Sprintf("q%d", i%queues), "x")
	}
	eventually(t, "all that was sent to be received", func() bool { return p.received.Load() >= int64(sends) })
	latencies, connections := pings.stop()
	eventually(t, "all receives to wait again", func() bool { return c.gauge("dabba_waiting_receives") == float64(waiters) })
	if got := p.received.Load(); got != int64(sends) {
		t.Errorf("%d messages were received of %d sent", got, sends)
	}
	quantile := func(q float64) time.Duration {
		return latencies[int(q*float64(len(latencies)-1))].Round(10 * time.Microsecond)
	}
	t.Logf("%d waiting receives on %d queues, %d sends a second: PING takes p50 %v, p99 %v, at most %v (%d of them); %d connections to Redis; load of the machine %s",
		waiters, queues, rate, quantile(0.5), quantile(0.99), quantile(1), len(latencies), connections, machineLoad())
	if most := 64; connections > most {
		t.Errorf("the node has %d connections to Redis while %d receives wait, want at most %d", connections, waiters, most)
	}
	// The goal is 10 ms. The bound is loose, since the machine may be busy with other things.
	if p99 := quantile(0.99); p99 > time.Second && !raceEnabled {
		t.Errorf("99 of 100 PINGs take up to %v while %d receives wait, want 10ms", p99, waiters)
	}
}

// polls are receives that wait, each on a connection of its own, and wait again when they got something.
type polls struct{ received atomic.Int64 }

func startPolls(t *testing.T, srv *server, waiters, queues int) *polls {
	t.Helper()
	p := &polls{}
	var work sync.WaitGroup
	conns := make([]net.Conn, waiters)
	for i := range conns {
		conns[i] = srv.dial(t)
	}
	for i, conn := range conns {
		request := fmt.Sprintf("POST /v1/queues/q%d/receive?wait=10m HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", i%queues)
		work.Go(func() {
			if err := p.poll(conn, request); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("receive %d: %v", i, err)
			}
		})
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		work.Wait()
	})
	return p
}

// poll receives until the connection is closed.
func (p *polls) poll(conn net.Conn, request string) error {
	answers := bufio.NewReader(conn)
	for {
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", res.Status, body)
		}
		p.received.Add(int64(bytes.Count(body, []byte(`"receipt":`))))
	}
}

// pings are questions to Redis from a client of its own.
type pings struct {
	end  context.CancelFunc
	done chan struct{}
	// these are there when done is closed
	latencies   []time.Duration
	connections int
	failed      error
	t           *testing.T
}

func startPings(t *testing.T, url string) *pings {
	t.Helper()
	client := redistest.Client(t, url)
	ctx, end := context.WithCancel(t.Context())
	p := &pings{end: end, done: make(chan struct{}), t: t}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for p.failed == nil {
			p.failed = p.ask(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() },
				func(ctx context.Context) (string, error) { return client.ClientList(ctx).Result() })
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() { end(); <-p.done })
	return p
}

// ask measures one PING, and now and then counts the connections of others.
func (p *pings) ask(ctx context.Context, ping func(context.Context) error, clients func(context.Context) (string, error)) error {
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	if err := ping(ctx); err != nil {
		return err
	}
	p.latencies = append(p.latencies, time.Since(begun))
	if len(p.latencies)%100 != 1 {
		return nil
	}
	list, err := clients(ctx)
	p.connections = max(p.connections, strings.Count(list, "\n")-1)
	return err
}

// stop returns how long the answers took, the shortest first, and the most connections there were beside its own.
func (p *pings) stop() ([]time.Duration, int) {
	p.t.Helper()
	p.end()
	<-p.done
	if p.failed != nil {
		p.t.Fatalf("ask Redis: %v", p.failed)
	}
	slices.Sort(p.latencies)
	return p.latencies, p.connections
}

// machineLoad is how many processes want a processor, over the last minute, for a log.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
