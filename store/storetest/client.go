package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// client calls a store and keeps the ledger. It is alone with its queues and its keys, so it can foretell every
// answer; what it did not foretell is a complaint.
type client struct {
	id    int
	ctx   context.Context //nolint:containedctx // a client lives as long as one run of a workload
	store store.Store
	clock *Clock
	rng   *rand.Rand
	world *world
	load  workload

	// mu guards what the world looks at when the power goes off in the middle of a call.
	mu    sync.Mutex
	known *ledger
	// pending is what the call that is not answered does, doubt what holds if it took effect.
	pending func(l *ledger, answered bool)
	doubt   *ledger
	// before is what was known before each of the last calls.
	before  []*ledger
	stopped bool
	steps   []string // what was called and answered, for messages

	open    func() error // opens the store again
	queues  []store.QueueID
	created store.QueueID
	sent    uint64
}

// errRead and errRestart mark calls for which a disk that fails once is excuse enough.
var (
	errRead    = errors.New("while reading")
	errRestart = errors.New("while restarting")
)

// excuse marks an error, if there is one.
func excuse(err, mark error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", mark, err)
}

// call makes one call. With an answer the ledger is changed; an error that leaves the outcome open, or no answer at
// all, leaves doubt, and the client stops. It returns whether the call succeeded.
func (c *client) call(what string, do func() error, effect func(l *ledger, answered bool)) bool {
	c.mu.Lock()
	c.pending = effect
	c.mu.Unlock()
	err := do()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false // the power is off, and this answer never left the house
	}
	c.pending = nil
	c.steps = append(c.steps, fmt.Sprintf("%s = %v", what, err))
	switch {
	case err == nil:
		c.remember()
		effect(c.known, true)
		return true
	case errors.Is(err, store.ErrFull):
		c.world.seen.Full.Add(1)
		return false // nothing was changed
	case c.world.patient && errors.Is(err, errRestart):
		c.world.shut.Store(true)
		c.pending = effect
	case errors.Is(err, store.ErrUnknown), c.world.down():
		c.pending = effect
	case c.world.patient && errors.Is(err, errRead):
		return false // nothing was changed
	default:
		c.complain("%s: got error %v, want success or an outcome unknown", what, err)
	}
	c.stopped = true
	return false
}

// remember keeps what was known before the last few calls, if anybody is going to ask.
func (c *client) remember() {
	if c.world.history == 0 {
		return
	}
	c.before = append(c.before, c.known.clone())
	if len(c.before) > c.world.history {
		c.before = c.before[1:]
	}
}

// stop ends the client; a call that was not answered leaves doubt.
func (c *client) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.pending != nil && c.doubt == nil {
		c.doubt = c.known.clone()
		c.pending(c.doubt, false)
	}
}

func (c *client) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func (c *client) complain(format string, args ...any) {
	c.world.complain(fmt.Sprintf("client %d: ", c.id) + fmt.Sprintf(format, args...))
}

// pick is one of the client's queues, or false when there is none.
func (c *client) pick() (store.QueueID, *queueLedger, bool) {
	if len(c.queues) == 0 {
		return 0, nil, false
	}
	id := c.queues[c.rng.IntN(len(c.queues))]
	return id, c.known.queues[id], true
}

// create makes a queue of a new generation.
func (c *client) create() {
	c.created++
	id := store.QueueID(c.id+1)<<32 | c.created
	s := c.load.settings
	s.Revision = 1
	if c.call(fmt.Sprintf("Configure(%x)", uint64(id)), func() error { return c.store.Configure(c.ctx, id, s) }, func(l *ledger, _ bool) {
		l.queues[id] = newQueueLedger(s)
	}) {
		c.queues = append(c.queues, id)
	}
}

// configure raises the revision.
func (c *client) configure() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	s := q.settings
	s.Revision++
	c.call(fmt.Sprintf("Configure(%x, revision %d)", uint64(id), s.Revision), func() error {
		return c.store.Configure(c.ctx, id, s)
	}, func(l *ledger, _ bool) { l.queues[id].settings = s })
}

func (c *client) drop() {
	id, _, ok := c.pick()
	if !ok || len(c.queues) < 2 {
		c.create()
		return
	}
	c.call(fmt.Sprintf("Drop(%x)", uint64(id)), func() error { return c.store.Drop(c.ctx, id) }, func(l *ledger, _ bool) {
		delete(l.queues, id)
		l.dropped[id] = true
	})
	c.queues = slices.DeleteFunc(c.queues, func(other store.QueueID) bool { return other == id })
}

