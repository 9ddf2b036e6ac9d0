package handlers

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/browser"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/handlers/middleware"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/handlers/sqs"
	"github.com/dabba-mq/dabba/memlimit"
)

// Config is what the HTTP surface is made of.
type Config struct {
	Engine  *engine.Engine
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Verifier checks tokens; nil means that no keys are configured and everyone may do everything.
	Verifier *auth.Verifier
	// AccessKeys are those of clients that sign their requests; nil for none. A Config with some has a Verifier, too.
	AccessKeys *auth.AccessKeys
	// Address and AdminAddress are what the servers of [New] and [NewAdmin] listen on; the zero value stands for the loopback
	// address.
	Address, AdminAddress netip.AddrPort
	// AllowOrigins are the origins of web pages that may call, AllowHosts further names of the server: see [browser.Settings].
	AllowOrigins, AllowHosts []string
	// SQS are the choices that concern the SQS wire alone.
	SQS sqs.Settings
	// Readiness is shared with [Shutdown].
	Readiness *rest.Readiness
	// Memory is what all requests may take together, which the connections of [NewServer] share; nil for [memlimit.Usual].
	Memory *memlimit.Budget
	// Version is shown by /v1/info.
	Version string
	// Advance moves the clock of a development server and says what it shows then; nil on all others.
	Advance func(time.Duration) time.Time
	// Step sets the wall clock of a development server and says what it shows then; nil on all others.
	Step func(time.Duration) time.Time
	// Now is the clock that signatures are checked by; nil means the machine's.
	Now func() time.Time
	// SeparateAdmin says that [NewAdmin] is served elsewhere, so that the public address has no /metrics.
	SeparateAdmin bool
}

// surface is a router in the making, and then the handler.
type surface struct {
	http.Handler
	router  *chi.Mux
	api     *rest.API
	sqs     *sqs.API
	auth    func(http.Handler) http.Handler
	count   *metrics.Metrics
	scrapes http.Handler
	// native has the first segments of the paths that are not of the SQS wire.
	native map[string]bool
}

// address says which one a surface is for: that of clients, or that of whoever runs the server, which asks for no keys.
type address bool

const (
	public address = false
	admin  address = true
)

// newSurface has no routes yet. On the public address clients of SQS are answered in their own protocol at all paths.
func newSurface(c Config, at address) *surface {
	if c.Memory == nil {
		c.Memory = memlimit.New(memlimit.Usual)
	}
	s := &surface{router: chi.NewRouter(), count: c.Metrics, scrapes: c.Metrics.Handler(), native: make(map[string]bool)}
	x := &exchange.Exchange{
		Budget: c.Memory,
		Log:    c.Log,
		Now:    time.Now,
	}
	api := rest.Config{
		Engine:    c.Engine,
		Log:       c.Log,
		Exchange:  x,
		Readiness: c.Readiness,
		Version:   c.Version,
		Failovers: failoversOf(c.Metrics),
		Now:       time.Now,
		Advance:   c.Advance,
		Step:      c.Step,
		Clock:     clockOf(c.Metrics, c.Engine),
	}
	if c.Verifier != nil {
		api.Principal = func(r *http.Request) auth.Principal { return auth.From(r.Context()) }
	}
	s.api = rest.New(api)
	guarded := browser.Settings{
		Address:     c.Address,
		PublicURL:   c.SQS.PublicURL,
		Origins:     c.AllowOrigins,
		Hosts:       c.AllowHosts,
		Keyless:     c.Verifier == nil,
		Page:        isPage,
		Foreign:     s.refusal(browser.ErrForeign, at),
		Misdirected: s.refusal(browser.ErrMisdirected, at),
	}
	if at == admin {
		guarded.Address, guarded.Keyless = c.AdminAddress, true
	}
	guard := browser.New(guarded)
	s.sqs = sqs.New(sqs.Config{
		Engine:     c.Engine,
		Log:        c.Log,
		Exchange:   x,
		Now:        c.now(),
		Verifier:   c.Verifier,
		AccessKeys: c.AccessKeys,
		Hidden:     guard.Hidden,
		Settings:   c.SQS,
	})
	s.auth = func(next http.Handler) http.Handler { return next }
	if c.Verifier != nil {
		s.auth = auth.Middleware(c.Verifier, s.api.Refuse)
	}
	var notFound, notAllowed http.Handler = s.api.Handle(s.api.NotFound), s.api.MethodNotAllowed(s.allowed)
	observer := middleware.Observer{Log: c.Log, IDs: middleware.NewIDs(rand.Reader), Now: time.Now}
	h := http.Handler(s.router)
	if at == public {
		notFound, notAllowed = s.unrouted(notFound), s.unrouted(notAllowed)
		observer.Failed = s.failed
		h = s.routed()
	}
	s.router.NotFound(s.counted("", "unknown", notFound))
	s.router.MethodNotAllowed(s.counted("", "unknown", notAllowed))
	s.Handler = observer.Wrap(guard.Wrap(h))
	return s
}

// routed is the router, but for clients of SQS that name their operation in a header: they get no answer of the native API
// at any path.
func (s *surface) routed() http.Handler {
	misled := s.counted("", "unknown", s.sqs.Misled(s.router))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sqs.Targets(r) && s.isNative(r.URL.Path) {
			misled.ServeHTTP(w, r)
			return
		}
		s.router.ServeHTTP(w, r)
	})
}

