package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// defaultSilence is [Options.Silence] if that is 0.
	defaultSilence = time.Second
	// cutAfter is after how many times that silence calls under way are given up.
	cutAfter = 3
	// pulses are looked at so many times in that silence.
	pulseParts = 4
)

// pulse knows whether the server answers. One that does not refuse, but says nothing, would otherwise hold up every call
// for as long as a busy one may take: while it is silent, calls are refused before they are sent, and those that were sent are
// given up after a while. As soon as it answers everything goes on.
type pulse struct {
	server  string // for people
	silence time.Duration
	now     func() time.Time
	// heard is when the server said something last, in nanoseconds since start.
	start  time.Time
	heard  atomic.Int64
	silent atomic.Bool
	// why is what prevented the last question, nil if that was only time.
	why atomic.Pointer[string]

	mu    sync.Mutex
	conns map[net.Conn]struct{} // that are open
}

func newPulse(silence time.Duration) *pulse {
	now := time.Now //nolint:forbidigo // how long a process waits for another one is real
	return &pulse{silence: silence, now: now, start: now(), conns: make(map[net.Conn]struct{})}
}

func (p *pulse) hear() {
	p.heard.Store(int64(p.now().Sub(p.start)))
	if p.silent.Load() {
		p.silent.Store(false)
	}
}

// quiet is for how long nothing was heard.
func (p *pulse) quiet() time.Duration {
	return p.now().Sub(p.start) - time.Duration(p.heard.Load())
}

// ask asks the server whether it is there, with a question that is answered at once.
func (p *pulse) ask(ctx context.Context, question func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, p.silence)
	defer cancel()
	err := question(ctx)
	if answer := redis.Error(nil); err == nil || errors.As(err, &answer) {
		p.hear()
		return
	}
	p.why.Store(nil)
	if late, network := errors.AsType[net.Error](err); ctx.Err() == nil && !(network && late.Timeout()) {
		p.why.Store(new(oneLine(err)))
	}
	quiet := p.quiet()
	if quiet >= p.silence {
		p.silent.Store(true)
	}
	if quiet >= cutAfter*p.silence {
		p.cut()
	}
}

// hangUp closes all connections.
func (p *pulse) hangUp() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, c := range all { // without the lock: with TLS it takes leave of the server
		_ = c.Close()
	}
}

// cut gives up what is waited for on all connections.
func (p *pulse) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
}

// dialer remembers the connections that dial makes.
func (p *pulse) dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.conns[c] = struct{}{}
		p.mu.Unlock()
		known := &knownConn{Conn: c, pulse: p}
		if raw, ok := c.(syscall.Conn); ok { // through which the client finds out that the server has closed it
			return struct {
				*knownConn
				syscall.Conn
			}{known, raw}, nil
		}
		return known, nil
	}
}

// knownConn tells the pulse what comes over it, and is forgotten when it is closed.
type knownConn struct {
	net.Conn
	pulse      *pulse
	subscribed atomic.Bool // what comes over it are announcements
}

// Write notes whether the connection subscribes.
func (c *knownConn) Write(b []byte) (int, error) {
	if bytes.Contains(b[:min(len(b), len("*2\r\n$10\r\nssubscribe"))], []byte("subscribe")) {
		c.subscribed.Store(true)
	}
	return c.Conn.Write(b)
}

// Read hears the server also in the middle of an answer, which may be long. Announcements say nothing of whether what is sent arrives.
func (c *knownConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.subscribed.Load() {
		c.pulse.hear()
	}
	return n, err
}

func (c *knownConn) Close() error {
	c.pulse.mu.Lock()
	delete(c.pulse.conns, c.Conn)
	c.pulse.mu.Unlock()
	return c.Conn.Close()
}

// refusal is of calls that are not made, since the server is silent.
func (p *pulse) refusal() error {
	quiet := p.quiet().Round(time.Millisecond)
	if why := p.why.Load(); why != nil {
		return fmt.Errorf("the server %s does not answer (for %v): %s", p.server, quiet, *why)
	}
	return fmt.Errorf("the server %s does not answer (for %v)", p.server, quiet)
}

// DialHook implements [redis.Hook].
func (p *pulse) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook]: it refuses calls while the server is silent, and listens for its answers.
func (p *pulse) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if p.silent.Load() {
			err := p.refusal()
			cmd.SetErr(err)
			return err
		}
		err := next(ctx, cmd)
		p.note(err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (p *pulse) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if p.silent.Load() {
			err := p.refusal()
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		err := next(ctx, cmds)
		p.note(err)
		return err
	}
}

// note hears an answer, which may be an error that the server gives.
func (p *pulse) note(err error) {
	if answer := redis.Error(nil); err == nil || errors.As(err, &answer) {
		p.hear()
	}
}
