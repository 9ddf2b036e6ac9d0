package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// catalog knows which queues there are. The truth is in the store's key-value part; this is a copy in memory, read
// without a lock. A copy that is out of date is found out by the store (ErrGone, ErrStaleConfig) and read again.
type catalog struct {
	// turns serialize what changes or reloads one name. A turn is held over store calls.
	turns [64]chan struct{}
	seed  maphash.Seed

	named     sync.Map // Ref -> *queue
	generated sync.Map // store.QueueID -> *queue

	mu sync.Mutex
	// feeders are, by the name of a dead-letter queue, those that name it.
	feeders map[Ref]map[*queue]struct{}
}

// queue is one generation of a queue, as long as the catalog knows it.
type queue struct {
	ref  Ref
	id   store.QueueID
	line line
	// room is where sends wait until the queue is less full.
	room line
	// due rings when time alone has made something happen.
	due *alarm
	// swept is the moment of the last sweep.
	swept atomic.Int64
	// largest is the size of the largest message that this process has sent or received; 0 for none yet.
	largest atomic.Int64

	setup atomic.Pointer[setup]
	// fenced is since when the store refuses even the present setup; never if it does not. See reopen.
	fenced atomic.Int64
	// numbers are nil until something happens.
	numbers atomic.Pointer[numbers]
}

func (c *catalog) init() {
	for i := range c.turns {
		c.turns[i] = make(chan struct{}, 1)
	}
	c.seed = maphash.MakeSeed()
	c.feeders = make(map[Ref]map[*queue]struct{})
}

// turn waits for the turn of a name; release gives it up.
func (c *catalog) turn(ctx context.Context, ref Ref) (release func(), err error) {
	t := c.turns[maphash.Comparable(c.seed, ref)%uint64(len(c.turns))]
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, fromStore(fmt.Errorf("wait for the turn of %s: %w", ref, ctx.Err()))
	}
}

func (c *catalog) byName(ref Ref) (*queue, bool) {
	q, ok := c.named.Load(ref)
	if !ok {
		return nil, false
	}
	return q.(*queue), true
}

func (c *catalog) byID(id store.QueueID) (*queue, bool) {
	q, ok := c.generated.Load(id)
	if !ok {
		return nil, false
	}
	return q.(*queue), true
}

func (c *catalog) all() iter.Seq[*queue] {
	return func(yield func(*queue) bool) {
		c.named.Range(func(_, q any) bool { return yield(q.(*queue)) })
	}
}

// deadLetterQueue is where dead messages of q go, if it exists and takes them.
func (c *catalog) deadLetterQueue(q *queue) (*queue, bool) {
	name := q.setup.Load().config.DeadLetter.Queue
	if name == "" {
		return nil, false
	}
	to, ok := c.byName(Ref{q.ref.Tenant, name})
	return to, ok && to.setup.Load().config.DeadLetter.allows(q.ref.Name)
}

// feedersOf are the queues that name ref as their dead-letter queue.
func (c *catalog) feedersOf(ref Ref) []*queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*queue
	for q := range c.feeders[ref] {
		all = append(all, q)
	}
	return all
}

