package containers

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// pair starts two nodes on a fleet and returns clients of them.
func pair(t *testing.T, on fleet) (nodes [2]node, clients [2]*client) {
	t.Helper()
	for i := range nodes {
		nodes[i] = where.node(t, on)
		clients[i] = clientOf(t, nodes[i])
	}
	return nodes, clients
}

// of is the client for a part of its test.
func (c *client) of(t *testing.T) *client {
	part := *c
	part.t = t
	return &part
}

// atOnce wants something to have taken little time: the bound is for machines that are busy.
func atOnce(t *testing.T, what string, begun time.Time) {
	t.Helper()
	took := time.Since(begun)
	note(t, "%s took %v", what, took.Round(100*time.Microsecond))
	if took > 3*time.Second {
		t.Errorf("%s took %v, want it at once", what, took)
	}
}

func TestTwoNodes(t *testing.T) {
	t.Parallel()
	_, clients := pair(t, where.fleet(t, single))
	a, b := clients[0], clients[1]
	var info struct {
		Store, Promise string
		Durable        bool
	}
	a.get("/v1/info").want(http.StatusOK).into(&info)
	if info.Store != "redis" || !info.Durable || !strings.Contains(info.Promise, "everysec") {
		t.Errorf("/v1/info says %+v, want redis, durable, with what appendfsync everysec promises", info)
	}
	t.Run("jobs", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("jobs", "")
		for _, body := range []string{"one", "two", "three"} {
			a.send("jobs", body)
		}
		got := b.receive("jobs", `{"max":10}`)
		if len(got) != 3 || got[0].Body != "one" || got[2].Body != "three" {
			t.Fatalf("the other node gives %+v, want one, two and three", got)
		}
		if left := a.counts("jobs"); left != (counts{Leased: 3}) {
			t.Errorf("while they are leased there are %+v", left)
		}
		a.ack("jobs", got[:2])
		b.ack("jobs", got[2:])
		if left := b.counts("jobs"); left != (counts{}) {
			t.Errorf("after acks on both nodes there are %+v", left)
		}
	})
	t.Run("wake", func(t *testing.T) {
		a, b := a.of(t), b.of(t)
		a.create("wake", "")
		for range 3 {
			got := b.poll("wake")
			begun := time.Now()
			a.send("wake", "x")
			polled(t, got, "x")
			atOnce(t, "waking a receive of the other node", begun)
		}
	})
}

// TestNodeIsStopped sends to two nodes and stops one of them in good order: what was acknowledged is there, and its receives
// that wait are answered.
func TestNodeIsStopped(t *testing.T) {
	t.Parallel()
	nodes, clients := pair(t, where.fleet(t, single))
	a, b := clients[0], clients[1]
	a.create("q", "")
	a.create("empty", "")
	b.send("q", "leased")
	leased := a.receive("q", "")
	waits := a.poll("empty")
	load := begin(t, "q", 4, clients[:], "")
	eventually(t, "sends to be under way", func() bool { return load.count() > 100 })
	begun := time.Now()
	if code := nodes[0].stop(t); code != 0 {
		t.Errorf("the node ended with %d, want 0", code)
	}
	note(t, "the node ended after %v", time.Since(begun).Round(time.Millisecond))
	if got := <-waits; got == nil || string(got.want(http.StatusOK).body) != `{"messages":[]}`+"\n" {
		t.Errorf("a receive that waited got %v, want an empty answer", got)
	}
	before := load.count()
	eventually(t, "sends to go on at the other node", func() bool { return load.count() > before+100 })
	sent := load.end()
	b.ack("q", leased)
	drain(t, b, "q", sent)
	note(t, "%d messages were sent over both, and all of them received", len(sent))
}
