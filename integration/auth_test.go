package integration

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tokenSecret signs the tokens of tests.
const tokenSecret = "0123456789abcdef0123456789abcdef"

// TestAuth starts a server with keys and comes with tokens of dabba token: good ones, narrow ones, those of another
// tenant, expired and foreign ones.
func TestAuth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, otherKey := filepath.Join(dir, "key"), filepath.Join(dir, "otherkey")
	writeFile(t, key, tokenSecret+"\n")
	writeFile(t, otherKey, "fedcba9876543210fedcba9876543210"+"\n")
	srv := start(t, filepath.Join(dir, "data"), "--auth-keys", key)
	as := func(args ...string) *client {
		return srv.client().with("Authorization", "Bearer "+issue(t, append([]string{"--key", key}, args...)...))
	}

	admin := as("--scope", "admin:*:*")
	admin.create("orders", "")
	admin.create("mails", "")
	sender, receiver := as("--scope", "queues:send:ord*"), as("--scope", "queues:receive:orders queues:read:*", "--sub", "worker-7")

	// Each scope allows what it says and nothing else; the refusal names what is missing.
	sender.send("orders", "hello")
	if p := sender.post("/v1/queues/mails/messages", `{"body":"x"}`).refused(http.StatusForbidden, "forbidden"); !strings.Contains(p.Detail, "queues:send:mails") {
		t.Errorf("the refusal says %q, want it to name the scope queues:send:mails", p.Detail)
	}
	sender.post("/v1/queues/orders/receive", "").refused(http.StatusForbidden, "forbidden")
	got := receiver.receive("orders", "")
	if len(got) != 1 || string(got[0].content()) != "hello" {
		t.Fatalf("the receiver got %+v", got)
	}
	sender.post("/v1/queues/orders/ack", `{"receipts":`+receipts(got)+`}`).refused(http.StatusForbidden, "forbidden")
	receiver.settle("orders", "ack", `{"receipts":`+receipts(got)+`}`)
	receiver.put("/v1/queues/orders", "").refused(http.StatusForbidden, "forbidden")
	receiver.get("/metrics").refused(http.StatusForbidden, "forbidden")
	var who struct {
		Tenant, Subject string
		Scopes          []string
	}
	receiver.get("/v1/whoami").want(http.StatusOK).into(&who)
	if who.Subject != "worker-7" || who.Tenant != "default" || len(who.Scopes) != 2 {
		t.Errorf("whoami = %+v", who)
	}

	// Another tenant has a namespace of its own, with queues of the same names.
	theirs := as("--scope", "admin:*:*", "--tenant", "globex")
	theirs.get("/v1/queues/orders").refused(http.StatusNotFound, "not_found")
	theirs.create("orders", "")
	theirs.send("orders", "theirs")
	if got := admin.counts("orders"); got != (counts{}) {
		t.Errorf("counts of the first tenant's queue = %+v after the other one sent to its own", got)
	}
	sender.send("orders", "ours")
	got = receiver.receive("orders", `{"max":10}`)
	if len(got) != 1 || string(got[0].content()) != "ours" {
		t.Errorf("the first tenant got %+v", got)
	}
	// Its receipts are worth nothing to the other one.
	result := theirs.post("/v1/queues/orders/ack", `{"receipts":`+receipts(got)+`}`).want(http.StatusOK)
	if !strings.Contains(string(result.body), "receipt_invalid") {
		t.Errorf("another tenant's ack was answered %s", result.body)
	}
	// Keys of requests are apart, too.
	for _, c := range []*client{admin, theirs} {
		var s sent
		c.with("Idempotency-Key", "same").post("/v1/queues/orders/messages", `{"body":"x"}`).want(http.StatusOK).into(&s)
		if s.Duplicate {
			t.Error("an idempotency key counted across tenants")
		}
	}

	// No token, and tokens that are worth nothing.
	bad := map[string]string{
		"foreign":   "Bearer " + issue(t, "--key", otherKey, "--scope", "admin:*:*"),
		"cut short": "Bearer " + issue(t, "--key", key, "--scope", "admin:*:*")[:60],
		"unsigned":  "Bearer eyJhbGciOiJub25lIn0.eyJzY29wZSI6ImFkbWluOio6KiIsImV4cCI6NDEwMjQ0NDgwMH0.",
		"nonsense":  "Bearer x",
		"basic":     "Basic dXNlcjpwYXNz",
	}
	for name, header := range bad {
		a := srv.client().with("Authorization", header).get("/v1/queues")
		a.refused(http.StatusUnauthorized, "unauthenticated")
		if got := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
			t.Errorf("%s token: WWW-Authenticate = %q", name, got)
		}
	}
	srv.client().get("/v1/queues").refused(http.StatusUnauthorized, "unauthenticated")
	for _, open := range []string{"/", "/docs", "/openapi.json", "/healthz", "/readyz"} {
		srv.client().get(open).want(http.StatusOK)
	}

	// A token that expires is refused from then on.
	brief := as("--scope", "admin:*:*", "--ttl", "1s")
	eventually(t, "the token to expire", func() bool { return brief.get("/v1/queues").status != http.StatusOK })
	if p := brief.get("/v1/queues").refused(http.StatusUnauthorized, "unauthenticated"); !strings.Contains(p.Detail, "expired") {
		t.Errorf("an expired token is refused with %q", p.Detail)
	}
	if strings.Contains(srv.log.String(), tokenSecret) {
		t.Error("the log has the key")
	}
}

// TestTokensAndTenantsOutliveARestart: tokens are checked with the key alone, and tenants are kept with the data.
func TestTokensAndTenantsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, data := filepath.Join(dir, "key"), filepath.Join(dir, "data")
	writeFile(t, key, tokenSecret)
	token := issue(t, "--key", key, "--scope", "queues:*:*", "--tenant", "globex")
	srv := start(t, data, "--auth-keys", key)
	c := srv.client().with("Authorization", "Bearer "+token)
	c.create("q", "")
	c.send("q", "x")
	srv.kill()
	c = start(t, data, "--auth-keys", key).client().with("Authorization", "Bearer "+token)
	if got := c.receive("q", ""); len(got) != 1 {
		t.Errorf("after a restart the tenant has %d messages, want 1", len(got))
	}
}

// issue runs dabba token.
func issue(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(dabba, append([]string{"token"}, args...)...)
	cmd.Env = environment()
	begun := time.Now()
	token, err := cmd.Output()
	if err != nil {
		t.Fatalf("dabba token %v: %v after %v", args, err, time.Since(begun))
	}
	return strings.TrimSpace(string(token))
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
