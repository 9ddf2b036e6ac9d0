package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The queues of the mixed load, in the order in which messages go through them: what dies in the first ones is moved on
// by redrives.
var mixedQueues = []struct{ name, config string }{
	{orders, `{"fifo":true,"visibility":"500ms","dead_letter":{"queue":"dead.fifo"},"retry":{"base":"50ms","cap":"200ms","max_receives":5}}`},
	{tenants, `{"fair":true,"visibility":"500ms","dead_letter":{"queue":"dead"},"retry":{"base":"50ms","cap":"200ms"}}`},
	{later, `{"delay":"50ms","visibility":"500ms","dead_letter":{"queue":"dead"},"retry":{"base":"50ms","cap":"200ms"}}`},
	{"dead.fifo", `{"fifo":true,"visibility":"500ms"}`},
	{"dead", `{"visibility":"500ms"}`},
	{"again.fifo", `{"fifo":true,"visibility":"500ms"}`},
	{"again", `{"visibility":"500ms"}`},
}

const (
	orders  = "orders.fifo"
	tenants = "tenants"
	later   = "later"

	mixedVisibility = 500 * time.Millisecond
)

// TestKillUnderMixedLoad kills the server like [TestKillUnderLoad], while clients work on a FIFO queue with
// deduplication, a fair queue and one with delays, and dead letters are redriven. Beside what the ledger always demands,
// the order in each group is kept, no group has two holders, no deduplication id becomes two messages, nothing comes
// before its delay has ended, and redrives go on.
func TestKillUnderMixedLoad(t *testing.T) {
	t.Parallel()
	k := newKiller(t)
	m := &mixed{groups: newGroups(t)}
	c := k.srv.client()
	for _, q := range mixedQueues {
		c.create(q.name, q.config)
	}
	k.torment(m.clients, m.survey, m.drain)
	t.Logf("%d pairs of holders of a group and %d chances to overtake; %d redrives were under way at a kill",
		m.groups.compared, m.groups.overtakeable, m.underWay)
	k.book.tally.requireAll(t)
	if m.groups.compared == 0 || m.groups.overtakeable == 0 || m.underWay == 0 {
		t.Error("this run says nothing about one of them")
	}
}

// mixed is the knowledge that the clients of the mixed load share beside the ledger.
type mixed struct {
	groups   *groups
	underWay int // redrives that a kill interrupted
}

func (m *mixed) clients(l *load) []work {
	var clients []work
	for i := range 3 {
		compose := m.sender(l, i)
		clients = append(clients, func(ctx context.Context, r *rand.Rand) error { return l.sendNew(ctx, r, compose) })
	}
	consume := func(ctx context.Context, r *rand.Rand) error { return m.consumeOne(ctx, l, r) }
	for range 5 {
		clients = append(clients, consume)
	}
	return append(clients, l.redriveOne)
}

// sender makes up requests. It has groups of its own in the FIFO queue, so that their order is that of its messages.
func (m *mixed) sender(l *load, sender int) func(r *rand.Rand) *request {
	return func(r *rand.Rand) *request {
		queue := []string{orders, tenants, later, "dead"}[r.IntN(4)] // the last so that redrives always have something to do
		req := &request{path: "/v1/queues/" + queue + "/messages", contentType: "application/json"}
		req.dedup = queue == orders || r.IntN(2) == 0
		if !req.dedup && r.IntN(2) == 0 {
			req.key = fmt.Sprintf("k%d", l.tags.Add(1))
		}
		next := func() (*entry, []byte, string) {
			e, content := l.newEntry(r)
			more := ""
			switch queue {
			case orders:
				e.group = fmt.Sprintf("%d-%d", sender, r.IntN(3))
			case tenants:
				e.group = fmt.Sprint(r.IntN(5))
			case later:
				more = e.putOff(r)
			}
			if e.group != "" {
				more += `,"group":` + quote(e.group)
			}
			if req.dedup {
				more += `,"dedup_id":` + quote(e.tag)
			}
			return e, content, more
		}
		if r.IntN(2) == 0 {
			req.many = true
			var many []string
			for range 1 + r.IntN(8) {
				e, content, more := next()
				req.entries = append(req.entries, e)
				many = append(many, describe(e, content, more))
			}
			req.body = `{"messages":[` + strings.Join(many, ",") + `]}`
			return req
		}
		e, content, more := next()
		req.entries = []*entry{e}
		if req.body = describe(e, content, more); queue == orders && r.IntN(3) == 0 {
			req.contentType, req.body = "application/x-load", string(content)
		}
		return req
	}
}

