package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Tasks are kept in the key-value part of the store, one pair for each: task/<tenant>/<id>, the tenant path-escaped.
const (
	taskPrefix  = "task/"
	taskVersion = 2
)

func taskTenantPrefix(tenant string) string { return taskPrefix + url.PathEscape(tenant) + "/" }

func taskKey(tenant, id string) string { return taskTenantPrefix(tenant) + id }

func taskOfKey(key string) (tenant, id string, err error) {
	escaped, id, ok := strings.Cut(strings.TrimPrefix(key, taskPrefix), "/")
	tenant, err = url.PathUnescape(escaped)
	if !ok || err != nil {
		return "", "", fmt.Errorf("%w: task key %q", store.ErrCorrupt, key)
	}
	return tenant, id, nil
}

// taskRecord is a task as it is stored, in JSON. With it any node can go on where the last one stopped: a message that
// was moved is no longer in the queue, so that doing a part again does nothing. Version 1 had neither Renew nor ErrorCode.
type taskRecord struct {
	Version int    `json:"version"`
	Queue   string `json:"queue"`
	// Generation is that of the queue.
	Generation store.QueueID `json:"generation,string"`
	To         string        `json:"to,omitempty"`
	// Targets are the queues that messages may go back to, when To is empty.
	Targets   []string     `json:"targets,omitempty"`
	Choice    storedChoice `json:"choice"`
	RateLimit float64      `json:"rate_limit,omitempty"`
	Renew     bool         `json:"renew,omitempty"`
	// Edits says that it moves one message with another body, which is not kept.
	Edits bool `json:"edits,omitempty"`

	State     TaskState `json:"state"`
	Error     string    `json:"error,omitempty"`
	ErrorCode Code      `json:"error_code,omitempty"`
	// Cursor is where the pass over the queue goes on; PassMoved and PassSkipped count what it has done so far.
	Cursor      store.Seq `json:"cursor,omitempty"`
	PassMoved   int64     `json:"pass_moved,omitempty"`
	PassSkipped int64     `json:"pass_skipped,omitempty"`
	Moved       int64     `json:"moved"`
	Total       int64     `json:"total"`
	// Matched is Total and those that were skipped at the start.
	Matched int64   `json:"matched"`
	Skipped int64   `json:"skipped,omitempty"`
	Rate    float64 `json:"rate,omitempty"`
	// Exact says that Moved is, since its owner stopped in good order.
	Exact bool `json:"exact,omitempty"`

	// Owner is the node that works on it, until Until unless it writes again. Whoever takes it over writes with the
	// revision that it has read, so that only one does, and that the one before finds out.
	Owner string    `json:"owner,omitempty"`
	Until time.Time `json:"until"`
	// LeasedUntil, Created and Finished are in queue time what the three times have by the wall clock, as that was set then.
	// Records of earlier versions do not have them, and earlier versions go by the times.
	LeasedUntil store.Instant `json:"leased_until,omitempty"`
	Created     store.Instant `json:"created,omitempty"`
	Finished    store.Instant `json:"finished,omitempty"`

	Principal   string    `json:"principal"`
	CancelledBy string    `json:"cancelled_by,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	FinishedAt  time.Time `json:"finished_at,omitzero"`
	// Fingerprint is of the request, if it had an idempotency key.
	Fingerprint []byte `json:"fingerprint,omitempty"`
}

// storedChoice is a sieve: filters are stored resolved, so that ages count from the start of the task.
type storedChoice struct {
	States          store.States      `json:"states"`
	Group           *string           `json:"group,omitempty"`
	AvailableBefore time.Time         `json:"available_before,omitzero"`
	UpTo            store.Seq         `json:"up_to"`
	Seqs            []store.Seq       `json:"seqs,omitzero"`
	Contains        []byte            `json:"contains,omitempty"`
	Attributes      map[string]string `json:"attributes,omitempty"`
}

func choiceOf(s sieve) storedChoice {
	return storedChoice{
		States: s.selection.States, Group: s.selection.Group, AvailableBefore: s.selection.AvailableBefore,
		UpTo: s.selection.UpTo, Seqs: s.selection.Seqs,
		Contains: s.contains, Attributes: s.attributes,
	}
}

func (c *storedChoice) sieve() sieve {
	return sieve{
		selection: store.Selection{
			States: c.States, Group: c.Group, AvailableBefore: c.AvailableBefore, UpTo: c.UpTo, Seqs: c.Seqs,
		},
		contains: c.Contains, attributes: c.Attributes,
	}
}

func decodeTask(p store.Pair) (taskRecord, error) {
	var r taskRecord
	if err := json.Unmarshal(p.Value, &r); err != nil {
		return taskRecord{}, fmt.Errorf("%w: task %q: %w", store.ErrCorrupt, p.Key, err)
	}
	if r.Version < 1 || r.Version > taskVersion {
		return taskRecord{}, fmt.Errorf("%w: task %q has version %d, this program knows 1 to %d", store.ErrVersion, p.Key, r.Version, taskVersion)
	}
	return r, nil
}

// putTask writes the record if the pair still has the revision, and gives the new one. Durable on return.
func (e *Engine) putTask(ctx context.Context, key string, r taskRecord, rev store.Revision) (store.Revision, error) {
	r.Version = taskVersion
	value, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode task %s: %w", key, err)
	}
	next, err := e.store.Put(ctx, key, value, rev)
	if err != nil {
		return 0, fmt.Errorf("write task %s: %w", key, err)
	}
	return next, nil
}

// fail makes the state final by an error.
func (r *taskRecord) fail(err *Error, now store.Clock) {
	r.Error, r.ErrorCode = err.Detail, err.Code
	r.finish(TaskFailed, now)
}

// finish makes the state final.
func (r *taskRecord) finish(s TaskState, now store.Clock) {
	r.State, r.FinishedAt, r.Finished = s, now.Wall, now.Now
}

// created is when it was asked for, in queue time, finished when it ended and leasedUntil until when it is its owner's.
func (r *taskRecord) created(now store.Clock) store.Instant {
	return instantOf(now, r.Created, r.CreatedAt)
}

func (r *taskRecord) finished(now store.Clock) store.Instant {
	return instantOf(now, r.Finished, r.FinishedAt)
}

func (r *taskRecord) leasedUntil(now store.Clock) store.Instant {
	return instantOf(now, r.LeasedUntil, r.Until)
}

func (r *taskRecord) shown(now store.Clock, tenant, id string) Task {
	return Task{
		ID: id, Queue: Ref{tenant, r.Queue}, To: r.To, State: r.State, Error: r.Error, ErrorCode: r.ErrorCode,
		Moved: r.Moved, Total: max(r.Total, r.Moved), Skipped: max(r.Skipped, r.PassSkipped),
		Rate: r.Rate, RateLimit: r.RateLimit, ETA: r.eta(),
		Principal: r.Principal, CancelledBy: r.CancelledBy,
		CreatedAt: showStamp(now, r.Created, r.CreatedAt), FinishedAt: showStamp(now, r.Finished, r.FinishedAt),
	}
}

// eta goes by the rate so far, or by what is allowed as long as there is none.
func (r *taskRecord) eta() time.Duration {
	rate := r.Rate
	if rate == 0 {
		rate = r.RateLimit
	}
	left := r.Total - r.Moved
	switch {
	case r.State != TaskRunning:
		return -1
	case left <= 0:
		return 0
	case rate == 0:
		return -1
	}
	return time.Duration(min(float64(left)/rate, MaxDuration.Seconds()) * float64(time.Second))
}
