package integration

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestSpoiledQueueHidesNoOther has something else write to the keys of one queue.
func TestSpoiledQueueHidesNoOther(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	admin := redistest.Client(t, redis.URL)
	srv := startOn(t, redis)
	c := srv.client()
	c.create("bad", "")
	c.create("good", "")
	c.send("bad", "x")
	keys, err := admin.Keys(t.Context(), "dabba:*:s").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys of streams: got %q, %v, want one", keys, err)
	}
	counters, index := strings.TrimSuffix(keys[0], "s")+"c", strings.TrimSuffix(keys[0], "s")+"a"

	// An index is replaced for a moment: one send may fail, then the queue is as it was.
	admin.Set(t.Context(), index, "x", 0)
	failed := c.post("/v1/queues/bad/messages", `{"body":"y"}`)
	admin.Del(t.Context(), index)
	if failed.status != http.StatusServiceUnavailable || !strings.Contains(string(failed.body), "unknown") {
		t.Errorf("send while an index is a string: got %d %s, want 503 with the outcome unknown", failed.status, failed.body)
	}
	c.send("bad", "z")
	if got := c.receive("bad", `{"max":10}`); len(got) != 2 {
		t.Errorf("after that there are %d messages, want 2", len(got))
	}

	// All counters are replaced: the queue itself fails, no other one does.
	aside := counters + "aside"
	admin.Rename(t.Context(), counters, aside)
	admin.Set(t.Context(), counters, "x", 0)
	var list struct {
		Queues []struct {
			Name, Uncounted string
		}
	}
	c.get("/v1/queues").want(http.StatusOK).into(&list)
	if len(list.Queues) != 2 || list.Queues[0].Uncounted == "" || list.Queues[1].Uncounted != "" {
		t.Errorf("the list has %+v, want bad, uncounted, and good", list.Queues)
	}
	one := c.get("/v1/queues/bad")
	if one.status != http.StatusServiceUnavailable || strings.Contains(string(one.body), "fsck") {
		t.Errorf("GET of the spoiled queue: got %d %s, want 503 and no advice to run fsck", one.status, one.body)
	}
	if text := string(c.get("/metrics").want(http.StatusOK).body); !strings.Contains(text, `dabba_queue_messages{queue="good"`) {
		t.Error("the other queue is missing in /metrics")
	}
	other := startOn(t, redis).client()
	other.send("good", "x")
	admin.Del(t.Context(), counters)
	admin.Rename(t.Context(), aside, counters)
	c.send("bad", "last")
}