// putOff gives a message for later a delay of one of the kinds there are.
func (e *entry) putOff(r *rand.Rand) string {
	delay := time.Duration(r.IntN(300)) * time.Millisecond
	e.due = time.Now().Add(delay).Truncate(time.Millisecond)
	switch r.IntN(3) {
	case 0:
		return fmt.Sprintf(`,"delay":"%dms"`, delay.Milliseconds())
	case 1:
		return `,"deliver_at":"` + e.due.UTC().Format(time.RFC3339Nano) + `"`
	default:
		e.due = time.Now().Add(50 * time.Millisecond) // the queue's
		return ""
	}
}

// consumeOne receives from one of the queues and does one of the things that consumers do.
func (m *mixed) consumeOne(ctx context.Context, l *load, r *rand.Rand) error {
	queue := mixedQueues[r.IntN(len(mixedQueues))].name
	if r.IntN(3) > 0 {
		queue = mixedQueues[r.IntN(3)].name
	}
	visibility, wait := mixedVisibility, r.IntN(100)
	late := r.IntN(10) == 0
	if late {
		visibility = 20 * time.Millisecond
	}
	messages, err := m.receive(ctx, l, queue, fmt.Sprintf(`"max":%d,"wait":"%dms"`, 1+r.IntN(20), wait), visibility)
	if err != nil || len(messages) == 0 {
		return err
	}
	switch some := messages[:(len(messages)+1)/2]; r.IntN(10) {
	case 0:
		m.giveUp(queue, messages)
		return l.nack(ctx, r, queue, messages)
	case 1:
		m.giveUp(queue, some)
		return l.nack(ctx, r, queue, some) // and the others' leases end by themselves
	case 2:
		return m.ack(ctx, l, queue, some)
	case 3:
		return nil // like a consumer that crashed
	case 4:
		if err := m.extend(ctx, l, queue, messages); err != nil {
			return err
		}
	}
	if late {
		<-time.After(time.Until(messages[0].Lease.ExpiresAt))
	}
	return m.ack(ctx, l, queue, messages)
}

func (m *mixed) receive(ctx context.Context, l *load, queue, how string, visibility time.Duration) ([]message, error) {
	messages, err := l.receive(ctx, queue, fmt.Sprintf(`{%s,"visibility":"%dms"}`, how, visibility.Milliseconds()))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(queue, ".fifo") {
		m.groups.take(queue, messages, visibility)
	}
	l.ledger.deliver(queue, messages)
	return messages, nil
}

func (m *mixed) giveUp(queue string, messages []message) {
	if strings.HasSuffix(queue, ".fifo") {
		m.groups.giveUp(queue, messages)
	}
}

func (m *mixed) ack(ctx context.Context, l *load, queue string, messages []message) error {
	m.giveUp(queue, messages)
	return l.ack(ctx, queue, messages)
}

// extend sends a heartbeat.
func (m *mixed) extend(ctx context.Context, l *load, queue string, messages []message) error {
	const visibility = 600 * time.Millisecond
	l.ledger.giveUp(messages) // it does not follow heartbeats; the groups do
	from := time.Now()
	done, err := l.results(ctx, queue, "extend", fmt.Sprintf(`{"receipts":%s,"visibility":"%dms"}`, receipts(messages), visibility.Milliseconds()))
	if err != nil || !strings.HasSuffix(queue, ".fifo") {
		return err
	}
	for i := range done {
		if done[i].OK {
			m.groups.extended(queue, &messages[i], from.Add(visibility-skew))
		}
	}
	return nil
}

// redriveOne starts a redrive, not too fast, and follows it to its end.
func (l *load) redriveOne(ctx context.Context, r *rand.Rand) error {
	suffix := []string{"", ".fifo"}[r.IntN(2)]
	content, _, err := l.call(ctx, "/v1/queues/dead"+suffix+"/redrive", "application/json",
		fmt.Sprintf(`{"to":"again%s","rate":%d}`, suffix, 3+r.IntN(8)))
	if err != nil {
		return err
	}
	var started struct{ Task task }
	if err := json.Unmarshal(content, &started); err != nil || started.Task.ID == "" {
		l.ledger.t.Errorf("a redrive was answered with %s: %v", content, err)
		return errCutOff
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for now := started.Task; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errCutOff
		}
		if err := l.get(ctx, "/v1/tasks/"+now.ID, &now); err != nil {
			if !l.dying.Load() && ctx.Err() == nil {
				l.ledger.t.Errorf("a redrive under way: %v", err)
			}
			return errCutOff
		}
		if now.State != "running" {
			l.answers.Add(1)
			return nil
		}
	}
}

