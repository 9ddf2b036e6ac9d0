package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// node is one server of ours.
type node struct {
	name string
	srv  *server
	c    *client
	gone atomic.Bool // it is killed, or about to be
	// failovers is how many it had reported when it was last asked.
	failovers int
}

// trial is two nodes on one store and clients at work on them, while the store fails.
type trial struct {
	t       *testing.T
	r       *rand.Rand
	urls    [2]string // of the store, as each node reaches it
	book    *account
	started int
	slots   [2]atomic.Pointer[node]
	queues  []string
	next    [trialPartitions]uint64
	tags    atomic.Int64
	answers atomic.Int64
	// broken is odd while something is, and rises.
	broken atomic.Int64
	holds  struct {
		sync.Mutex
		of map[place]*groupHold
	}
	// join tells the network of a new node.
	join func(name string, pid int)
	// bold clients settle whatever they got. Others ack only what was safe before anything broke: then all else that was sent
	// is there, or lost.
	bold bool
	// limit is how long an answer may take.
	limit time.Duration
}

const (
	trialPartitions = 2
	trialTopic      = "log"
	copied          = "copied" // a queue
	trialGroups     = 4        // of each FIFO queue
	trialLease      = time.Second
)

// groupHold is what one receive got of a group.
type groupHold struct {
	ends   time.Time
	broken int64
	open   map[string]bool // receipts
}

// newTrial starts the nodes on a store and makes queues and a topic. With copies greater than 1 one of the queues wants so
// many. Join, unless it is nil, is told of each new node.
func newTrial(t *testing.T, urls [2]string, copies int, join func(name string, pid int)) *trial {
	t.Helper()
	x := &trial{t: t, r: random(seed(t), 0), urls: urls, book: newAccount(t), join: join, limit: 20 * time.Second}
	x.holds.of = make(map[place]*groupHold)
	for i := range x.slots {
		x.startNode(i)
	}
	c := x.slots[0].Load().c
	for i := range 6 {
		x.make(c, fmt.Sprintf("standard-%d", i), "")
	}
	x.make(c, "first.fifo", `,"fifo":true`)
	x.make(c, "second.fifo", `,"fifo":true`)
	if copies > 1 {
		x.make(c, copied, fmt.Sprintf(`,"acks":"all","min_insync_replicas":%d`, copies))
	}
	c.put("/v1/topics/"+trialTopic, fmt.Sprintf(`{"partitions":%d}`, trialPartitions)).want(http.StatusCreated)
	return x
}

func (x *trial) make(c *client, queue, config string) {
	c.create(queue, fmt.Sprintf(`{"visibility":"%dms"%s}`, trialLease.Milliseconds(), config))
	x.queues = append(x.queues, queue)
}

// startNode starts a node in one of the two places.
func (x *trial) startNode(i int) *node {
	x.t.Helper()
	x.started++
	name := fmt.Sprintf("node-%d", x.started)
	srv := launch(x.t, filepath.Join(x.t.TempDir(), "unused"), "--store", x.urls[i], "--log-level", "warn")
	if x.join != nil {
		x.join(name, srv.cmd.Process.Pid)
	}
	srv.await()
	n := &node{name: name, srv: srv, c: srv.client()}
	n.failovers, _ = n.reported(x.t)
	x.slots[i].Store(n)
	return n
}

// killNode kills a node like a crash.
func (x *trial) killNode(i int) {
	n := x.slots[i].Load()
	n.gone.Store(true)
	n.srv.kill()
}

// reported reads from /metrics what a node reports.
func (n *node) reported(t *testing.T) (failovers int, lost counters) {
	t.Helper()
	lost = make(counters)
	for line := range strings.Lines(string(n.c.get("/metrics").want(http.StatusOK).body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		if kind, found := strings.CutPrefix(name, `dabba_store_lost_total{kind="`); found {
			lost[strings.TrimSuffix(kind, `"}`)] = int(v)
		}
		if name == "dabba_store_failovers_total" {
			failovers = int(v)
		}
	}
	return failovers, lost
}

// verdict is what an answer says of a request.
type verdict int

const (
	happened verdict = iota
	mayHave
	hasNot
)

// call posts a request to a node.
func (x *trial) call(n *node, path, body, key string) (verdict, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), x.limit)
	defer cancel()
	c := n.c
	if key != "" {
		c = c.with("Idempotency-Key", key)
	}
	begun := time.Now()
	a, err := c.try(ctx, http.MethodPost, path, body)
	if err != nil {
		if !n.gone.Load() {
			x.t.Errorf("POST %s to %s, after %v: %v", path, n.name, time.Since(begun).Round(time.Millisecond), err)
		}
		return mayHave, nil
	}
	x.answers.Add(1)
	if a.status == http.StatusOK {
		return happened, a.body
	}
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != http.StatusServiceUnavailable {
		x.t.Errorf("POST %s to %s = %d %s, want 200 or 503", path, n.name, a.status, a.body)
		return mayHave, nil
	}
	switch p.Outcome {
	case "not_applied":
		return hasNot, nil
	case "unknown":
		return mayHave, nil
	}
	x.t.Errorf("POST %s to %s answered outcome %q: %s", path, n.name, p.Outcome, a.body)
	return mayHave, nil
}

