package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestDeletedLeavesNothing has queues and topics come and go through two processes, each of which uses them.
func TestDeletedLeavesNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	admin := redistest.Client(t, redis.URL)
	a, b := startOn(t, redis).client(), startOn(t, redis).client()
	cycle := func(i int) {
		t.Helper()
		q, topic := fmt.Sprintf("/v1/queues/gone%d", i), fmt.Sprintf("/v1/topics/gone%d", i)
		a.put(q, "").want(http.StatusCreated)
		a.put(topic, "").want(http.StatusCreated)
		a.put(q+"/schedules/s", `{"cron":"@every 1h","message":{"body":"x"}}`).want(http.StatusCreated)
		a.post(q+"/messages", `{"body":"x"}`).want(http.StatusOK)
		b.post(q+"/receive", "").want(http.StatusOK)
		b.post(topic+"/records", `{"records":[{"value":"x"}]}`).want(http.StatusOK)
		a.get(topic + "/partitions/0/records?offset=0").want(http.StatusOK)
		b.put(topic+"/offsets/r", `{"offsets":{"0":1}}`).want(http.StatusOK)
		a.do(http.MethodDelete, q+"?force=true", "").want(http.StatusNoContent)
		a.do(http.MethodDelete, topic, "").want(http.StatusNoContent)
	}
	// left are the keys that stay, and those among them that expire within an hour.
	left := func() (stay int, expire int) {
		t.Helper()
		keys, err := admin.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			switch ttl := admin.TTL(t.Context(), key).Val(); {
			case ttl < 0:
				stay++
			case ttl <= time.Hour:
				expire++
			}
		}
		return stay, expire
	}
	cycle(0)
	before, _ := left()
	const cycles = 60
	for i := range cycles {
		cycle(i)
	}
	stay, expire := left()
	if stay > before || expire > 2*cycles+2 {
		t.Errorf("after %d queues and topics %d keys stay, %d before, and %d expire", cycles, stay, before, expire)
	}
	if n := admin.HLen(t.Context(), "dabba:{kv}v").Val(); n > 10 {
		t.Errorf("the catalog has %d entries, want a few", n)
	}
	for name, c := range map[string]*client{"first": a, "second": b} {
		eventually(t, "the metrics of the "+name+" node to forget what is gone", func() bool {
			return !strings.Contains(string(c.get("/metrics").want(http.StatusOK).body), "gone")
		})
	}
}

// TestFullRedisLetsGo deletes, purges, acks and trims when Redis has no room for more.
func TestFullRedisLetsGo(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	admin := redistest.Client(t, redis.URL)
	c := startOn(t, redis, "--sqs-relaxed").client()
	for _, name := range []string{"deleted", "forced", "purged", "acked"} {
		c.create(name, "")
	}
	for _, name := range []string{"forced", "purged", "acked"} {
		c.send(name, strings.Repeat("x", 1000))
	}
	c.put("/v1/topics/t", "").want(http.StatusCreated)
	c.post("/v1/topics/t/records", `{"records":[{"value":"x"},{"value":"y"}]}`).want(http.StatusOK)
	c.put("/v1/topics/t/offsets/r", `{"offsets":{"0":1}}`).want(http.StatusOK)
	got := c.receive("acked", "")
	if err := admin.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	c.post("/v1/queues/acked/messages", `{"body":"x"}`).want(http.StatusInsufficientStorage)
	c.settle("acked", "ack", `{"receipts":`+receipts(got)+`}`)
	c.post("/v1/queues/purged/purge", "").want(http.StatusOK)
	c.do(http.MethodDelete, "/v1/queues/purged", "").want(http.StatusNoContent)
	c.do(http.MethodDelete, "/v1/queues/deleted", "").want(http.StatusNoContent)
	c.do(http.MethodDelete, "/v1/queues/forced?force=true", "").want(http.StatusNoContent)
	c.do(http.MethodDelete, "/v1/topics/t/partitions/0/records?before=1", "").want(http.StatusOK)
	c.do(http.MethodDelete, "/v1/topics/t", "").want(http.StatusNoContent)
	c.get("/v1/queues/forced").refused(http.StatusNotFound, "not_found")
}