// task is a redrive as it is shown.
type task struct {
	ID, State, Error string
	Moved, Total     int64
}

// survey compares all that the queues hold with the ledger and with what the clients know of the groups, and repeats what
// was cut off. Redrives go on meanwhile.
func (m *mixed) survey(ctx context.Context, l *load, r *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	running, err := l.unfinished(ctx)
	if err != nil {
		return err
	}
	m.underWay += running
	found, held, err := l.browseAll(ctx)
	if err != nil {
		return err
	}
	for _, messages := range found {
		l.ledger.browsed(messages)
	}
	m.groups.check(fifoOnly(found))
	if err := l.repeatPending(ctx, held); err != nil {
		return err
	}
	return m.consumeAll(ctx, l, 200+int64(r.IntN(300)))
}

// unfinished is how many redrives have not ended. None may fail.
func (l *load) unfinished(ctx context.Context) (running int, err error) {
	var list struct{ Tasks []task }
	if err := l.get(ctx, "/v1/tasks?limit=1000", &list); err != nil {
		return 0, err
	}
	for _, t := range list.Tasks {
		switch t.State {
		case "running":
			running++
		case "done":
		default:
			return 0, fmt.Errorf("a redrive ended like this: %+v", t)
		}
	}
	return running, nil
}

// browseAll looks at all queues until no message is seen in two of them: one may be moved meanwhile, forward.
func (l *load) browseAll(ctx context.Context) (found map[string][]message, held map[string]int, err error) {
	for {
		found, held = make(map[string][]message), make(map[string]int)
		twice := ""
		for _, q := range mixedQueues {
			if found[q.name], err = l.browse(ctx, q.name); err != nil {
				return nil, nil, fmt.Errorf("%w; seen twice: %q", err, twice)
			}
			for i := range found[q.name] {
				tag := found[q.name][i].Attributes["tag"]
				if held[tag]++; held[tag] > 1 {
					twice = tag
				}
			}
		}
		if twice == "" {
			return found, held, nil
		}
	}
}

// browse returns all that a queue holds.
func (l *load) browse(ctx context.Context, queue string) (all []message, err error) {
	for cursor := ""; ; {
		var page struct {
			Messages []message
			Cursor   string
		}
		if err := l.get(ctx, "/v1/queues/"+queue+"/messages?limit=1000&cursor="+cursor, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Messages...)
		if cursor = page.Cursor; cursor == "" {
			return all, nil
		}
	}
}

func fifoOnly(found map[string][]message) map[string][]message {
	fifo := make(map[string][]message)
	for queue, messages := range found {
		if strings.HasSuffix(queue, ".fifo") {
			fifo[queue] = messages
		}
	}
	return fifo
}

// consumeAll receives and acks until no queue has more than some messages.
func (m *mixed) consumeAll(ctx context.Context, l *load, most int64) error {
	for i := 0; i < len(mixedQueues); {
		queue := mixedQueues[i].name
		c, err := l.counts(ctx, queue)
		if err != nil {
			return fmt.Errorf("%s still has messages: %w", queue, err)
		}
		if c.Ready+c.Leased+c.Delayed+c.Dead <= most {
			i++
			continue
		}
		messages, err := m.receive(ctx, l, queue, `"max":100,"wait":"100ms"`, time.Minute)
		if err == nil && len(messages) > 0 {
			err = m.ack(ctx, l, queue, messages)
		}
		if err != nil {
			return fmt.Errorf("%s has %+v: %w", queue, c, err)
		}
	}
	return nil
}

// drain acks everything: all that is there can be had, in order. Redrives that are left with nothing to move end.
func (m *mixed) drain(ctx context.Context, l *load) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for running := 1; running > 0; {
		err := m.consumeAll(ctx, l, 0)
		if err == nil {
			running, err = l.unfinished(ctx)
		}
		if err != nil {
			return err
		}
	}
	m.groups.check(nil)
	_, held, err := l.browseAll(ctx)
	if err != nil {
		return err
	}
	l.ledger.settle(held)
	return nil
}
