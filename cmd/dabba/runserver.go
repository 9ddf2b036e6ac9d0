package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/store"
)

const (
	// graceful is how long a stop waits for requests under way.
	graceful = 20 * time.Second
	// abandoned is the same after the store failed, when nothing more can succeed.
	abandoned = 2 * time.Second
)

// storeOpener opens the store that the options name, with its clocks. When the store can write no more it calls failed, once.
type storeOpener func(ctx context.Context, o serveOptions, c *clock, log *slog.Logger, m *metrics.Metrics, failed func(error)) (store.Store, error)

// serve runs the server until the context ends (nil), or until the store or a listener fails.
func serve(ctx context.Context, p program, o serveOptions, log *slog.Logger, open storeOpener) (err error) {
	// The first error is the one to act on; what fails while stopping after it is its consequence.
	keep := func(closing error) {
		if err == nil {
			err = closing
		}
	}

	clock := newClock(o.devWallOffset)
	verifier, err := p.verifier(ctx, o, log, clock.credentials)
	if err != nil {
		return err
	}
	accessKeys, err := loadAccessKeys(o.accessKeys)
	if err != nil {
		return err
	}
	signaturesOnly := accessKeys != nil && verifier == nil
	if signaturesOnly {
		verifier = auth.NoTokens()
	}
	if accessKeys != nil {
		defer reloadOnHangup(accessKeys, log)()
	}
	public, err := listen(ctx, "--addr", o.addr)
	if err != nil {
		return err
	}
	defer public.Close()

	count := metrics.New()
	failed := make(chan error, 3) // the store and two listeners
	s, err := open(ctx, o, clock, log, count, func(err error) { failed <- err })
	if err != nil {
		return err
	}
	defer func() { keep(s.Close()) }()
	e, err := engine.Open(ctx, s, engine.Options{
		Now: clock.now, Rand: rand.Reader, Events: handlers.Audit(log, count.Events()),
		Node: nodeName(o, func() string { return rand.Text()[:8] }),
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { keep(closeEngine(ctx, e)) }()
	count.Show(e.AllQueues)

	memory := limitMemory(p.lookupEnv("GOMEMLIMIT") != "", time.Now, log)
	count.Memory(memory)
	config := handlers.Config{
		Memory:        memory,
		Engine:        e,
		Metrics:       count,
		Log:           log,
		Verifier:      verifier,
		AccessKeys:    accessKeys,
		Readiness:     new(rest.Readiness),
		Version:       version(),
		SeparateAdmin: o.adminAddr != "",
		Address:       addressOf(public),
		AllowOrigins:  o.allowOrigins,
		AllowHosts:    append(namesOf(o.addr, o.adminAddr), o.allowHosts...),
		SQS:           o.sqs.settings(o.publicURL),
		Now:           clock.credentials,
	}
	if o.dev {
		config.Advance = func(d time.Duration) time.Time {
			defer e.ClockChanged()
			return clock.advance(d)
		}
		config.Step = func(d time.Duration) time.Time {
			defer e.ClockChanged()
			return clock.set(d)
		}
		log.Warn("development server: whoever may call POST /v1/dev/clock/advance or /v1/dev/clock/step moves its clocks")
	}
	servers := servers{failed: failed}
	servers.serve(public, handlers.NewServer(handlers.New(config), log, memory))
	admin := ""
	if o.adminAddr != "" {
		l, err := listen(ctx, "--admin-addr", o.adminAddr)
		if err != nil {
			return err
		}
		config.AdminAddress = addressOf(l)
		servers.serve(l, handlers.NewServer(handlers.NewAdmin(config), log, nil))
		admin = baseURL(l)
	}
	base := baseURL(public)
	try := tryNative(o, p.command(), base, verifier != nil)
	if signaturesOnly {
		try = trySQS(o, config.SQS, base)
	}
	if _, err := io.WriteString(p.out, banner(o, base, admin, try, e.StoreInfo().Promise)); err != nil {
		log.Debug("nobody reads what is printed", slog.Any("error", err))
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.untilInputEnds {
		go func() {
			_, _ = io.Copy(io.Discard, p.in)
			stop()
		}()
	}
	patience := graceful
	select {
	case <-ctx.Done():
		log.Info("stopping: finishing the requests under way; a second signal stops at once")
	case err = <-failed:
		patience = abandoned
		log.Error("stopping: the server cannot go on", slog.Any("error", err))
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	keep(handlers.Shutdown(deadline, config.Readiness, e, servers.list...))
	return err
}

// verifier is nil when no keys are configured.
func (p program) verifier(ctx context.Context, o serveOptions, log *slog.Logger, now func() time.Time) (*auth.Verifier, error) {
	keys, err := p.loadKeys(o.authKeys)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 && o.jwksURL == "" {
		return nil, nil
	}
	return auth.New(ctx, auth.Config{
		Keys:     keys,
		JWKSURL:  o.jwksURL,
		Issuer:   o.issuer,
		Audience: o.audience,
		Now:      now,
		FetchFailed: func(err error) {
			log.Warn("fetching --jwks-url failed: tokens with new keys are refused until it succeeds", slog.Any("error", err))
		},
	})
}

func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %s is in use: stop the program that listens there, or give another %s", flag, addr, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %s is not allowed for this user: give a port above 1023", flag, addr)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", flag, addr, err)
	}
	return l, nil
}

// baseURL is how a program on this machine reaches the listener.
func baseURL(l net.Listener) string {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + l.Addr().String()
	}
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	}
	return "http://" + addr.String()
}

// addressOf is what the listener listens on; the zero value for one that is not of TCP.
func addressOf(l net.Listener) netip.AddrPort {
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		return addr.AddrPort()
	}
	return netip.AddrPort{}
}

// namesOf are the names among addresses like queues.lan:8080: whoever gave one expects to be served under it.
func namesOf(addresses ...string) []string {
	var names []string
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil || host == "" {
			continue
		}
		if _, err := netip.ParseAddr(host); err != nil {
			names = append(names, strings.ToLower(host))
		}
	}
	return names
}

// servers are the HTTP servers that run, each in a goroutine that ends with [handlers.Shutdown].
type servers struct {
	list   []*http.Server
	failed chan<- error
}

func (s *servers) serve(l net.Listener, server *http.Server) {
	s.list = append(s.list, server)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("accept connections on %s: %w", l.Addr(), err)
		}
	}()
}

func closeEngine(ctx context.Context, e *engine.Engine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	return e.Close(ctx)
}
