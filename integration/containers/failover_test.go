package containers

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestSentinelMasterIsKilled and TestClusterMasterIsKilled kill a master while clients send. Nothing that all replicas had
// to confirm is lost, sends go on when a replica has taken over, and the nodes tell of it.
func TestSentinelMasterIsKilled(t *testing.T) {
	t.Parallel()
	masterIsKilled(t, sentinel, 1, 4)
}

func TestClusterMasterIsKilled(t *testing.T) {
	t.Parallel()
	masterIsKilled(t, cluster, 12, 1) // some of which are on each master
}

func masterIsKilled(t *testing.T, o order, queues, senders int) {
	t.Helper()
	on := where.fleet(t, o)
	_, clients := pair(t, on)
	var loads []*load
	for i := range queues {
		name := fmt.Sprintf("q%d", i)
		clients[0].create(name, "")
		loads = append(loads, begin(t, name, senders, clients[:], onAll))
	}
	clients[0].create("waited", "")
	more := func(what string, n int) {
		t.Helper()
		for _, l := range loads {
			from := l.count()
			eventually(t, what, func() bool { return l.count() > from+n })
		}
	}
	more("sends to be under way", 10)
	waits := clients[1].poll("waited")

	on.master().kill(t)
	begun := time.Now()
	more("sends to go on", 10)
	t.Logf("sends to all queues went on within %v", time.Since(begun).Round(time.Millisecond))
	for i, c := range clients {
		eventually(t, "the failover to be told", func() bool {
			var info struct {
				Failovers *struct{ Count int }
			}
			c.get("/v1/info").want(http.StatusOK).into(&info)
			return info.Failovers != nil && info.Failovers.Count > 0
		})
		if n := c.gauge("dabba_store_failovers_total"); n < 1 {
			t.Errorf("node %d: dabba_store_failovers_total is %v, want at least 1", i, n)
		}
	}
	clients[0].send("waited", "x")
	polled(t, waits, "x")
	total, longest := 0, time.Duration(0)
	for i, l := range loads {
		sent := l.end()
		total, longest = total+len(sent), max(longest, l.longest())
		drain(t, clients[i%2], fmt.Sprintf("q%d", i), sent)
	}
	note(t, "%d sends were acknowledged by all replicas and none is lost; the longest time without one was %v", total, longest.Round(time.Millisecond))
	if longest > 20*time.Second {
		t.Errorf("sends stood still for %v, want seconds", longest)
	}
}
