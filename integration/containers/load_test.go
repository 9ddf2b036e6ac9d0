package containers

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"
)

// load is clients that send to one queue over several nodes until they are told to end. A send that was not answered well
// is repeated, at the next node, with the same idempotency key.
type load struct {
	t      *testing.T
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu   sync.Mutex
	sent map[string]bool
	last time.Time     // of the last answer that was good
	gap  time.Duration // the longest time without one
}

// onAll is what sends ask for that have to be on all replicas that keep up.
const onAll = "?acks=all"

// begin starts to send.
func begin(t *testing.T, queue string, senders int, clients []*client, acks string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, cancel: cancel, sent: make(map[string]bool), last: time.Now()}
	t.Cleanup(func() { l.end() })
	for i := range senders {
		l.all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.send(ctx, "/v1/queues/"+queue+"/messages"+acks, fmt.Sprintf("%s-%d-%d", queue, i, n), clients, i+n)
			}
		})
	}
	return l
}

// send sends one message until an answer says that it is there, or all ends.
func (l *load) send(ctx context.Context, path, body string, clients []*client, at int) {
	for ctx.Err() == nil {
		c := clients[at%len(clients)].with("Idempotency-Key", body)
		at++
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		a, err := c.try(bounded, http.MethodPost, path, `{"body":"`+body+`"}`)
		cancel()
		switch {
		case err != nil: // it was cut off, or nobody is there
		case a.status == http.StatusOK:
			l.confirm(body)
			return
		case a.status != http.StatusServiceUnavailable && a.status != http.StatusConflict:
			l.t.Errorf("%s answered %d %s", a.request, a.status, a.body)
			return
		}
	}
}

func (l *load) confirm(body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.gap = max(l.gap, now.Sub(l.last))
	l.last = now
	l.sent[body] = true
}

// count is how many sends were answered well.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// longest is the longest time in which no send was answered well.
func (l *load) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gap
}

// end stops sending, and returns what was answered well.
func (l *load) end() map[string]bool {
	l.cancel()
	l.all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.sent)
}

// drain receives and acks all that a queue has. Each of sent has to come, and nothing may come again once its ack was
// answered. What else comes was sent, but not answered.
func drain(t *testing.T, c *client, queue string, sent map[string]bool) {
	t.Helper()
	came := make(map[string]bool)
	for {
		got := c.receive(queue, `{"max":100,"wait":"500ms"}`)
		if len(got) == 0 {
			break
		}
		for _, m := range got {
			if came[m.Body] {
				t.Errorf("%s came again, after it was acked", m.Body)
			}
			came[m.Body] = true
		}
		c.ack(queue, got)
	}
	var lost []string
	for body := range sent {
		if !came[body] {
			lost = append(lost, body)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%d of %d messages that were acknowledged are lost: %.2000q", len(lost), len(sent), lost)
	}
}
