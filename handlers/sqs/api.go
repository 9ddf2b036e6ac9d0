package sqs

import (
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// The account and the region of a server that is not told others.
const (
	DefaultAccount = "000000000000"
	DefaultRegion  = "us-east-1"
)

var (
	account = regexp.MustCompile(`^[0-9]{12}$`)
	region  = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
)

// IsAccount says whether s can be an account: 12 digits.
func IsAccount(s string) bool { return account.MatchString(s) }

// IsRegion says whether s can be a region: lower-case letters, digits and hyphens, at most 32. It becomes a part of namespaces.
func IsRegion(s string) bool { return region.MatchString(s) }

// Config is what the wire needs. Engine, Log, Exchange and Now are required.
type Config struct {
	Engine   *engine.Engine
	Log      *slog.Logger
	Exchange *exchange.Exchange
	// Now is the clock that signatures are held against.
	Now func() time.Time
	// Verifier checks bearer tokens, AccessKeys has the secrets that requests are signed with. With both nil everyone may
	// do everything.
	Verifier   *auth.Verifier
	AccessKeys *auth.AccessKeys
	// Hidden says that a GET could be what a web page made a browser send although nothing in it shows that: it then runs no
	// operation that changes or leases anything. Nil stands for never.
	Hidden func(r *http.Request) bool
	Settings
}

// Settings are what whoever runs the server may choose. The zero value is fine.
type Settings struct {
	// Account is that of queue URLs and ARNs, see [IsAccount]; Region is that of requests that name none, whose queues the
	// native API shows, see [IsRegion]. Empty means the defaults.
	Account, Region string
	// PublicURL is how clients reach the server, without a slash at its end; empty means as the request did.
	PublicURL string
	// Relaxed leaves out the 60 seconds that must pass between two purges, and before a deleted queue is made again.
	Relaxed bool
}

// API serves the wire. It is safe for concurrent use.
type API struct {
	Config
	// starting has the queues, by their [engine.Ref], of which a move task is just being started.
	starting sync.Map
}

// New returns the wire's handler.
func New(c Config) *API {
	if c.Account == "" {
		c.Account = DefaultAccount
	}
	if c.Region == "" {
		c.Region = DefaultRegion
	}
	return &API{Config: c}
}

// Asks says whether the URL of a request names an operation: so one that could also be for a person's browser, as a GET of
// "/", is for this wire.
func Asks(r *http.Request) bool { return r.URL.Query().Has("Action") }
