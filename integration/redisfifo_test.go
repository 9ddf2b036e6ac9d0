package integration

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// fifoBook is what is known of the groups of a FIFO queue that several nodes serve.
type fifoBook struct {
	t *testing.T

	mu sync.Mutex
	// done is the last number of each group that was acked, maybe the last one that may have been.
	done, maybe map[string]int
	// until is when the lease ends that a consumer has in a group; zero when none has.
	until map[string]time.Time
	got   int
}

// take notes one receive.
func (f *fifoBook) take(messages []message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := make(map[string]int)
	for i := range messages {
		m := &messages[i]
		n, err := strconv.Atoi(string(m.content()))
		if err != nil {
			f.t.Errorf("group %s has %q", m.Group, m.content())
			continue
		}
		before, more := last[m.Group]
		switch {
		case more && n != before+1:
			f.t.Errorf("group %s gave %d after %d", m.Group, n, before)
		case !more && f.until[m.Group].After(time.Now()):
			f.t.Errorf("group %s is given to two at once", m.Group)
		case !more && (n <= f.done[m.Group] || n > max(f.done[m.Group], f.maybe[m.Group])+1):
			f.t.Errorf("group %s gave %d, after %d were acked and %d perhaps", m.Group, n, f.done[m.Group], f.maybe[m.Group])
		case !more:
			f.done[m.Group] = n - 1 // all before it are gone
		}
		last[m.Group] = n
		f.until[m.Group] = m.Lease.ExpiresAt
		f.got++
	}
}

// settling notes that an ack of these is sent: from then on it may have happened.
func (f *fifoBook) settling(messages []message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		n, _ := strconv.Atoi(string(m.content()))
		f.until[m.Group] = time.Time{}
		f.maybe[m.Group] = max(f.maybe[m.Group], n)
	}
}

// settled notes that an ack of these was answered.
func (f *fifoBook) settled(messages []message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		n, _ := strconv.Atoi(string(m.content()))
		f.done[m.Group] = max(f.done[m.Group], n)
	}
}

func (f *fifoBook) taken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}

// TestFIFOOverTwoNodes lets two nodes take and give the messages of one FIFO queue, kills one of them, and compares what
// came with what the senders were told.
func TestFIFOOverTwoNodes(t *testing.T) {
	t.Parallel()
	const groups, each = 8, 60
	redis := redistest.Start(t)
	nodes := []*server{startOn(t, redis), startOn(t, redis)}
	clients := []*client{nodes[0].client(), nodes[1].client()}
	clients[0].create("q.fifo", `{"fifo":true,"visibility":"5s"}`)
	book := &fifoBook{t: t, done: map[string]int{}, maybe: map[string]int{}, until: map[string]time.Time{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	var senders, consumers sync.WaitGroup
	for g := range groups {
		senders.Go(func() {
			for n := 1; n <= each; n++ {
				body := fmt.Sprintf(`{"body":"%d","group":"g%d","dedup_id":"%d-%d"}`, n, g, g, n)
				for try := n + g; ; try++ { // with a deduplication id it may be repeated anywhere
					a, err := clients[try%2].try(ctx, http.MethodPost, "/v1/queues/q.fifo/messages", body)
					if err == nil && a.status == http.StatusOK {
						break
					}
					if ctx.Err() != nil || err == nil && a.status != http.StatusServiceUnavailable {
						t.Errorf("send %s: %v, %v", body, a, err)
						return
					}
				}
			}
		})
	}
	for i := range 6 {
		consumers.Go(func() {
			c := clients[i%2]
			for ctx.Err() == nil {
				a, err := c.try(ctx, http.MethodPost, "/v1/queues/q.fifo/receive?max=5&wait=1s", "")
				if err != nil {
					c = clients[0] // the other one was killed
					continue
				}
				if a.status != http.StatusOK {
					t.Errorf("receive: %d %s", a.status, a.body)
					return
				}
				var got received
				a.into(&got)
				if len(got.Messages) == 0 {
					continue
				}
				book.take(got.Messages)
				book.settling(got.Messages)
				a, err = c.try(ctx, http.MethodPost, "/v1/queues/q.fifo/ack", `{"receipts":`+receipts(got.Messages)+`}`)
				if err == nil && a.status == http.StatusOK {
					book.settled(got.Messages)
				}
			}
		})
	}
	eventually(t, "a third of the messages to be taken", func() bool { return book.taken() > groups*each/3 })
	nodes[1].kill()
	senders.Wait()
	eventually(t, "all to be done", func() bool { return clients[0].counts("q.fifo") == counts{} })
	stop()
	consumers.Wait()
	for g := range groups {
		name := fmt.Sprintf("g%d", g)
		if got := max(book.done[name], book.maybe[name]); got != each {
			t.Errorf("group %s was done up to %d, want %d", name, got, each)
		}
	}
	t.Logf("%d deliveries of %d messages", book.got, groups*each)
}