// unrouted is native, for requests that no route takes, and the SQS wire for its clients among them.
func (s *surface) unrouted(native http.Handler) http.Handler {
	misled, elsewhere := s.sqs.Misled(native), s.sqs.Elsewhere(native)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isNative(r.URL.Path) {
			misled.ServeHTTP(w, r)
			return
		}
		elsewhere.ServeHTTP(w, r)
	})
}

// failed answers a client of SQS whose request made its handler panic; false for all others.
func (s *surface) failed(w http.ResponseWriter, r *http.Request) bool {
	if !sqs.Speaks(r) && (r.Method != http.MethodPost || s.isNative(r.URL.Path)) {
		return false
	}
	s.sqs.Failed(w, r)
	return true
}

// isNative says whether a path is not of the SQS wire, going by its first segment.
func (s *surface) isNative(path string) bool { return s.native[firstSegment(path)] }

func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
	return first
}

// refusal answers an error before a request is routed: to each client in its own protocol.
func (s *surface) refusal(err *engine.Error, at address) http.Handler {
	return s.counted("", "unknown", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at == public && (sqs.Speaks(r) || r.Method == http.MethodPost && !s.isNative(r.URL.Path)) {
			s.sqs.Refuse(w, r, err)
			return
		}
		s.api.Refuse(w, r, err)
	}))
}

// isPage says whether a GET is for a page that any site may have a link to: it shows nothing of what is stored.
func isPage(r *http.Request) bool {
	path := r.URL.RawPath // what the router goes by, if it is there
	if path == "" {
		path = r.URL.Path
	}
	switch path {
	case "/", "/docs", "/guide", "/console", "/openapi.json":
	default:
		if !strings.HasPrefix(path, "/docs/") && !strings.HasPrefix(path, "/guide/") && !strings.HasPrefix(path, "/console/") {
			return false
		}
	}
	return !sqs.Speaks(r)
}

// clockOf shows what was noticed of the wall clock.
func clockOf(m *metrics.Metrics, e *engine.Engine) func() *rest.ClockInfo {
	return func() *rest.ClockInfo {
		now, seen := e.Clock(), m.Clock()
		shown := rest.ClockInfo{Now: rest.Time(now.Wall), Steps: seen.Steps}
		if seen.Steps > 0 {
			shown.LastStep = &rest.ClockStep{At: rest.Time(seen.LastAt), By: rest.Duration(seen.LastBy)}
		}
		if g := seen.Gap; g != nil {
			shown.Gap = &rest.ClockGap{Counted: rest.Duration(g.Counted), Wall: rest.Duration(g.Wall), Measured: g.Measured}
		}
		if now.Protected > 0 {
			shown.ProtectedUntil = rest.Time(now.Wall.Add(now.Protected))
		}
		return &shown
	}
}

// now is the clock that signatures are checked by.
func (c *Config) now() func() time.Time {
	if c.Now != nil {
		return c.Now
	}
	return time.Now
}

// failoversOf shows what was counted of the store's failovers.
func failoversOf(m *metrics.Metrics) func() *rest.Failovers {
	return func() *rest.Failovers {
		f, can := m.Failovers()
		if !can {
			return nil
		}
		shown := rest.Failovers{Count: f.Count, LastAt: rest.Time(f.LastAt), Partial: f.Partial, Lost: rest.Lost{
			Send: f.Lost.Sends, Receive: f.Lost.Receives, Settle: f.Lost.Settles,
			Append: f.Lost.Appends, Catalog: f.Lost.Catalog, Other: f.Lost.Others,
		}}
		return &shown
	}
}

// Routes are those of [New], for looking at, not for serving.
func Routes(c Config) chi.Routes { return routes(c).router }

// open adds a route that needs no token. What can be got can be asked for its headers alone: net/http leaves out the body.
func (s *surface) open(method, path string, h http.Handler) {
	if first := firstSegment(path); first != "" && first[0] != '{' {
		s.native[first] = true
	}
	s.router.Method(method, path, s.counted(method, path, h))
	if method == http.MethodGet {
		s.router.Method(http.MethodHead, path, s.counted(http.MethodHead, path, h))
	}
}

// orSQS is a page for people at a path where clients of SQS ask, too.
func (s *surface) orSQS(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sqs.Asks(r) {
			s.sqs.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// call adds an operation that knows who calls.
func (s *surface) call(method, path string, op rest.Operation) {
	s.open(method, path, s.auth(s.api.Handle(op)))
}

func (s *surface) counted(method, path string, h http.Handler) http.HandlerFunc {
	return s.count.Route(method, path, h).ServeHTTP
}

// allowed lists the methods that a path takes.
func (s *surface) allowed(path string) []string {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete}
	return slices.DeleteFunc(methods, func(method string) bool {
		return !s.router.Match(chi.NewRouteContext(), method, path)
	})
}

// metrics answers a scrape on the public address. It shows the queues of all tenants.
func (s *surface) metrics(w http.ResponseWriter, r *http.Request) error {
	if err := s.api.RequireAdmin(r); err != nil {
		return err
	}
	s.scrapes.ServeHTTP(w, r)
	return nil
}