// node is one of the two.
func (x *trial) node(r *rand.Rand) *node { return x.slots[r.IntN(len(x.slots))].Load() }

// prepare sends messages that the clients may ack, and waits until they are on all copies.
func (x *trial) prepare(whole func()) {
	x.t.Helper()
	n := x.slots[0].Load()
	for _, queue := range x.queues {
		var group func() string
		if strings.HasSuffix(queue, ".fifo") {
			group = func() string { return fmt.Sprintf("old%d", x.r.IntN(trialGroups)) }
		}
		items, body := x.batch(x.r, queue, 10, group)
		numbers := make(map[string]int)
		for _, i := range items {
			numbers[i.group]++
			i.number = numbers[i.group]
		}
		x.book.intend(items)
		said, answer := x.call(n, "/v1/queues/"+queue+"/messages", body, "")
		if said != happened {
			x.t.Fatalf("a send to %s while nothing is broken was not acknowledged", queue)
		}
		ids, duplicate := idsOf(x.t, answer)
		x.book.confirm(items, n, ids, duplicate)
	}
	whole()
	x.book.makeSafe()
}

// record is one of a topic.
type record struct {
	Offset  uint64
	Value   string
	Headers map[string]string
}

// survey compares all that the store has with the account, when nothing is under way.
func (x *trial) survey() {
	x.t.Helper()
	c := x.slots[0].Load().c
	held := make(map[string][]message)
	for _, queue := range x.queues {
		held[queue] = []message{}
		for cursor := ""; ; {
			var page struct {
				Messages []message
				Cursor   string
			}
			c.get("/v1/queues/" + queue + "/messages?limit=1000&cursor=" + cursor).want(http.StatusOK).into(&page)
			held[queue] = append(held[queue], page.Messages...)
			if cursor = page.Cursor; cursor == "" {
				break
			}
		}
	}
	x.book.settle(held)
	for p := range x.next {
		x.book.settleRecords(fmt.Sprintf("%s/%d", trialTopic, p), x.records(c, p))
	}
	x.drain()
}

// records reads on in a partition, over the holes that failovers leave.
func (x *trial) records(c *client, p int) (all []record) {
	x.t.Helper()
	for {
		a := c.get(fmt.Sprintf("/v1/topics/%s/partitions/%d/records?max=1000&offset=%d", trialTopic, p, x.next[p]))
		if a.status == http.StatusGone {
			var hole struct {
				FirstOffset uint64 `json:"first_offset"`
			}
			a.into(&hole)
			if hole.FirstOffset <= x.next[p] {
				x.t.Fatalf("reading %d of partition %d was answered with %s", x.next[p], p, a.body)
			}
			x.next[p] = hole.FirstOffset
			continue
		}
		var page struct {
			Records       []record
			NextOffset    uint64 `json:"next_offset"`
			HighWatermark uint64 `json:"high_watermark"`
		}
		a.want(http.StatusOK).into(&page)
		for i, r := range page.Records {
			if r.Offset != x.next[p]+uint64(i) {
				x.t.Errorf("partition %d gave offset %d, want %d", p, r.Offset, x.next[p]+uint64(i))
			}
		}
		all = append(all, page.Records...)
		if len(page.Records) == 0 && page.NextOffset >= page.HighWatermark {
			return all
		}
		x.next[p] = page.NextOffset
	}
}

// drain takes and acks all that is left: groups in order, each message once.
func (x *trial) drain() {
	x.t.Helper()
	n := x.slots[0].Load()
	for _, queue := range x.queues {
		last := make(map[string]int)
		for n.c.counts(queue) != (counts{}) {
			messages := n.c.receive(queue, `{"max":100,"wait":"1s","visibility":"1m"}`)
			if len(messages) == 0 {
				continue
			}
			items := x.take(queue, messages, x.broken.Load())
			if slices.Contains(items, nil) {
				x.t.FailNow()
			}
			for _, i := range items {
				if strings.HasSuffix(queue, ".fifo") && i.number <= last[i.group] {
					x.t.Errorf("group %s of %s gave number %d after %d", i.group, queue, i.number, last[i.group])
				}
				last[i.group] = i.number
			}
			if done := x.ack(n, queue, items, messages); done != len(items) {
				x.t.Fatalf("of %d messages of %s %d were acked", len(items), queue, done)
			}
			for _, i := range items {
				x.book.forget(i)
			}
		}
	}
}
