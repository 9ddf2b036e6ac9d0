package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// startOn starts a server whose messages are in Redis.
func startOn(t *testing.T, redis *redistest.Server, args ...string) *server {
	t.Helper()
	return start(t, filepath.Join(t.TempDir(), "unused"), append([]string{"--store", redis.URL + "/0", "--log-level", "warn"}, args...)...)
}

// pair starts two servers on one Redis.
func pair(t *testing.T) (a, b *server) {
	t.Helper()
	redis := redistest.Start(t)
	return startOn(t, redis), startOn(t, redis)
}

// poll sends a receive that waits, and returns once it does.
func poll(t *testing.T, c *client, queue, wait string) <-chan *answer {
	t.Helper()
	got := make(chan *answer, 1)
	before := c.gauge("dabba_waiting_receives")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	go func() {
		a, err := c.try(ctx, http.MethodPost, "/v1/queues/"+queue+"/receive?wait="+wait, "")
		if err != nil {
			t.Errorf("a receive that waits: %v", err)
		}
		got <- a
	}()
	eventually(t, "the receive to wait", func() bool { return c.gauge("dabba_waiting_receives") > before })
	return got
}

// bodies waits for the answer of a receive.
func bodies(t *testing.T, got <-chan *answer) []string {
	t.Helper()
	a := <-got
	if a == nil {
		t.FailNow()
	}
	var r received
	a.want(http.StatusOK).into(&r)
	var all []string
	for i := range r.Messages {
		all = append(all, string(r.Messages[i].content()))
	}
	return all
}

// of is the client for a part of its test.
func (c *client) of(t *testing.T) *client {
	part := *c
	part.t = t
	return &part
}

// atOnce says how long something took, and that this was about at once: the bound is for machines that are busy.
func atOnce(t *testing.T, what string, begun time.Time) {
	t.Helper()
	took := time.Since(begun)
	t.Logf("%s took %v", what, took.Round(100*time.Microsecond))
	if took > 3*time.Second {
		t.Errorf("%s took %v, want it at once", what, took)
	}
}

func TestNodesShareQueues(t *testing.T) {
	t.Parallel()
	first, second := pair(t)
	a, b := first.client(), second.client()
	var info struct {
		Store, Promise string
		Durable        bool
	}
	a.get("/v1/info").want(http.StatusOK).into(&info)
	if info.Store != "redis" || !strings.Contains(info.Promise, "everysec") || !info.Durable {
		t.Errorf("/v1/info says %+v, want redis, durable, with what appendfsync everysec promises", info)
	}

	t.Run("a send wakes a poll of the other node", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("wake", "")
		for range 3 {
			got := poll(t, b, "wake", "50s")
			begun := time.Now()
			a.send("wake", "x")
			if all := bodies(t, got); len(all) != 1 || all[0] != "x" {
				t.Fatalf("the receive got %q, want x", all)
			}
			atOnce(t, "waking a receive of the other node", begun)
		}
	})
	t.Run("the end of a delay wakes a poll of the other node", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("later", "")
		got := poll(t, b, "later", "50s")
		begun := time.Now()
		a.post("/v1/queues/later/messages", `{"body":"x","delay":"500ms"}`).want(http.StatusOK)
		if all := bodies(t, got); len(all) != 1 {
			t.Fatalf("the receive got %q, want x", all)
		}
		atOnce(t, "a delay of 0.5 s", begun)
	})
	t.Run("what one node gave, the other one settles", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("settle", "")
		a.send("settle", "x")
		got := a.receive("settle", "")
		b.settle("settle", "extend", `{"receipts":`+receipts(got)+`,"visibility":"1h"}`)
		b.settle("settle", "ack", `{"receipts":`+receipts(got)+`}`)
		if left := a.counts("settle"); left != (counts{}) {
			t.Errorf("after the ack there are %+v", left)
		}
	})
	t.Run("changes are seen at once", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("seen", `{"visibility":"30s"}`)
		b.get("/v1/queues/seen").want(http.StatusOK)
		a.do(http.MethodPatch, "/v1/queues/seen", `{"visibility":"5m","max_message_bytes":2000000}`).want(http.StatusOK)
		var q struct{ Visibility string }
		shown := b.get("/v1/queues/seen").want(http.StatusOK)
		shown.into(&q)
		if q.Visibility != "5m" && q.Visibility != "5m0s" && !strings.Contains(string(shown.body), `"5m"`) {
			t.Errorf("the other node shows %s, want a visibility of 5m", shown.body)
		}
		b.send("seen", strings.Repeat("x", 1_500_000))
		a.post("/v1/queues/seen/pause", `{"consume":true}`).want(http.StatusOK)
		if got := b.receive("seen", ""); len(got) != 0 {
			t.Errorf("the other node gives %d messages of a queue that is paused", len(got))
		}
		a.post("/v1/queues/seen/resume", "").want(http.StatusOK)
		if got := b.receive("seen", ""); len(got) != 1 {
			t.Errorf("the other node gives %d messages after a resume, want 1", len(got))
		}
		gone := poll(t, b, "wake", "50s")
		begun := time.Now()
		a.do(http.MethodDelete, "/v1/queues/wake?force=true", "").want(http.StatusNoContent)
		(<-gone).refused(http.StatusNotFound, "not_found")
		atOnce(t, "telling a receive of the other node that its queue was deleted", begun)
		b.get("/v1/queues/wake").refused(http.StatusNotFound, "not_found")
	})
}

