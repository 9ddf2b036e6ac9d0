package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestRedisIsFlushed takes everything out of the Redis of two nodes while it runs. Both notice within seconds, count what they
// know to be lost, say of every queue that it is gone, and work on.
func TestRedisIsFlushed(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	nodes := []*server{startOn(t, redis), startOn(t, redis)}
	a, b := nodes[0].client(), nodes[1].client()
	a.create("lunch", "")
	a.create("empty", "")
	a.put("/v1/topics/menu", `{"partitions":1}`).want(http.StatusCreated)
	a.put("/v1/queues/lunch/schedules/noon", `{"cron":"0 12 * * *","message":{"body":"noon"}}`).want(http.StatusCreated)
	a.send("lunch", "dosa")
	a.send("lunch", "thali")
	b.send("lunch", "chai")
	b.post("/v1/topics/menu/records", `{"records":[{"value":"idli"}]}`).want(http.StatusOK)
	held := a.receive("lunch", "")
	waiting := poll(t, b, "empty", "50s")

	begun := time.Now()
	if err := redistest.Client(t, redis.URL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	type info struct {
		Failovers struct {
			Count   int
			Partial bool
			Lost    struct{ Send, Receive, Append, Catalog int }
		}
	}
	infos := make([]info, len(nodes))
	for i, want := range []struct{ sends, receives, appends int }{{2, 1, 0}, {1, 0, 1}} {
		c := nodes[i].client()
		eventually(t, "a node to count what is lost", func() bool {
			c.get("/v1/info").want(http.StatusOK).into(&infos[i])
			return infos[i].Failovers.Lost.Send > 0
		})
		f := infos[i].Failovers
		if f.Count != 1 || f.Partial || f.Lost.Send != want.sends || f.Lost.Receive != want.receives || f.Lost.Append != want.appends {
			t.Errorf("node %d says %+v, want one failover with %+v", i, f, want)
		}
		if !strings.Contains(nodes[i].log.String(), "Redis was emptied") {
			t.Errorf("node %d does not say in its log that records were gone", i)
		}
	}
	atOnce(t, "noticing it", begun)
	(<-waiting).refused(http.StatusNotFound, "not_found")
	t.Logf("a receive that waited was told after %v", time.Since(begun).Round(time.Millisecond))

	for _, c := range []*client{a, b} {
		c.get("/v1/queues/lunch").refused(http.StatusNotFound, "not_found")
		c.post("/v1/queues/lunch/messages", `{"body":"dosa"}`).refused(http.StatusNotFound, "not_found")
		c.get("/v1/topics/menu").refused(http.StatusNotFound, "not_found")
		c.get("/readyz").want(http.StatusOK)
	}
	third := startOn(t, redis).client()
	agree(t, a, b, third)
	b.create("lunch", "")
	if got := a.get("/v1/queues/lunch/schedules").want(http.StatusOK); strings.Contains(string(got.body), "noon") {
		t.Errorf("the queue that was made again has the schedule of the one before: %s", got.body)
	}
	if got := a.post("/v1/queues/lunch/ack", `{"receipts":`+receipts(held)+`}`); strings.Contains(string(got.body), `"ok":true`) {
		t.Errorf("a receipt of before the flush: %s", got.body)
	}
	a.send("lunch", "again")
	got := b.receive("lunch", "")
	if len(got) != 1 {
		t.Fatalf("the other node gives %d messages, want the one that was sent since", len(got))
	}
	third.settle("lunch", "ack", `{"receipts":`+receipts(got)+`}`)
	if left := a.counts("lunch"); left != (counts{}) {
		t.Errorf("after the ack there are %+v", left)
	}
}

// agree waits until nodes read each other's receipts. One that started before the others had brought back their secret has made one,
// which they take with their next sign of life.
func agree(t *testing.T, a, b, c *client) {
	t.Helper()
	a.create("agreed", "")
	eventually(t, "the nodes to agree on receipts", func() bool {
		a.send("agreed", "m")
		ok := true
		for _, m := range []*client{a, b, c} {
			for _, n := range []*client{b, c} {
				got := m.receive("agreed", "")
				if len(got) == 0 {
					return false
				}
				ok = ok && strings.Contains(string(n.post("/v1/queues/agreed/ack", `{"receipts":`+receipts(got)+`}`).body), `"ok":true`)
				a.send("agreed", "m")
			}
		}
		return ok
	})
}