// feeds notes which dead-letter queue q names; none for an empty name.
func (c *catalog) feeds(q *queue, was, is string) {
	if was == is {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if was != "" {
		target := Ref{q.ref.Tenant, was}
		delete(c.feeders[target], q)
		if len(c.feeders[target]) == 0 {
			delete(c.feeders, target)
		}
	}
	if is != "" {
		target := Ref{q.ref.Tenant, is}
		if c.feeders[target] == nil {
			c.feeders[target] = make(map[*queue]struct{})
		}
		c.feeders[target][q] = struct{}{}
	}
}

// install makes a record what the name means from now on. The caller has the name's turn, or is alone.
func (e *Engine) install(ref Ref, r record) *queue {
	next := r.setup()
	q, known := e.catalog.byName(ref)
	if known && q.id != r.id {
		e.uninstall(q)
		known = false
	}
	if known {
		q.fenced.Store(int64(never))
		was := q.setup.Swap(next)
		e.catalog.feeds(q, was.config.DeadLetter.Queue, next.config.DeadLetter.Queue)
		return q
	}
	q = &queue{ref: ref, id: r.id}
	q.due = newAlarm(func() { e.ringDue(q) })
	q.swept.Store(int64(-sweepPause))
	q.fenced.Store(int64(never))
	q.setup.Store(next)
	e.catalog.feeds(q, "", next.config.DeadLetter.Queue)
	e.catalog.generated.Store(r.id, q)
	e.catalog.named.Store(ref, q)
	return q
}

// uninstall forgets a queue and lets its waiters find out. The caller has the name's turn.
func (e *Engine) uninstall(q *queue) {
	e.catalog.named.CompareAndDelete(q.ref, q)
	e.catalog.generated.CompareAndDelete(q.id, q)
	e.catalog.feeds(q, q.setup.Load().config.DeadLetter.Queue, "")
	e.clock.off(q.due)
	q.line.stir()
	q.room.stir()
	if e.events.Deleted != nil {
		e.events.Deleted(q.ref)
	}
}

// apply brings the store's settings in line with the catalog and lets the janitor look at all whom it may concern.
// It may be repeated. The caller has the name's turn, or is alone.
func (e *Engine) apply(ctx context.Context, q *queue) error {
	if err := e.store.Configure(ctx, q.id, q.setup.Load().settings()); err != nil {
		return fmt.Errorf("configure %s: %w", q.ref, err)
	}
	q.line.signal() // it may be paused no longer, or be less limited
	e.janitor.add(q)
	for _, f := range e.catalog.feedersOf(q.ref) {
		e.janitor.add(f)
	}
	return nil
}

// lookup finds a queue and its present setup.
func (e *Engine) lookup(ctx context.Context, ref Ref) (*queue, *setup, error) {
	if q, ok := e.catalog.byName(ref); ok {
		return q, q.setup.Load(), nil
	}
	return e.reload(ctx, ref, nil)
}

// maxReloads is how often one call follows a configuration that changes under it.
const maxReloads = 3

// isStale says that an error of the store is worth a reload.
func isStale(err error) bool {
	return errors.Is(err, store.ErrStaleConfig) || errors.Is(err, store.ErrGone)
}

// reload reads a queue from the store's catalog, since the store refused the setup (nil: it was not known). It
// repeats the settings, too, since a crash or a failure may have kept them from arriving.
func (e *Engine) reload(ctx context.Context, ref Ref, refused *setup) (*queue, *setup, error) {
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	if q, ok := e.catalog.byName(ref); ok {
		if s := q.setup.Load(); s != refused {
			return q, s, nil // someone else did it meanwhile
		}
	}
	r, err := e.readRecord(ctx, ref)
	if err != nil {
		return nil, nil, fromStore(err)
	}
	if r == nil {
		if q, ok := e.catalog.byName(ref); ok {
			e.uninstall(q)
		}
		return nil, nil, notFound(ref)
	}
	if refused != nil && e.shared() {
		switch q, ok := e.catalog.byName(ref); {
		case refused.revision == r.revision:
			return e.reopen(ctx, ref, r, refused)
		case ok && q.id == r.id && refused.revision > r.revision:
			// Revisions only rise, so the catalog has lost a change. The store may have settings of it, which nothing below it
			// replaces.
			rev, err := e.putRecord(ctx, ref, *r)
			if err != nil && !errors.Is(err, store.ErrConflict) { // which says that another node has done so
				return nil, nil, fromStore(err)
			}
			r.revision = max(rev, r.revision)
		}
	}
	return e.arrange(ctx, e.install(ref, *r))
}

// arrange brings the store in line with what was just read of a queue. If the store says that it was dropped, it was deleted:
// by another node since, or the catalog has lost that, which is made up for. The caller has the name's turn.
func (e *Engine) arrange(ctx context.Context, q *queue) (*queue, *setup, error) {
	err := e.apply(ctx, q)
	if errors.Is(err, store.ErrGone) {
		if err := e.strike(ctx, catalogKey(q.ref), q.setup.Load().revision); err != nil {
			return nil, nil, fromStore(fmt.Errorf("strike %s, which was dropped, off the catalog: %w", q.ref, err))
		}
		e.uninstall(q)
		return nil, nil, notFound(q.ref)
	}
	if err != nil {
		return nil, nil, fromStore(err)
	}
	return q, q.setup.Load(), nil
}

// strike deletes a catalog entry unless it has changed or is gone.
func (e *Engine) strike(ctx context.Context, key string, revision store.Revision) error {
	err := e.store.Delete(ctx, key, revision)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	e.announce(ctx)
	return err
}

// fenceLost is after how long a fence is taken away that nobody has taken away.
const fenceLost = moment(5 * time.Second)

// reopen deals with a setup that the store refuses although it is that of the catalog. Either its settings have not arrived
// yet, or the store has lost the queue, which is made again; or what the store has is newer: another node has fenced the
// queue in order to delete it, or the catalog has lost a change. Should that node have ended half-way, and if there is none, a
// new revision is above both; should it be alive, its deletion finds the record changed. The caller has the name's turn.
func (e *Engine) reopen(ctx context.Context, ref Ref, r *record, refused *setup) (*queue, *setup, error) {
	stats, err := e.store.Stats(ctx, r.id)
	if err != nil && !errors.Is(err, store.ErrGone) {
		return nil, nil, fromStore(fmt.Errorf("look at %s, which is refused: %w", ref, err))
	}
	if err != nil || stats.Revision <= uint64(r.revision) {
		return e.arrange(ctx, e.install(ref, *r))
	}
	since := never
	if q, ok := e.catalog.byName(ref); ok && q.id == r.id {
		since = moment(q.fenced.Load())
	}
	now := e.clock.moment()
	if since != never && now-since >= fenceLost {
		rev, err := e.putRecord(ctx, ref, *r)
		if err != nil {
			return nil, nil, fromStore(err)
		}
		r.revision = rev
	}
	q := e.install(ref, *r)
	if r.revision == refused.revision {
		q.fenced.Store(int64(min(since, now)))
	}
	return e.arrange(ctx, q)
}
