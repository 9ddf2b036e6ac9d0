package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// taskLease is how long a task belongs to its owner without word from it; word comes taskRenew before the end.
	taskLease = 30 * time.Second
	taskRenew = 20 * time.Second
	// taskRetry is when work that failed is tried again.
	taskRetry = time.Second
	// taskClosing bounds the last notes of an engine that closes.
	taskClosing = 5 * time.Second
	// maxRuns is how many tasks one node works on at a time.
	maxRuns = 1000
)

// tasks are those this node works on. One goroutine does all the work: the tasks take turns, a batch each.
type tasks struct {
	// poke tells the goroutine that there is work.
	poke chan struct{}
	// looking rings when it is time to look for tasks that nobody works on.
	looking *alarm

	mu sync.Mutex
	// look says that it is time.
	look bool
	// runs are all of them, by key, and turns those that can go on, in order, each once.
	runs  map[string]*run
	turns []*run
}

// run is one task under way. It belongs to the goroutine, but for what tasks.mu guards.
type run struct {
	key, id string
	queue   Ref
	// record is what is known of the task, more than what the store has under rev.
	record taskRecord
	rev    store.Revision
	sieve  sieve
	// pace is what was moved by this node, and since when; due is when the rate allows the next batch.
	started, due moment
	before       int64
	// noted is when the record was written.
	noted moment
	// recount says that it was taken over and how much was moved is not known exactly.
	recount bool
	// allowed are the targets, if there is more than one.
	allowed map[string]bool
	// released says that this node gives it up.
	released bool
	// wake rings when it can go on.
	wake *alarm
	// left is closed when this node has stopped working on it.
	left chan struct{}

	// Guarded by tasks.mu: listed says that it is in turns, halted that it was cancelled.
	listed, halted bool
}

func (t *tasks) init() {
	t.poke = make(chan struct{}, 1)
	t.runs = make(map[string]*run)
	t.looking = newAlarm(t.askLook)
}

// askLook has the goroutine look for tasks that nobody works on.
func (t *tasks) askLook() {
	t.mu.Lock()
	t.look = true
	t.mu.Unlock()
	t.nudge()
}

func (t *tasks) nudge() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// mustLook says whether it is time to look, once.
func (t *tasks) mustLook() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	look := t.look
	t.look = false
	return look
}

// add gives r a turn after those of the others, unless the work on it has ended.
func (t *tasks) add(r *run) {
	t.mu.Lock()
	if !r.listed && t.runs[r.key] == r {
		r.listed = true
		t.turns = append(t.turns, r)
	}
	t.mu.Unlock()
	t.nudge()
}

// next is the run whose turn it is, nil when there is none.
func (t *tasks) next() (r *run, halted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.turns) > 0 {
		r = t.turns[0]
		t.turns = slices.Delete(t.turns, 0, 1)
		r.listed = false
		if t.runs[r.key] == r { // else it was cancelled in its last turn
			return r, r.halted
		}
	}
	return nil, false
}

// begin takes up a run, unless there is one of its key, and gives it its first turn.
func (t *tasks) begin(r *run) {
	t.mu.Lock()
	_, known := t.runs[r.key]
	if !known {
		t.runs[r.key] = r
	}
	t.mu.Unlock()
	if !known {
		t.add(r)
	}
}

// leave ends the work on a run.
func (t *tasks) leave(r *run) {
	t.mu.Lock()
	delete(t.runs, r.key)
	t.mu.Unlock()
	close(r.left)
}

// halt makes this node stop working on a cancelled task and waits until it has, or ctx ends.
func (t *tasks) halt(ctx context.Context, key string) {
	t.mu.Lock()
	r := t.runs[key]
	if r != nil {
		r.halted = true
	}
	t.mu.Unlock()
	if r == nil {
		return
	}
	t.add(r)
	select {
	case <-r.left:
	case <-ctx.Done():
	}
}

func (t *tasks) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.runs)
}

// all are the runs at this moment.
func (t *tasks) all() []*run {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*run, 0, len(t.runs))
	for _, r := range t.runs {
		list = append(list, r)
	}
	return list
}

// runTasks works until ctx ends.
func (e *Engine) runTasks(ctx context.Context) {
	e.tasks.askLook()
	for {
		select {
		case <-ctx.Done():
			e.closeTasks(ctx)
			return
		case <-e.tasks.poke:
		}
		for ctx.Err() == nil {
			if e.tasks.mustLook() {
				e.adoptTasks(ctx)
			}
			r, halted := e.tasks.next()
			if r == nil {
				break
			}
			e.clock.off(r.wake)
			e.work(ctx, r, halted)
		}
	}
}

// closeTasks notes how far all have come, for whoever opens the store next.
func (e *Engine) closeTasks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), taskClosing)
	defer cancel()
	for _, r := range e.tasks.all() {
		r.released = true
		r.record.Exact = !r.recount
		if _, err := e.note(ctx, r); err != nil {
			e.tellStalled(r.queue, r.id, err)
		}
		e.tasks.leave(r)
	}
}

// adoptTasks takes up all tasks that nobody works on: those of this node from before it was started, and those whose
// owner is gone or was not heard of in time. A node without a name is alone on its store.
func (e *Engine) adoptTasks(ctx context.Context) {
	again := e.node != ""
	err := e.eachPair(ctx, taskPrefix, pageSize, func(p store.Pair) error {
		later, err := e.adopt(ctx, p)
		again = again || later
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil:
		e.tellStalled(Ref{}, "", fmt.Errorf("look for tasks to go on with: %w", err))
		e.clock.soonest(e.tasks.looking, e.clock.in(taskRetry))
	case again:
		e.clock.soonest(e.tasks.looking, e.clock.in(taskLease))
	}
}

// adopt takes up one task, or says that it may be time for that later.
func (e *Engine) adopt(ctx context.Context, p store.Pair) (later bool, err error) {
	tenant, id, err := taskOfKey(p.Key)
	if err != nil {
		return false, err
	}
	record, err := decodeTask(p)
	if err != nil { // which is no reason for others to wait
		e.tellStalled(Ref{Tenant: tenant}, id, err)
		return false, nil
	}
	if record.State != TaskRunning || e.tasks.has(p.Key) {
		return false, nil
	}
	now := e.store.Clock()
	before := record.Owner == e.node && record.created(now) <= e.started
	if !before && !e.nodes.isGone(record.Owner) && now.Now < record.leasedUntil(now) {
		return true, nil
	}
	r := e.newRun(tenant, id, record, p.Revision)
	r.recount = !record.Exact
	r.record.Exact = false
	// Written before anything is done, so that of several nodes one goes on.
	if over, err := e.note(ctx, r); err != nil || over {
		return false, err
	}
	if record.Edits {
		return false, e.settleEdit(ctx, r)
	}
	e.tasks.begin(r)
	return false, nil
}

func (t *tasks) has(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[key] != nil
}

func (e *Engine) newRun(tenant, id string, record taskRecord, rev store.Revision) *run {
	now := e.clock.moment()
	r := &run{
		key: taskKey(tenant, id), id: id, queue: Ref{tenant, record.Queue},
		record: record, rev: rev, sieve: record.Choice.sieve(),
		started: now, due: now, before: record.Moved, noted: now,
		left: make(chan struct{}),
	}
	if record.To == "" {
		r.allowed = make(map[string]bool, len(record.Targets))
		for _, name := range record.Targets {
			r.allowed[name] = true
		}
	}
	r.wake = newAlarm(func() { e.tasks.add(r) })
	return r
}
