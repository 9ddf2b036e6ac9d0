package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Options are what an Engine takes from outside. Now and Rand are required.
type Options struct {
	// Now is the clock for the waits of receives: elapsed time, of which only differences count. It must agree with the
	// process's timers, but for suspensions of the machine, and unless it is put forward and [Engine.ClockChanged] called.
	// What the wall clock shows the engine asks the store.
	Now func() time.Time
	// Rand gives generations, secrets and the seed of jitter. It is read by one goroutine at a time.
	Rand io.Reader
	// Events are told what happens.
	Events Events
	// Node is the name of this process among those that share the store: no other one has it at the same time. It may be
	// another one after a restart; what it was at work on before that is then taken over within seconds, like that of any
	// node that has ended. Empty means that it is the only one.
	Node string
}

// Engine serves the queues of one store. All methods are safe for concurrent use; every error they return is an
// [*Error], but for those of a caller's own function.
type Engine struct {
	store   store.Store
	events  Events
	catalog catalog
	topics  topics
	ciphers atomic.Pointer[ciphers]
	random  random
	clock   *clock
	janitor chores[*queue]
	cooling cooling
	// timetable is of the schedules.
	timetable timetable
	// wallDue is when the wall clock is looked at again, wallAhead by how much it was ahead then, in nanoseconds; started is
	// when the engine was opened.
	wallDue   *alarm
	wallAhead atomic.Int64
	// doubted is when there last was a reason to replace fire times, see doubtsFireTimes.
	doubted atomic.Int64
	started store.Instant
	node    string
	nodes   nodes
	changes changes
	nudges  nudges
	tasks   tasks

	draining atomic.Bool
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// Open starts an engine on a store, which stays the caller's to close, after Close. It brings the store in line with
// the catalog, as a crash between the two may have left them apart: generations nobody knows are dropped, settings
// that did not arrive are repeated.
func Open(ctx context.Context, s store.Store, o Options) (*Engine, error) {
	if o.Now == nil || o.Rand == nil {
		return nil, errors.New("engine: Options.Now and Options.Rand are required")
	}
	e := &Engine{store: s, events: o.Events, clock: newClock(o.Now), node: o.Node}
	e.catalog.init()
	e.topics.init()
	e.janitor.init()
	e.cooling.init()
	e.tasks.init()
	e.nodes.init()
	e.changes.init()
	e.timetable.init(e.wall)
	e.started = s.Clock().Now
	e.doubted.Store(int64(e.started))
	if err := e.random.init(o.Rand); err != nil {
		return nil, fmt.Errorf("seed the engine: %w", err)
	}
	if err := e.loadSecret(ctx); err != nil {
		return nil, fmt.Errorf("load the engine's secret: %w", err)
	}
	s.Watch(e.notify)
	s.WatchLogs(e.notifyTopic)
	if err := errors.Join(e.reconcile(ctx), e.reconcileTopics(ctx)); err != nil {
		return nil, fmt.Errorf("load the catalog: %w", err)
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.watchWall()
	e.running.Go(func() { e.clock.run(own.Done()) })
	e.running.Go(func() { e.runJanitor(own) })
	e.running.Go(func() { e.runTasks(own) })
	e.running.Go(func() { e.runSchedules(own) })
	e.running.Go(func() { e.runTopics(own) })
	if e.shared() {
		e.startNudges()
		e.running.Go(func() { e.runNodes(own) })
		e.running.Go(func() { e.runChanges(own) })
	}
	return e, nil
}

// Drain answers all waiters at once, with what there is; later receives do not wait. The engine goes on serving.
func (e *Engine) Drain() {
	e.draining.Store(true)
	for q := range e.catalog.all() {
		q.line.dismissAll()
		q.room.dismissAll()
	}
	for t := range e.topics.all() {
		for _, l := range t.setup.Load().lines {
			l.dismissAll()
		}
	}
}

// Close drains and joins the engine's goroutines, or gives up when ctx ends. It does not close the store.
func (e *Engine) Close(ctx context.Context) error {
	e.Drain()
	e.stop()
	joined := make(chan struct{})
	go func() {
		e.running.Wait()
		close(joined)
	}()
	select {
	case <-joined:
		e.leaveNodes(ctx)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the engine while the store is still busy: %w", ctx.Err())
	}
}

// Ping says whether the engine can serve: nil, or why not.
func (e *Engine) Ping(ctx context.Context) error {
	if err := e.store.Ping(ctx); err != nil {
		return fromStore(fmt.Errorf("ping the store: %w", err))
	}
	return nil
}

// StoreInfo describes the backend.
func (e *Engine) StoreInfo() StoreInfo {
	i := e.store.Info()
	return StoreInfo{Name: i.Name, Promise: i.Promise, Durable: i.Durable}
}

// notify is the store's word that messages of a queue may have become ready, or there is room, or another node has
// changed or deleted it: whoever is woken finds out.
func (e *Engine) notify(id store.QueueID) {
	if q, ok := e.catalog.byID(id); ok {
		q.line.signal()
		if e.shared() {
			q.freed()
		}
	}
}
