package redis

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// proxy stands between a store and its server, and breaks what it is told to.
type proxy struct {
	listener net.Listener
	target   string

	mu       sync.Mutex
	open     map[net.Conn]bool
	mute     bool // close connections instead of passing answers on
	requests bool // close connections instead of passing requests on
	refuse   bool // close new connections at once
	// answer and request, unless 0, count down to the one that is lost with its connection.
	answer, request int
}

// newProxy starts one in front of the server with that URL.
func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: strings.TrimPrefix(url, "redis://"), open: make(map[net.Conn]bool)}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		work.Wait()
	})
	return p
}

func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() }

// set changes what is broken.
func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	refused := p.refuse
	p.open[client], p.open[server] = true, true
	p.mu.Unlock()
	if refused {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, &p.requests, &p.request) })
	both.Go(func() { p.pass(client, server, &p.mute, &p.answer) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// pass copies what one side says to the other, until it is broken or has counted down.
func (p *proxy) pass(to, from net.Conn, broken *bool, countdown *int) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		stop := *broken
		if *countdown > 0 && n > 0 {
			*countdown--
			stop = stop || *countdown == 0
		}
		p.mu.Unlock()
		if stop || err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// A call of which the answer is lost may have changed something; one that was never sent has not.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	p := newProxy(t, url)
	s := open(t, Options{URL: p.url(), Prefix: freshPrefix(t, url)})
	if _, err := s.Put(t.Context(), "k", []byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.mute = true })
	_, err := s.Put(t.Context(), "k", []byte("two"), store.AnyRevision)
	if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Put without an answer = %v, want %v", err, store.ErrUnknown)
	}
	p.set(func() { p.mute = false })
	if got, err := s.Get(t.Context(), "k"); err != nil || string(got.Value) != "two" {
		t.Errorf("Get after a Put without an answer = %q, %v; the server had got it", got.Value, err)
	}
	p.set(func() { p.mute = true })
	_, err = s.Get(t.Context(), "k")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("Get without an answer = %v, want %v", err, store.ErrUnavailable)
	}
}

// What does no harm when it is made again is made again when its answer is lost.
func TestLostAnswersOfRepeatableCalls(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	p := newProxy(t, url)
	s := open(t, Options{URL: p.url(), Prefix: freshPrefix(t, url)})
	ctx := t.Context()
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"Configure", func() error { return s.Configure(ctx, 1, store.Settings{Revision: 1}) }},
		{"ConfigureLog", func() error { return s.ConfigureLog(ctx, 1, store.LogSettings{Revision: 1, Partitions: 1}) }},
		{"Trim", func() error { _, err := s.Trim(ctx, 1, 0, 0); return err }},
		{"Bounds", func() error { _, err := s.Bounds(ctx, 1); return err }},
		{"List", func() error { _, err := s.List(ctx, "", "", 1); return err }},
		{"Queues", func() error { _, err := s.Queues(ctx, 0, 1); return err }},
		{"Drop", func() error { return s.Drop(ctx, 1) }},
		{"DropLog", func() error { return s.DropLog(ctx, 1) }},
		{"Ping", func() error { return s.Ping(ctx) }},
	} {
		for _, lost := range []*int{&p.answer, &p.request} {
			p.set(func() { *lost = 1 })
			if err := c.call(); err != nil {
				t.Errorf("%s with one message lost = %v, want nil", c.name, err)
			}
		}
	}
}

// Requests that the server never got may have been on their way as far as the store knows.
func TestLostRequests(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	p := newProxy(t, url)
	s := open(t, Options{URL: p.url(), Prefix: freshPrefix(t, url)})
	p.set(func() { p.requests = true })
	if _, err := s.Put(t.Context(), "k", []byte("one"), 0); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Put that got lost = %v, want %v", err, store.ErrUnknown)
	}
	if _, err := s.Put(t.Context(), "k", []byte("one"), 0); err == nil || errors.Is(err, store.ErrUnknown) {
		t.Errorf("Put over a connection that cannot be set up = %v, want an error that says nothing was changed", err)
	}
	p.set(func() { p.requests = false })
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of what was never put = %v, want %v", err, store.ErrNotFound)
	}
}