// draft draws messages to send.
func (c *client) draft(n int) []store.Entry {
	list := make([]store.Entry, n)
	for i := range list {
		c.sent++
		size := c.rng.IntN(64)
		if c.rng.IntN(4) == 0 {
			size = c.rng.IntN(c.load.large + 1)
		}
		list[i].Payload = payloadOf(uint64(c.id+1)<<32|c.sent, size)
		list[i].Size = uint32(len(list[i].Payload))
		if c.load.groups > 0 {
			list[i].Group = fmt.Sprint("group ", c.rng.IntN(c.load.groups))
		}
		if c.rng.IntN(100) < c.load.keyed {
			list[i].Dedup = dedupOf(byte(1 + c.rng.IntN(30)))
		}
		list[i].InOrder = c.load.settings.Mode == store.FIFO && c.load.weights[stepReschedule] == 0 && c.rng.IntN(2) == 0
		if c.rng.IntN(100) < c.load.delayed {
			// Whole seconds, so that ticks do not matter.
			list[i].Delay = time.Duration(1+c.rng.IntN(20)) * time.Second
		}
	}
	return list
}

func (c *client) send() {
	id, _, ok := c.pick()
	if !ok {
		return
	}
	list := c.draft(1 + c.rng.IntN(c.load.batch))
	c.sendTo(id, list, nil, 0)
}

// sendOnce sends under one of a few keys, so that some sends are repeats.
func (c *client) sendOnce() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	key := byte(c.rng.IntN(12))
	if first, seen := q.once[key]; seen {
		c.repeat(id, key, first)
		return
	}
	list := c.draft(1 + c.rng.IntN(c.load.batch))
	c.sendTo(id, list, onceOf(key), key)
}

// onceOf is the key of a test send, whose window does not end while the test runs.
func onceOf(key byte) *store.Once {
	return &store.Once{
		Key: [16]byte{key, 1}, Fingerprint: [16]byte{key, 2}, Window: longWindow, Note: fmt.Append(nil, "note ", key),
	}
}

func (c *client) repeat(id store.QueueID, key byte, first onceLedger) {
	p := store.SendParams{
		Queue: id, Revision: c.known.queues[id].settings.Revision, Entries: []store.Entry{{Payload: []byte("repeat")}}, Once: onceOf(key),
	}
	var r store.SendResult
	call := fmt.Sprintf("Send(%x, repeat of key %d)", uint64(id), key)
	if c.call(call, func() (err error) {
		r, err = c.store.Send(c.ctx, p)
		return err
	}, nothing) && (!r.Duplicate || r.First != first.first || r.Count != first.count || string(r.Note) != first.note) {
		c.complain("%s: got %+v, want a duplicate of %+v", call, r, first)
	}
}

func (c *client) sendTo(id store.QueueID, list []store.Entry, once *store.Once, key byte) {
	now := c.clock.Now()
	p := store.SendParams{Queue: id, Revision: c.known.queues[id].settings.Revision, Entries: list, Once: once}
	var r store.SendResult
	c.call(fmt.Sprintf("Send(%x, %d messages from %x, once %v)", uint64(id), len(list), list[0].Payload[:8], once != nil), func() (err error) {
		r, err = c.store.Send(c.ctx, p)
		return err
	}, func(l *ledger, answered bool) {
		q := l.queues[id]
		var at store.Seq // without an answer nobody knows, and r may still be written
		if answered {
			at = r.First
		}
		want := q.send(list, at, now)
		if answered {
			c.compareSend(list, r, want)
		}
		if once != nil {
			first := onceLedger{count: want.Count, note: string(once.Note)}
			if answered {
				first.first = r.First
			}
			q.once[key] = first
		}
		if answered && r.SentAt.After(q.at) {
			q.at = r.SentAt
		}
	})
}

