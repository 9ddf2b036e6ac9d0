package engine

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Task is a redrive: work on the messages of a queue that goes on after the request that asked for it, also over a
// restart.
type Task struct {
	ID    string
	Queue Ref
	// To is where the messages go; empty when each goes back to the queue it last came from.
	To    string
	State TaskState
	// Error is why it failed, and ErrorCode of what kind that is: [CodeNotFound] when a queue was deleted meanwhile. Tasks that
	// failed under an earlier version have no code.
	Error     string
	ErrorCode Code
	// Moved counts messages, of the Total there were when it was started, or there turned out to be, as leased ones were
	// given back. A little behind while it runs.
	Moved, Total int64
	// Skipped messages stay, since they came from no queue that exists.
	Skipped int64
	// Rate is how many messages a second were moved so far, RateLimit how many may be; 0 for no limit.
	Rate, RateLimit float64
	// ETA is how long it will probably still take; negative when that is unknown, or it does not run.
	ETA time.Duration
	// Principal asked for it, CancelledBy for its end.
	Principal, CancelledBy string
	CreatedAt              time.Time
	// FinishedAt is zero while it runs.
	FinishedAt time.Time
	// Duplicate says that the idempotency key was used before, and this is the task of the first time.
	Duplicate bool
}

// TaskState is what a task is up to.
type TaskState string

// The states. The last three are final.
const (
	TaskRunning   TaskState = "running"
	TaskDone      TaskState = "done"
	TaskCancelled TaskState = "cancelled"
	TaskFailed    TaskState = "failed"
)

const (
	// taskKept is how long a finished task can be looked at, at least.
	taskKept = 7 * 24 * time.Hour
	// taskIDBytes is the length of a task's id before it is written in hexadecimal.
	taskIDBytes = 16
)

// Task shows one task.
func (e *Engine) Task(ctx context.Context, tenant, id string) (Task, error) {
	r, _, err := e.readTask(ctx, tenant, id)
	if err != nil {
		return Task{}, err
	}
	return r.shown(e.store.Clock(), tenant, id), nil
}

// Tasks lists the tenant's tasks, the newest first, after the given one (all if empty; one that is unknown by now gives
// none), at most limit, and only those on queues that visible says, nil for all. One that cannot be read is left out.
func (e *Engine) Tasks(ctx context.Context, tenant, after string, limit int, visible func(queue string) bool) ([]Task, error) {
	all, err := e.findTasks(ctx, tenant, func(*taskRecord) bool { return true })
	if err != nil {
		return nil, err
	}
	if after != "" {
		i := slices.IndexFunc(all, func(t Task) bool { return t.ID == after })
		if i < 0 {
			return nil, nil
		}
		all = all[i+1:]
	}
	if visible != nil {
		all = slices.DeleteFunc(all, func(t Task) bool { return !visible(t.Queue.Name) })
	}
	return all[:min(limit, len(all))], nil
}

// TasksOf lists the tasks that were started on a queue, the newest first, at most limit. Those of an earlier queue of the
// same name are not among them.
func (e *Engine) TasksOf(ctx context.Context, ref Ref, limit int) ([]Task, error) {
	q, _, err := e.current(ctx, ref)
	if err != nil {
		return nil, err
	}
	all, err := e.findTasks(ctx, ref.Tenant, func(r *taskRecord) bool { return r.Generation == q.id })
	if err != nil {
		return nil, err
	}
	return all[:min(limit, len(all))], nil
}

// findTasks are those of a tenant that are wanted, the newest first.
func (e *Engine) findTasks(ctx context.Context, tenant string, wanted func(*taskRecord) bool) ([]Task, error) {
	var all []Task
	err := e.eachPair(ctx, taskTenantPrefix(tenant), pageSize, func(p store.Pair) error {
		tenant, id, err := taskOfKey(p.Key)
		if err != nil {
			return err
		}
		if r, err := decodeTask(p); err == nil && wanted(&r) {
			all = append(all, r.shown(e.store.Clock(), tenant, id))
		}
		return nil
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the tasks of %s: %w", tenant, err))
	}
	slices.SortFunc(all, func(a, b Task) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// CancelTask ends a task: once it returns, no more messages are moved by this node; another node notices within
// seconds. What was moved stays so. A task that is finished is left as it is.
func (e *Engine) CancelTask(ctx context.Context, tenant, id, principal string) (Task, error) {
	for {
		r, rev, err := e.readTask(ctx, tenant, id)
		if err != nil {
			return Task{}, err
		}
		if r.State != TaskRunning {
			return r.shown(e.store.Clock(), tenant, id), nil
		}
		r.finish(TaskCancelled, e.store.Clock())
		r.CancelledBy = principal
		// From here on the client's hanging up does not stop it half-way.
		if _, err = e.putTask(context.WithoutCancel(ctx), taskKey(tenant, id), r, rev); err == nil {
			break
		}
		if !errors.Is(err, store.ErrConflict) {
			return Task{}, fromStore(fmt.Errorf("cancel task %s: %w", id, err))
		}
	}
	e.tasks.halt(ctx, taskKey(tenant, id))
	t, err := e.Task(context.WithoutCancel(ctx), tenant, id)
	if err != nil {
		return Task{}, withOutcome(Applied, err)
	}
	e.tellTaskEnded(t)
	return t, nil
}

func (e *Engine) tellTaskEnded(t Task) {
	if e.events.TaskEnded != nil {
		e.events.TaskEnded(t)
	}
}

func (e *Engine) tellStalled(q Ref, id string, err error) {
	if e.events.TaskStalled != nil {
		e.events.TaskStalled(q, id, err)
	}
}

// readTask gives the task's record with its revision.
func (e *Engine) readTask(ctx context.Context, tenant, id string) (taskRecord, store.Revision, error) {
	if b, err := hex.DecodeString(id); err != nil || len(b) != taskIDBytes {
		return taskRecord{}, 0, noTask(id)
	}
	pair, err := e.store.Get(ctx, taskKey(tenant, id))
	if errors.Is(err, store.ErrNotFound) {
		return taskRecord{}, 0, noTask(id)
	}
	if err != nil {
		return taskRecord{}, 0, fromStore(fmt.Errorf("read task %s: %w", id, err))
	}
	r, err := decodeTask(pair)
	if err != nil {
		return taskRecord{}, 0, fromStore(err)
	}
	return r, pair.Revision, nil
}

func noTask(id string) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: fmt.Sprintf("There is no task %.40q; the list of tasks has those there are. Finished ones are forgotten after a week.", id),
	}
}
