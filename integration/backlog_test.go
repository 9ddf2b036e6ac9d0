package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuietGroupBesideABusyOne: however many messages one group has, what another group gets is delivered within two
// receives, whether the messages of the busy one are held or were acked.
func TestQuietGroupBesideABusyOne(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ queue, config string }{
		"fair": {"work", `{"fair":true}`},
		"fifo": {"work.fifo", `{"fifo":true}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, filepath.Join(t.TempDir(), "data"), "--log-level", "warn").client()
			c.create(tt.queue, tt.config)
			c.fill(tt.queue, "busy", 100_000)
			r := random(seed(t), 0)
			for round := range 20 {
				for range r.IntN(4) { // the busy group is served meanwhile, as far as its order allows
					if got := c.receive(tt.queue, fmt.Sprintf(`{"max":%d}`, 1+r.IntN(20))); len(got) > 0 && r.IntN(2) == 0 {
						c.settle(tt.queue, "ack", `{"receipts":`+receipts(got)+`}`)
					}
				}
				c.sendTo(tt.queue, "quiet", fmt.Sprint("quiet ", round))
				claims := 0
				for quiet := false; !quiet; {
					if claims++; claims > 2 {
						t.Fatalf("round %d: two receives did not give the quiet group's message", round)
					}
					for _, m := range c.receive(tt.queue, `{"max":1}`) {
						if quiet = m.Group == "quiet"; quiet {
							if got, want := string(m.content()), fmt.Sprint("quiet ", round); got != want {
								t.Fatalf("the quiet group's message is %q, want %q", got, want)
							}
						}
						if quiet || r.IntN(2) == 0 {
							c.settle(tt.queue, "ack", `{"receipts":`+receipts([]message{m})+`}`)
						}
					}
				}
			}
		})
	}
}

// TestReceiveBesideALockedGroup: many messages behind the one that locks their group keep nobody from those of others.
func TestReceiveBesideALockedGroup(t *testing.T) {
	t.Parallel()
	const backlog, queue = 200_000, "work.fifo"
	c := start(t, filepath.Join(t.TempDir(), "data"), "--log-level", "warn").client()
	c.create(queue, `{"fifo":true,"visibility":"1h"}`)
	c.fill(queue, "locked", backlog)
	head := c.receive(queue, `{"max":1}`)
	if len(head) != 1 || head[0].Sequence != 1 {
		t.Fatalf("the first receive got %+v, want the first message", head)
	}
	for i := range 20 {
		body := fmt.Sprint("other ", i)
		c.sendTo(queue, "other", body)
		got := c.receive(queue, `{"max":10}`)
		if len(got) != 1 || got[0].Group != "other" || string(got[0].content()) != body {
			t.Fatalf("beside the locked group a receive got %+v, want %q alone", got, body)
		}
		c.settle(queue, "ack", `{"receipts":`+receipts(got)+`}`)
	}
	if got := c.receive(queue, `{"max":10}`); len(got) > 0 {
		t.Fatalf("with only the locked group left a receive got %+v, want nothing", got)
	}
	if got, want := c.counts(queue), backlog-1; got.Leased != 1 || got.Ready != int64(want) {
		t.Errorf("counts = %+v, want 1 leased and %d ready", got, want)
	}
	c.settle(queue, "ack", `{"receipts":`+receipts(head)+`}`)
	if got := c.receive(queue, `{"max":10}`); len(got) != 10 || got[0].Sequence != 2 || got[9].Sequence != 11 {
		t.Errorf("once its head was acked, the group gave %d messages, want those that follow", len(got))
	}
}

// fill sends n small messages to a group.
func (c *client) fill(queue, group string, n int) {
	c.t.Helper()
	const batch = 1000
	body := `{"messages":[` + strings.TrimSuffix(strings.Repeat(`{"body":"x","group":`+quote(group)+`},`, batch), ",") + `]}`
	bare := &client{t: c.t, base: c.base, http: plain} // to compare so much with the document takes longer than to send it
	for range n / batch {
		bare.post("/v1/queues/"+queue+"/messages", body).want(http.StatusOK)
	}
	if got := c.counts(queue); got.Ready != int64(n) {
		c.t.Fatalf("counts = %+v, want %d ready", got, n)
	}
}

// sendTo sends one text to a group.
func (c *client) sendTo(queue, group, body string) {
	c.t.Helper()
	c.post("/v1/queues/"+queue+"/messages", `{"group":`+quote(group)+`,"body":`+quote(body)+`}`).want(http.StatusOK)
}