// claim takes messages and compares them with the ledger.
func (c *client) claim() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	if c.load.groups > 0 && c.load.settings.Mode != store.Standard {
		c.claimGroups(id, q)
		return
	}
	now := c.clock.Now()
	p := store.ClaimParams{
		Queue: id, Revision: q.settings.Revision, Max: 1 + c.rng.IntN(c.load.batch), MaxBytes: 1 << 30,
		Visibility: time.Duration(1+c.rng.IntN(30)) * time.Second, Consumer: c.consumer(),
	}
	want := slices.DeleteFunc(q.inState(now, isReady), func(m message) bool { return q.expired(m, now) })
	want = want[:min(len(want), p.Max)]
	var r store.ClaimResult
	call := fmt.Sprintf("Claim(%x, %d)", uint64(id), p.Max)
	c.call(call, func() (err error) {
		r, err = c.store.Claim(c.ctx, p)
		return excuse(err, errRead)
	}, func(l *ledger, answered bool) {
		q := l.queues[id]
		if answered && !c.compare(call, q, r, want) {
			return
		}
		for i, m := range want {
			if answered {
				m.seq, m.token = r.Messages[i].Seq, r.Token
				q.last, q.token = max(q.last, m.seq), max(q.token, m.token)
			}
			m.lease, m.consumer = now.Add(p.Visibility), p.Consumer
			m.receives++
			q.messages[m.number] = m
		}
	})
}

// compare checks what a claim handed out, and stops the client when it cannot go on.
func (c *client) compare(call string, q *queueLedger, r store.ClaimResult, want []message) bool {
	if len(r.Messages) != len(want) {
		c.complain("%s: got %d messages, want %d", call, len(r.Messages), len(want))
		c.stopped = true
		return false
	}
	if len(want) > 0 && r.Token <= q.token {
		c.complain("%s: got token %d, want above %d", call, r.Token, q.token)
	}
	for i, d := range r.Messages {
		if m := want[i]; m.seq != 0 && d.Seq != m.seq || !intact(d, m) || d.Entered != m.receives+1 {
			c.complain("%s: message %d: got seq %d, %d bytes, entered %d, want %v", call, i, d.Seq, len(d.Payload), d.Entered, m)
			c.stopped = true
		}
	}
	return !c.stopped
}

// intact says that a delivery carries exactly the bytes that were sent.
func intact(d store.Delivery, m message) bool {
	return d.Size == m.size && bytes.Equal(d.Payload, payloadOf(m.number, int(m.size)-8))
}

// settle draws messages that are held and what becomes of them.
func (c *client) settle() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	now := c.clock.Now()
	held := slices.DeleteFunc(q.inState(now, isHeld), func(m message) bool { return !m.lease.After(now) || q.expired(m, now) })
	if len(held) == 0 {
		c.claim()
		return
	}
	held = held[:1+c.rng.IntN(min(len(held), c.load.batch))]
	p := store.SettleParams{Queue: id, Revision: q.settings.Revision, Strict: c.rng.IntN(2) == 0}
	for _, m := range held {
		p.Items = append(p.Items, c.drawItem(m))
	}
	var r store.SettleResult
	call := fmt.Sprintf("Settle(%x, %+v)", uint64(id), p.Items)
	if c.call(call, func() (err error) {
		r, err = c.store.Settle(c.ctx, p)
		return err
	}, func(l *ledger, _ bool) {
		for i, m := range held {
			l.queues[id].settle(m, p.Items[i], now)
		}
	}) {
		c.compareOutcomes(call, q, held, r)
	}
}

func (c *client) drawItem(m message) store.SettleItem {
	i := store.SettleItem{Seq: m.seq, Token: m.token, Target: c.load.targets[c.rng.IntN(len(c.load.targets))]}
	if i.Target == store.Ready || i.Target == store.Leased {
		i.After = time.Duration(c.rng.IntN(3)*c.rng.IntN(20)) * time.Second
	}
	if i.Target == store.Leased {
		i.After += time.Second
	}
	i.Uncount = i.Target == store.Ready && c.rng.IntN(4) == 0
	if c.rng.IntN(2) == 0 {
		i.Reason = fmt.Sprint("reason ", c.rng.IntN(100))
	}
	return i
}

func (c *client) compareOutcomes(call string, q *queueLedger, held []message, r store.SettleResult) {
	for i, m := range held {
		want := store.Settled
		if after, still := q.messages[m.number]; still && after.dead && after.receives >= q.settings.MaxReceives && q.settings.MaxReceives > 0 {
			want = store.Died
		}
		if got := r.Outcomes[i]; got != want && !(want == store.Died && got == store.Settled) {
			c.complain("%s: outcome %d: got %d, want %d", call, i, got, want)
		}
	}
}