// TestNodeGoesOnWithARedrive kills the node that was asked for a redrive.
func TestNodeGoesOnWithARedrive(t *testing.T) {
	t.Parallel()
	const messages = 600
	first, second := pair(t)
	a, b := first.client(), second.client()
	a.create("dead", "")
	a.create("work", "")
	var many []string
	for i := range messages {
		many = append(many, fmt.Sprintf(`{"body":"%d"}`, i))
	}
	a.post("/v1/queues/dead/messages", `{"messages":[`+strings.Join(many, ",")+`]}`).want(http.StatusOK)
	var started struct{ Task task }
	a.post("/v1/queues/dead/redrive", `{"to":"work","rate":60}`).want(http.StatusAccepted).into(&started)
	eventually(t, "the redrive to be under way", func() bool { return b.counts("work").Ready > 20 })
	first.kill()
	begun, moved := time.Now(), b.counts("work").Ready
	eventually(t, "the other node to go on", func() bool { return b.counts("work").Ready > moved+20 })
	t.Logf("the other node went on %v after the kill", time.Since(begun).Round(time.Millisecond))
	var now task
	eventually(t, "the redrive to end", func() bool {
		b.get("/v1/tasks/" + started.Task.ID).want(http.StatusOK).into(&now)
		return now.State != "running"
	})
	if got := b.counts("work").Ready; now.State != "done" || got != messages {
		t.Errorf("the redrive is %s and work has %d messages, want it done and %d", now.State, got, messages)
	}
}

// TestRedisAway stops and kills the Redis that a server uses.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--appendfsync", "always")
	srv := startOn(t, redis)
	c := srv.client()
	c.create("q", "")
	c.create("waited", "")
	c.send("q", "before")

	// away checks what calls answer while it is away, and that none takes longer than a second.
	away := func(t *testing.T) {
		t.Helper()
		c := c.of(t)
		eventually(t, "the server not to be ready", func() bool { return c.get("/readyz").status == http.StatusServiceUnavailable })
		for range 3 {
			for _, path := range []string{"/messages", "/receive", "/ack"} {
				body := map[string]string{"/messages": `{"body":"lost"}`, "/ack": `{"receipts":["r"]}`}[path]
				begun := time.Now()
				got := c.post("/v1/queues/q"+path, body)
				if path == "/ack" && got.status == http.StatusOK {
					continue // a receipt that is none needs no store
				}
				p := got.refused(http.StatusServiceUnavailable, "unavailable")
				if p.Outcome != "not_applied" || got.header.Get("Retry-After") == "" {
					t.Errorf("%s answered outcome %q and Retry-After %q", path, p.Outcome, got.header.Get("Retry-After"))
				}
				if took := time.Since(begun); took > time.Second && !raceEnabled {
					t.Errorf("%s took %v while Redis is away, want at most a second", path, took)
				}
			}
		}
	}
	back := func(t *testing.T) {
		t.Helper()
		c, begun := c.of(t), time.Now()
		eventually(t, "the server to be ready again", func() bool { return c.get("/readyz").status == http.StatusOK })
		t.Logf("ready again after %v", time.Since(begun).Round(time.Millisecond))
	}
	waits := poll(t, c, "waited", "50s")

	t.Run("stopped", func(t *testing.T) {
		redis.Freeze(t)
		away(t)
		redis.Thaw(t)
		back(t)
		c.send("q", "between")
	})
	t.Run("killed", func(t *testing.T) {
		redis.Kill()
		away(t)
		redis.Restart(t)
		back(t)
		c.send("q", "after")
	})
	// The receive that has waited through both.
	c.send("waited", "x")
	if all := bodies(t, waits); len(all) != 1 || all[0] != "x" {
		t.Errorf("the receive that waited through both got %q, want x", all)
	}
	var all []string
	for got := c.receive("q", `{"max":10}`); len(got) > 0; got = c.receive("q", `{"max":10}`) {
		for i := range got {
			all = append(all, string(got[i].content()))
		}
	}
	if want := "before between after"; strings.Join(all, " ") != want {
		t.Errorf("there are %q, want %q", all, want)
	}
}

func TestRedisIsRefused(t *testing.T) {
	t.Parallel()
	evicts := redistest.Start(t, "--maxmemory-policy", "allkeys-lru", "--requirepass", "secret")
	withPassword := strings.Replace(evicts.URL, "redis://", "redis://:secret@", 1)
	for name, tt := range map[string]struct {
		code        int
		store, says string
	}{
		"evicts":      {1, withPassword, "noeviction"},
		"no password": {1, evicts.URL, "password"},
		"not there":   {1, "redis://u:secret@127.0.0.1:1/0", "is Redis there"},
		"no address":  {2, "redis://u:sec/ret@127.0.0.1:1", "%2F"},
		"no scheme":   {2, "redys://u:secret@127.0.0.1:1", "--store is"},
	} {
		said := refused(t, tt.code, "serve", "--addr", "127.0.0.1:0", "--store", tt.store)
		if !strings.Contains(said, tt.says) || strings.Contains(said, "secret") || strings.Contains(said, "sec/ret") {
			t.Errorf("%s: the server said %q, want it to speak of %q and not to repeat the password", name, said, tt.says)
		}
	}
}
