package containers

import (
	"net/http"
	"testing"
	"time"
)

// TestRedisIsPaused stops Redis for a while: calls are refused soon and say when to try again, and a receive that waits goes
// on to wait.
func TestRedisIsPaused(t *testing.T) {
	t.Parallel()
	on := where.fleet(t, single)
	_, clients := pair(t, on)
	a, b := clients[0], clients[1]
	a.create("q", "")
	a.create("waited", "")
	a.send("q", "before")
	waits := b.poll("waited")

	on.master().pause(t)
	for _, c := range clients {
		eventually(t, "a node not to be ready", func() bool { return c.get("/readyz").status == http.StatusServiceUnavailable })
		for _, path := range []string{"/messages", "/receive"} {
			got := c.post("/v1/queues/q"+path, map[string]string{"/messages": `{"body":"refused"}`}[path]).want(http.StatusServiceUnavailable)
			if p := got.problem(); p.Code != "unavailable" || p.Outcome != "not_applied" || got.header.Get("Retry-After") == "" {
				t.Errorf("%s answered %+v and Retry-After %q", got.request, p, got.header.Get("Retry-After"))
			}
			note(t, "while Redis is paused %s was refused after %v", got.request, got.took.Round(time.Millisecond))
			if got.took > time.Second {
				t.Errorf("%s took %v while Redis is paused, want at most a second", got.request, got.took)
			}
		}
	}
	begun := time.Now()
	on.master().unpause(t)
	for _, c := range clients {
		eventually(t, "a node to be ready again", func() bool { return c.get("/readyz").status == http.StatusOK })
	}
	note(t, "both nodes were ready again after %v", time.Since(begun).Round(time.Millisecond))
	a.send("waited", "x")
	polled(t, waits, "x")
	a.send("q", "after")
	got := b.receive("q", `{"max":10}`)
	if len(got) != 2 || got[0].Body != "before" || got[1].Body != "after" {
		t.Errorf("there are %+v, want before and after", got)
	}
}
