package auth

import (
	"net/http"
	"strings"
	"testing"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scope, resource, action, name string
		want                          bool
	}{
		{"queues:send:orders", "queues", "send", "orders", true},
		{"queues:send:orders", "queues", "send", "orders2", false},
		{"queues:send:orders", "queues", "send", "order", false},
		{"queues:send:orders", "queues", "send", "Orders", false},
		{"queues:send:orders", "queues", "receive", "orders", false},
		{"queues:send:orders", "topics", "send", "orders", false},
		{"queues:send:orders-*", "queues", "send", "orders-eu", true},
		{"queues:send:orders-*", "queues", "send", "orders-", true},
		{"queues:send:orders-*", "queues", "send", "orders", false},
		{"queues:send:*", "queues", "send", "anything.fifo", true},
		{"queues:send:*.fifo", "queues", "send", "a.fifo", true},
		{"queues:send:*.fifo", "queues", "send", "a.fifo.x", false},
		{"queues:send:a*b*c", "queues", "send", "abc", true},
		{"queues:send:a*b*c", "queues", "send", "axxbyybzzc", true},
		{"queues:send:a*b*c", "queues", "send", "axxc", false},
		{"queues:send:a**c", "queues", "send", "ac", true},
		{"queues:*:orders", "queues", "manage", "orders", true},
		{"queues:*:orders", "queues", "manage", "other", false},
		{"queues:send:a queues:receive:b", "queues", "receive", "b", true},
		{"queues:send:a queues:receive:b", "queues", "receive", "a", false},
		{"topics:consume:clicks/billing", "topics", "consume", "clicks/billing", true},
		{"topics:consume:clicks/*", "topics", "consume", "clicks/billing", true},
		{"topics:consume:clicks/*", "topics", "consume", "views/billing", false},
		{"admin:*:*", "queues", "manage", "x", true},
		{"admin:*:*", "admin", "compact", "x", true},
		{"admin:*:x", "queues", "manage", "x", false},
		{"*:*:*", "queues", "send", "x", false},
		{"queues:send:", "queues", "send", "", false},
		{"", "queues", "read", "x", false},
		{"queues:SEND:x", "queues", "send", "x", false},
		{"queues:send:a:b", "queues", "send", "a:b", true},
	}
	for _, tt := range tests {
		list := parseScopes(tt.scope)
		p := Principal{scopes: list, all: list.everything()}
		if got := p.Allows(tt.resource, tt.action, tt.name); got != tt.want {
			t.Errorf("scope %q: Allows(%s, %s, %s) = %v, want %v", tt.scope, tt.resource, tt.action, tt.name, got, tt.want)
		}
	}
}

func TestRequireNamesTheScope(t *testing.T) {
	t.Parallel()
	p := Principal{scopes: parseScopes("queues:read:*")}
	if err := p.Require("queues", "read", "orders"); err != nil {
		t.Errorf("Require: %v, want nil", err)
	}
	e := refusal(t, p.Require("queues", "send", "orders"))
	if e.Status != http.StatusForbidden || e.Code != "forbidden" || e.Scope != "queues:send:orders" || !strings.Contains(e.Detail, "queues:send:orders") {
		t.Errorf("Require = %+v, want a 403 that names queues:send:orders", e)
	}
	want := `Bearer realm="dabba", error="insufficient_scope", scope="queues:send:orders"`
	if got := e.Challenge(); got != want {
		t.Errorf("Challenge = %s, want %s", got, want)
	}
}

func TestNobody(t *testing.T) {
	t.Parallel()
	p := From(t.Context())
	if p.Tenant != "" || p.Allows("queues", "read", "x") || p.Allows("admin", "x", "x") {
		t.Errorf("From an empty context = %+v, want nobody", p)
	}
	if a := From(With(t.Context(), Anonymous())); a.Tenant != "default" || a.Subject != "anonymous" || !a.Allows("queues", "manage", "x") {
		t.Errorf("Anonymous = %+v, want everything allowed in tenant default", a)
	}
}

func TestMatchesStaysCheap(t *testing.T) {
	t.Parallel()
	// Exponential matchers would not come back from this.
	if matches(strings.Repeat("a*", 2000)+"b", strings.Repeat("a", 4000)) {
		t.Error("matched a name without the b that the pattern ends with")
	}
}
