package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// DefaultTenant is the namespace of a token without a tenant claim, and of everyone while no keys are configured.
const DefaultTenant = "default"

// Principal is who a request comes from. The zero Principal is nobody: it has no tenant and may do nothing.
type Principal struct {
	// Tenant is the namespace whose queues and topics it sees; all others do not exist for it.
	Tenant string
	// Subject is the token's "sub" or the id of the access key, for logs and for telling idempotency keys of different
	// users apart.
	Subject string
	// Expires is when its token ends; zero for never.
	Expires time.Time

	scopes scopes
	all    bool
}

// Anonymous is the principal of every request while no keys are configured: tenant "default", everything allowed.
func Anonymous() Principal {
	return Principal{Tenant: DefaultTenant, Subject: "anonymous", all: true}
}

// Allows says whether the principal may perform the action on the named resource. The resources and their actions:
//
//	queues  send, receive (with ack, nack, extend and release), read, manage
//	topics  produce, consume, read, manage
//
// Whoever has the scope admin:*:* may do everything within the tenant.
func (p Principal) Allows(resource, action, name string) bool {
	return p.all || p.scopes.allow(resource, action, name)
}

// Require is [Principal.Allows] as an error: nil, or an [*Error] with status 403 that names the missing scope.
func (p Principal) Require(resource, action, name string) error {
	if p.Allows(resource, action, name) {
		return nil
	}
	missing := resource + ":" + action + ":" + name
	return &Error{
		Status: http.StatusForbidden,
		Code:   "forbidden",
		Detail: fmt.Sprintf("This needs the scope %s, which your token or access key does not have.", missing),
		Scope:  missing,
	}
}

// Scopes are the principal's scopes as its token spells them; "admin:*:*" while no keys are configured.
func (p Principal) Scopes() []string {
	if p.all && len(p.scopes) == 0 {
		return []string{everything}
	}
	list := make([]string, len(p.scopes))
	for i, s := range p.scopes {
		list[i] = s.String()
	}
	return list
}

type contextKey struct{}

// With returns a context that carries the principal.
func With(ctx context.Context, p Principal) context.Context {
	return with(ctx, &p)
}

// with shares a principal that nobody changes, so that a request does not copy it to the heap.
func with(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the principal that [Middleware] found. A context without one gives the zero Principal, which may do
// nothing: a route that was left outside the middleware is closed, not open.
func From(ctx context.Context) Principal {
	if p, ok := ctx.Value(contextKey{}).(*Principal); ok {
		return *p
	}
	return Principal{}
}
