package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedriveOverKills lets many dead letters go back to where they came from and kills the server twice meanwhile: the
// redrive ends, each message is there once, and each group in its order.
func TestRedriveOverKills(t *testing.T) {
	t.Parallel()
	const messages, groups, batch = 5000, 10, 1000
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data, "--log-level", "warn")
	c := srv.client()
	c.create("dead.fifo", `{"fifo":true}`)
	c.create("work.fifo", `{"fifo":true,"dead_letter":{"queue":"dead.fifo"}}`)
	for first := 0; first < messages; first += batch {
		var many []string
		for i := first; i < first+batch; i++ {
			many = append(many, fmt.Sprintf(`{"body":"%d","group":"%d"}`, i, i%groups))
		}
		c.post("/v1/queues/work.fifo/messages", `{"messages":[`+strings.Join(many, ",")+`]}`).want(http.StatusOK)
	}
	for range messages / batch {
		got := c.receive("work.fifo", fmt.Sprintf(`{"max":%d}`, batch))
		c.settle("work.fifo", "nack", `{"receipts":`+receipts(got)+`,"dead":true}`)
	}
	eventually(t, "all to be dead letters", func() bool { return c.counts("dead.fifo").Ready == messages })

	var started struct{ Task task }
	c.post("/v1/queues/dead.fifo/redrive", `{"rate":2500}`).want(http.StatusAccepted).into(&started)
	follow := func(what string, so func(task) bool) (now task) {
		t.Helper()
		eventually(t, what, func() bool {
			c.get("/v1/tasks/" + started.Task.ID).want(http.StatusOK).into(&now)
			return so(now)
		})
		return now
	}
	r := random(seed(t), 0)
	for i := range 2 {
		enough := int64(i*messages/2 + r.IntN(messages/3))
		at := follow("the redrive to be under way", func(now task) bool { return now.Moved > enough })
		if at.State != "running" {
			t.Fatalf("the redrive had ended before kill %d: %+v", i+1, at)
		}
		srv.kill()
		srv = start(t, data, "--log-level", "warn")
		c = srv.client()
	}
	ended := follow("the redrive to end", func(now task) bool { return now.State != "running" })
	if ended.State != "done" || ended.Moved != messages || ended.Total != messages {
		t.Errorf("the redrive ended as %+v, want it done, with %d moved", ended, messages)
	}

	if got := c.counts("dead.fifo"); got != (counts{}) {
		t.Errorf("in dead.fifo there are %+v, want nothing", got)
	}
	next, came := map[string]int{}, 0
	for got := c.receive("work.fifo", `{"max":1000}`); len(got) > 0; got = c.receive("work.fifo", `{"max":1000}`) {
		for i := range got {
			m := &got[i]
			var n int
			if _, err := fmt.Sscan(m.Group, &n); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint(n + groups*next[m.Group]); string(m.content()) != want {
				t.Fatalf("group %s gave %s, want %s", m.Group, m.content(), want)
			}
			next[m.Group]++
			came++
		}
		c.settle("work.fifo", "ack", `{"receipts":`+receipts(got)+`}`)
	}
	if came != messages {
		t.Errorf("%d messages came back, want %d", came, messages)
	}
}