// move takes dead messages to another queue of the client.
func (c *client) move() {
	from, source, ok := c.pick()
	to, _, _ := c.pick()
	if !ok { // both may be one queue
		return
	}
	now := c.clock.Now()
	dead := source.inState(now, isDead, isSpent)
	p := store.MoveParams{
		Source: from, Target: to, Select: theDead, Limit: 1 + c.rng.IntN(c.load.batch), Label: fmt.Sprintf("%x", uint64(from)),
	}
	if slices.ContainsFunc(dead, func(m message) bool { return source.expired(m, now) }) {
		return // retention may take them first
	}
	dead = dead[:min(len(dead), p.Limit)]
	var r store.MoveResult
	call := fmt.Sprintf("Move(%x to %x, %d of %d)", uint64(from), uint64(to), p.Limit, len(dead))
	if c.call(call, func() (err error) {
		r, err = c.store.Move(c.ctx, p)
		return excuse(err, errRead)
	}, func(l *ledger, _ bool) {
		for _, m := range dead {
			delete(l.queues[from].messages, m.number)
			l.queues[to].add(m.moved(p, now))
		}
	}) && r.Moved != len(dead) {
		c.complain("%s: got %d moved, want %d", call, r.Moved, len(dead))
	}
}

// sweep lets retention take what is past it.
func (c *client) sweep() {
	id, _, ok := c.pick()
	if !ok {
		return
	}
	now := c.clock.Now()
	c.call(fmt.Sprintf("Sweep(%x)", uint64(id)), func() error {
		_, err := c.store.Sweep(c.ctx, id)
		return err
	}, func(l *ledger, _ bool) { l.queues[id].sweep(now) })
}

func (c *client) key() string { return fmt.Sprintf("%d/%d", c.id, c.rng.IntN(6)) }

func (c *client) put() {
	key := c.key()
	c.sent++
	value := fmt.Sprintf("%d/%d/%0*d", c.id, c.sent, c.rng.IntN(c.load.large+1), 0)
	prev := c.known.keys[key].revision // 0: the key is not there
	var r store.Revision
	c.call(fmt.Sprintf("Put(%s, %d bytes, %d)", key, len(value), prev), func() (err error) {
		r, err = c.store.Put(c.ctx, key, []byte(value), prev)
		return err
	}, func(l *ledger, answered bool) {
		if !answered {
			l.keys[key] = keyLedger{value: value}
			return
		}
		if r <= l.revision {
			c.complain("Put(%s): got revision %d, want above %d", key, r, l.revision)
		}
		l.keys[key], l.revision = keyLedger{value, r}, r
	})
}

func (c *client) delete() {
	key := c.key()
	prev := store.AnyRevision
	if k, there := c.known.keys[key]; there && c.rng.IntN(2) == 0 {
		prev = k.revision
	}
	c.call(fmt.Sprintf("Delete(%s, %d)", key, prev), func() error {
		return c.store.Delete(c.ctx, key, prev)
	}, func(l *ledger, _ bool) { delete(l.keys, key) })
}

// nothing is the effect of a call that only reads.
func nothing(*ledger, bool) {}

// look reads what the client should see.
func (c *client) look() {
	key := c.key()
	c.call(fmt.Sprintf("Get(%s)", key), func() error {
		p, err := c.store.Get(c.ctx, key)
		want, there := c.known.keys[key]
		if errors.Is(err, store.ErrNotFound) && !there {
			return nil
		}
		if err == nil && (!there || string(p.Value) != want.value) {
			c.complain("Get(%s): got %d bytes, want %d", key, len(p.Value), len(want.value))
		}
		return err
	}, nothing)
	id, q, ok := c.pick()
	if !ok || c.isStopped() {
		return
	}
	c.call(fmt.Sprintf("Stats(%x)", uint64(id)), func() error {
		s, err := c.store.Stats(c.ctx, id)
		if got := s.Ready + s.Leased + s.Delayed + s.Dead; err == nil && q.settings.Retention == 0 && got != int64(len(q.messages)) {
			c.complain("Stats(%x): got %d messages, want %d", uint64(id), got, len(q.messages))
		}
		return err
	}, nothing)
}

// restart closes the store in peace and opens it again; the client must be the only one.
func (c *client) restart() {
	if !c.call("Close", func() error { return excuse(c.store.Close(), errRestart) }, func(l *ledger, _ bool) { l.settleLeases() }) {
		return
	}
	c.call("Open", func() error { return excuse(c.open(), errRestart) }, nothing)
}
