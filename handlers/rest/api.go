package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// Config is what the API needs. All of it is required but Principal and Failovers.
type Config struct {
	Engine *engine.Engine
	Log    *slog.Logger
	// Exchange is shared with the other wire.
	Exchange *exchange.Exchange
	// Readiness is red while the server is stopping.
	Readiness *Readiness
	// Version is shown by info.
	Version string
	// Failovers are shown by info; nil, or a function that returns nil, for a store that cannot fail over.
	Failovers func() *Failovers
	// Now is the clock of deadlines.
	Now func() time.Time
	// Advance moves the clock of a development server and says what it shows then; nil on all others.
	Advance func(time.Duration) time.Time
	// Step sets the wall clock of a development server and says what it shows then; nil on all others.
	Step func(time.Duration) time.Time
	// Clock is what info shows of the machine's clock; nil shows nothing.
	Clock func() *ClockInfo
	// Principal says who a request comes from; nil means that no keys are configured and everyone may do everything.
	Principal func(*http.Request) auth.Principal
}

// API is the set of handlers. All its methods are safe for concurrent use.
type API struct {
	engine    *engine.Engine
	log       *slog.Logger
	exchange  *exchange.Exchange
	readiness *Readiness
	version   string
	failovers func() *Failovers
	now       func() time.Time
	advance   func(time.Duration) time.Time
	step      func(time.Duration) time.Time
	clock     func() *ClockInfo
	principal func(*http.Request) auth.Principal
}

// New returns the API.
func New(c Config) *API {
	if c.Principal == nil {
		anonymous := auth.Anonymous()
		c.Principal = func(*http.Request) auth.Principal { return anonymous }
	}
	return &API{
		engine:    c.Engine,
		log:       c.Log,
		exchange:  c.Exchange,
		readiness: c.Readiness,
		version:   c.Version,
		failovers: c.Failovers,
		now:       c.Now,
		advance:   c.Advance,
		step:      c.Step,
		clock:     c.Clock,
		principal: c.Principal,
	}
}

// Operation is one handler. An error it returns is answered as a problem, and nothing of an answer may have been
// written by then.
type Operation func(w http.ResponseWriter, r *http.Request) error

// Handle makes an operation an http.HandlerFunc: the one place where errors become answers.
func (a *API) Handle(op Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r, done := a.exchange.Begin(r)
		defer done()
		err := op(w, r)
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
			w.WriteHeader(exchange.ClientGone)
		default:
			a.Refuse(w, r, err)
		}
	}
}

// queue is the queue in the path of a request whose sender may perform the action on it.
func (a *API) queue(r *http.Request, action string) (engine.Ref, error) {
	name := pathValue(r, "q")
	p := a.principal(r)
	if err := p.Require("queues", action, name); err != nil {
		return engine.Ref{}, err
	}
	return engine.Ref{Tenant: p.Tenant, Name: name}, nil
}

// pathValue is a segment of the path, decoded. One that does not decode is left as it is, to be refused as a name.
func pathValue(r *http.Request, name string) string {
	v := r.PathValue(name)
	if r.URL.RawPath == "" { // then the router has looked at the decoded path
		return v
	}
	if decoded, err := url.PathUnescape(v); err == nil {
		return decoded
	}
	return v
}

// RequireAdmin is nil if the caller may look at what belongs to all tenants. An administrator of one tenant may not; the
// default tenant is that of whoever runs the server.
func (a *API) RequireAdmin(r *http.Request) error {
	p := a.principal(r)
	if p.Tenant != auth.DefaultTenant {
		return &auth.Error{
			Status: http.StatusForbidden,
			Code:   "forbidden",
			Detail: "This shows the queues of all tenants: it needs a token of the default tenant.",
			Scope:  "admin:*:*",
		}
	}
	return p.Require("admin", "*", "*")
}