// While the server is away calls fail quickly and change nothing; when it is back they work, without a restart.
func TestOutage(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	p := newProxy(t, url)
	s := open(t, Options{URL: p.url(), Prefix: freshPrefix(t, url)})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.refuse = true })
	p.cut()
	began := time.Now()
	for range 3 {
		_, err := s.Put(t.Context(), "k", []byte("one"), 0)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("Put while the server is away = %v, want %v", err, store.ErrUnavailable)
		}
		if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Ping while the server is away = %v, want %v", err, store.ErrUnavailable)
		}
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("six calls while the server is away took %v, want less than a second each", took)
	}
	p.set(func() { p.refuse = false })
	if _, err := s.Put(t.Context(), "k", []byte("one"), 0); err != nil {
		t.Errorf("Put when the server is back = %v, want nil", err)
	}
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]struct{ kind, not error }{
		"ERR GONE":                          {store.ErrGone, store.ErrUnknown},
		"STALE have revision 3":             {store.ErrStaleConfig, store.ErrUnknown},
		"OOM command not allowed":           {store.ErrFull, store.ErrUnknown},
		"LOADING Redis is loading":          {store.ErrUnavailable, store.ErrUnknown},
		"READONLY You can't write":          {store.ErrUnavailable, store.ErrUnknown},
		"MISCONF Errors writing":            {store.ErrUnavailable, store.ErrUnknown},
		"MOVED 3999 127.0.0.1:6381":         {store.ErrUnavailable, store.ErrUnknown},
		"ASK 3999 127.0.0.1:6381":           {store.ErrUnavailable, store.ErrUnknown},
		"ERR max number of clients":         {store.ErrUnavailable, store.ErrUnknown},
		"ERR DB index is out of range":      {store.ErrUnavailable, store.ErrUnknown},
		"ERR unknown command 'sentinel'":    {store.ErrUnavailable, store.ErrUnknown},
		"ERR Unknown Redis command called":  {store.ErrUnknown, store.ErrUnavailable},
		"ERR user_script:1: attempt to":     {store.ErrUnknown, store.ErrUnavailable},
		"WRONGTYPE Operation against a key": {store.ErrUnknown, store.ErrUnavailable},
	} {
		err := fault(serverError(text), true)
		if !errors.Is(err, want.kind) || errors.Is(err, want.not) {
			t.Errorf("fault(%q) = %v, want %v", text, err, want.kind)
		}
	}
	if err := fault(serverError("ERR user_script:1: attempt to"), false); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("fault of a script that failed while reading = %v, want %v", err, store.ErrCorrupt)
	}
	if err := fault(redis.ErrClosed, true); !errors.Is(err, store.ErrClosed) {
		t.Errorf("fault of a closed client = %v, want %v", err, store.ErrClosed)
	}
}

// serverError is an error that a server answers.
type serverError string

func (e serverError) Error() string { return string(e) }

// RedisError implements [redis.Error].
func (e serverError) RedisError() {}

// A server without room refuses what takes more, and lets through what makes room.
func TestFull(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	s := open(t, Options{URL: own.url})
	ctx := t.Context()
	revision, err := s.Put(ctx, "k", []byte("one"), 0)
	if err != nil {
		t.Fatal(err)
	}
	l, q := store.LogID(1), store.QueueID(1)
	record := store.AppendParams{Log: l, Revision: 1, Parts: []store.AppendPart{{Records: []store.LogRecord{{Payload: []byte("a"), Size: 1}}}}}
	send := store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}}
	claim := store.ClaimParams{Queue: q, Revision: 1, Max: 1, MaxBytes: 1, Visibility: time.Hour}
	must := func(call string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s = %v, want nil", call, err)
		}
	}
	must("ConfigureLog", s.ConfigureLog(ctx, l, store.LogSettings{Revision: 1, Partitions: 1, RetentionAge: time.Hour}))
	must("Configure", s.Configure(ctx, q, store.Settings{Revision: 1}))
	for range 2 {
		_, err = s.Append(ctx, record)
		must("Append", err)
		_, err = s.Send(ctx, send)
		must("Send", err)
	}
	got, err := s.Claim(ctx, claim)
	must("Claim", err)

	own.set(t, "maxmemory", "1mb")
	full := func(call string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("%s without room = %v, want %v", call, err, store.ErrFull)
		}
	}
	_, err = s.Put(ctx, "new", []byte("x"), 0)
	full("Put of a new key", err)
	_, err = s.Put(ctx, "fence", nil, store.AnyRevision) // or no queue could be deleted to make room
	must("Put at any revision without room", err)
	_, err = s.Append(ctx, record)
	full("Append", err)
	_, err = s.Send(ctx, send)
	full("Send", err)

	other, err := Open(ctx, Options{URL: own.url, Prefix: "other:"})
	full("Open of a place where nothing is", err)
	if err == nil {
		must("Close", other.Close())
	}
	other, err = Open(ctx, Options{URL: own.url}) // or nobody could empty it whose processes have ended
	must("Open without room", err)
	if err == nil {
		must("Close", other.Close())
	}

	must("Configure of a queue that is there without room", s.Configure(ctx, q, store.Settings{Revision: 2}))
	send.Revision, claim.Revision = 2, 2
	last, err := s.Claim(ctx, claim) // or the queue could not be emptied
	must("Claim without room", err)
	if len(last.Messages) != 1 {
		t.Errorf("Claim without room: got %d messages, want 1", len(last.Messages))
	}
	_, err = s.Put(ctx, "k", []byte("two"), revision)
	must("Put at a known revision without room", err)
	must("Delete without room", s.Delete(ctx, "k", store.AnyRevision))
	settled, err := s.Settle(ctx, store.SettleParams{Queue: q, Revision: 2, Items: []store.SettleItem{{Seq: 1, Token: got.Token, Target: store.Done}}})
	must("Settle without room", err)
	if err == nil && settled.Outcomes[0] != store.Settled {
		t.Errorf("Settle without room: outcome %d, want %d", settled.Outcomes[0], store.Settled)
	}
	_, err = s.Trim(ctx, l, 0, 1)
	must("Trim without room", err)
	_, err = s.SweepLog(ctx, l)
	must("SweepLog without room", err)
	_, err = s.Sweep(ctx, q)
	must("Sweep without room", err)
	_, err = s.Stats(ctx, q)
	must("Stats without room", err)
	_, err = s.Purge(ctx, q, store.Selection{})
	must("Purge without room", err)
	must("Drop without room", s.Drop(ctx, q))
	must("DropLog without room", s.DropLog(ctx, l))

	own.set(t, "maxmemory", "0")
	_, err = s.Put(ctx, "new", []byte("x"), 0)
	must("Put when there is room again", err)
}
