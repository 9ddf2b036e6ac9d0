package containers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// book is what is known of the groups of a FIFO queue.
type book struct {
	t *testing.T

	mu sync.Mutex
	// done is the last number of each group that was acked, maybe the last one that may have been.
	done, maybe map[string]int
	// until is when the lease ends that a consumer has in a group; zero when none has.
	until map[string]time.Time
	taken int
}

// take notes one receive.
func (b *book) take(messages []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := make(map[string]int)
	for _, m := range messages {
		n, err := strconv.Atoi(m.Body)
		if err != nil {
			b.t.Errorf("group %s has %q", m.Group, m.Body)
			continue
		}
		before, more := last[m.Group]
		switch {
		case more && n != before+1:
			b.t.Errorf("group %s gave %d after %d", m.Group, n, before)
		case !more && b.until[m.Group].After(time.Now()):
			b.t.Errorf("group %s is given to two at once", m.Group)
		case !more && (n <= b.done[m.Group] || n > max(b.done[m.Group], b.maybe[m.Group])+1):
			b.t.Errorf("group %s gave %d, after %d were acked and %d perhaps", m.Group, n, b.done[m.Group], b.maybe[m.Group])
		case !more:
			b.done[m.Group] = n - 1 // all before it are gone
		}
		last[m.Group] = n
		b.until[m.Group] = m.Lease.ExpiresAt
		b.taken++
	}
}

// settle notes an ack before it is sent, when it may have happened, and once it was answered.
func (b *book) settle(messages []message, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		n, _ := strconv.Atoi(m.Body)
		b.until[m.Group] = time.Time{}
		b.maybe[m.Group] = max(b.maybe[m.Group], n)
		if answered {
			b.done[m.Group] = max(b.done[m.Group], n)
		}
	}
}

func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}

// TestFIFOWhileANodeIsKilled sends to and receives from a FIFO queue over two nodes and kills one of them: no group is out
// of order, or given to two.
func TestFIFOWhileANodeIsKilled(t *testing.T) {
	t.Parallel()
	const groups, each, consumers = 6, 40, 4
	nodes, clients := pair(t, where.fleet(t, single))
	clients[0].create("q.fifo", `{"fifo":true,"visibility":"5s"}`)
	kept := &book{t: t, done: map[string]int{}, maybe: map[string]int{}, until: map[string]time.Time{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var sending, receiving sync.WaitGroup
	for g := range groups {
		sending.Go(func() {
			for n := 1; n <= each; n++ {
				body := fmt.Sprintf(`{"body":"%d","group":"g%d","dedup_id":"%d-%d"}`, n, g, g, n)
				for try := n + g; ctx.Err() == nil; try++ { // with a deduplication id it may be repeated anywhere
					a, err := clients[try%2].try(ctx, http.MethodPost, "/v1/queues/q.fifo/messages", body)
					if err == nil && a.status == http.StatusOK {
						break
					}
				}
			}
		})
	}
	for i := range consumers {
		receiving.Go(func() {
			for at := i; ctx.Err() == nil; {
				c := clients[at%2]
				a, err := c.try(ctx, http.MethodPost, "/v1/queues/q.fifo/receive?max=5&wait=1s", "")
				if err != nil || a.status != http.StatusOK {
					at++ // this one was killed
					continue
				}
				var got received
				if a.into(&got); len(got.Messages) == 0 {
					continue
				}
				kept.take(got.Messages)
				kept.settle(got.Messages, false)
				a, err = c.try(ctx, http.MethodPost, "/v1/queues/q.fifo/ack", `{"receipts":`+receipts(got.Messages)+`}`)
				if err == nil && a.status == http.StatusOK {
					kept.settle(got.Messages, true)
				}
			}
		})
	}
	eventually(t, "a third of the messages to be taken", func() bool { return kept.count() > groups*each/3 })
	nodes[1].kill(t)
	sending.Wait()
	eventually(t, "all to be done", func() bool { return clients[0].counts("q.fifo") == counts{} })
	stop()
	receiving.Wait()
	for g := range groups {
		name := fmt.Sprintf("g%d", g)
		if got := max(kept.done[name], kept.maybe[name]); got != each {
			t.Errorf("group %s was done up to %d, want %d", name, got, each)
		}
	}
	note(t, "%d deliveries of %d messages", kept.taken, groups*each)
}
