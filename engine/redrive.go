package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// MinRate is the least that RedriveRequest.Rate may be, in messages a second.
const MinRate = 0.001

// RedriveRequest says which messages of a queue go where.
type RedriveRequest struct {
	// To is a queue of the same tenant. If it is empty each message goes back to the queue it last came from; those
	// that came from none, or from one that is no more, are skipped.
	To string
	// Filter chooses the messages. Leased ones are left to their holders in any case.
	Filter Filter
	// Rate is how many messages a second may be moved; 0 for no limit.
	Rate float64
	// Renew makes the messages new where they go: with another id, sent by the move, never delivered, and of no origin.
	Renew bool
	// Edit gives one message, which is then the only one, another body.
	Edit *Edit
	// Principal is who asks for it.
	Principal string
	// Allow says whether the principal may send to a queue; nil for all. Its error is returned as it is.
	Allow func(queue string) error
	// Key makes the request repeatable; nil for none.
	Key *IdempotencyKey
}

// Edit replaces the body of a message while it is moved. Its attributes and its content type stay.
type Edit struct {
	ID   MessageID
	Body []byte
}

// RedrivePlan is what a redrive would do at this moment.
type RedrivePlan struct {
	// Total counts the messages that would be moved, Skipped those that would have to stay.
	Total, Skipped int64
	// ByTarget are the moved ones by where they would go.
	ByTarget map[string]int64
}

// PlanRedrive counts and changes nothing.
func (e *Engine) PlanRedrive(ctx context.Context, ref Ref, req RedriveRequest) (RedrivePlan, error) {
	var p redrivePlan
	err := e.follow(ctx, ref, func(q *queue, _ *setup) error {
		var err error
		_, p, err = e.prepareRedrive(ctx, q, &req)
		return err
	})
	if err != nil {
		return RedrivePlan{}, ownError(err)
	}
	return RedrivePlan{Total: p.total, Skipped: p.skipped, ByTarget: p.byTarget}, nil
}

// Redrive starts a task that moves the messages there are at this moment; later ones are not its. Each is moved once,
// whatever happens meanwhile, and keeps its id (but see Renew), its group and what it says; how often it was delivered counts
// anew. An edited message is moved when Redrive returns.
func (e *Engine) Redrive(ctx context.Context, ref Ref, req RedriveRequest) (Task, error) {
	if err := req.Key.validate(); err != nil {
		return Task{}, err
	}
	for {
		t, prev, err := e.earlier(ctx, ref, &req)
		if err != nil {
			return Task{}, err
		}
		if t != nil {
			return *t, nil
		}
		var fresh Task
		err = e.follow(ctx, ref, func(q *queue, _ *setup) error {
			s, p, err := e.prepareRedrive(ctx, q, &req)
			if err != nil {
				return err
			}
			fresh, err = e.startRedrive(ctx, q, &req, s, p, prev)
			return err
		})
		if req.Key == nil || !errors.Is(err, store.ErrConflict) {
			return fresh, ownError(err)
		}
		// A repeat was faster.
	}
}

// deniedError is an error of the caller's own, on its way back to it.
type deniedError struct{ error }

func (d *deniedError) Unwrap() error { return d.error }

func ownError(err error) error {
	if d, ok := errors.AsType[*deniedError](err); ok {
		return d.error
	}
	return err
}

// prepareRedrive checks all that can be checked, fixes which messages it is about, and counts them.
func (e *Engine) prepareRedrive(ctx context.Context, q *queue, req *RedriveRequest) (sieve, redrivePlan, error) {
	if err := req.validate(q.ref); err != nil {
		return sieve{}, redrivePlan{}, err
	}
	if req.To != "" {
		if err := e.mayRedriveTo(ctx, q.ref.Tenant, req, req.To); err != nil {
			return sieve{}, redrivePlan{}, err
		}
	}
	filter := req.Filter
	if req.Edit != nil {
		filter.IDs = []MessageID{req.Edit.ID}
	}
	last, err := e.lastSeq(ctx, q)
	if err != nil {
		return sieve{}, redrivePlan{}, err
	}
	s, err := e.sieve(ctx, q, &filter)
	if err != nil {
		return sieve{}, redrivePlan{}, err
	}
	s.selection.UpTo = last
	if s.selection.States == 0 {
		s.selection.States = store.AnyState
	}
	s.selection.States &^= store.StateLeased
	if last == 0 {
		return s, redrivePlan{}, nil
	}
	p, err := e.planOrCount(ctx, q, s, req.To)
	if err != nil {
		return sieve{}, redrivePlan{}, err
	}
	if req.To == "" {
		for _, name := range p.targets {
			if err := e.mayRedriveTo(ctx, q.ref.Tenant, req, name); err != nil {
				return sieve{}, redrivePlan{}, err
			}
		}
	}
	return s, p, nil
}

func (r *RedriveRequest) validate(ref Ref) *Error {
	if r.To == ref.Name {
		return invalid("to", "The messages are in this queue already; name another, or none to send each back to where it came from.")
	}
	if r.Rate != 0 && !(r.Rate >= MinRate && r.Rate <= MaxRate) {
		return invalid("rate", fmt.Sprintf("Give a number of messages a second from %g to %d, or none for no limit.", MinRate, MaxRate))
	}
	if err := r.Filter.validate(); err != nil {
		return err
	}
	if slices.Contains(r.Filter.States, StateLeased) {
		return invalid("state", "Leased messages are left to their holders; give ready, delayed or dead.")
	}
	if r.Edit == nil {
		return nil
	}
	if ids := r.Filter.IDs; ids != nil && (len(ids) != 1 || ids[0] != r.Edit.ID) {
		return invalid("ids", "One message can be edited at a time; leave ids out, or give the edited one alone.")
	}
	r.Filter.IDs = nil
	if !r.Filter.isZero() {
		return invalid("filter", "The edited message is chosen by its id; leave the filter out.")
	}
	return nil
}

func (f *Filter) isZero() bool {
	return f.States == nil && f.Group == nil && f.Contains == "" && len(f.Attributes) == 0 && f.OlderThan == nil
}

// mayRedriveTo says why messages cannot go to a queue.
func (e *Engine) mayRedriveTo(ctx context.Context, tenant string, req *RedriveRequest, name string) error {
	if req.Allow != nil {
		if err := req.Allow(name); err != nil {
			return &deniedError{err}
		}
	}
	_, _, err := e.current(ctx, Ref{tenant, name})
	if err != nil && ErrorOf(err).Code == CodeNotFound {
		missing := *ErrorOf(err)
		missing.Field = "to"
		return &missing
	}
	return err
}

// startRedrive writes the task's record, in the place of that with the revision, and lets it run.
func (e *Engine) startRedrive(ctx context.Context, q *queue, req *RedriveRequest, s sieve, p redrivePlan, prev store.Revision) (Task, error) {
	now := e.store.Clock()
	record := taskRecord{
		Queue: q.ref.Name, Generation: q.id, To: req.To, Targets: p.targets, Choice: choiceOf(s), RateLimit: req.Rate,
		Renew: req.Renew, Edits: req.Edit != nil, State: TaskRunning, Total: p.total, Matched: p.total + p.skipped, Owner: e.node, Until: now.Wall.Add(taskLease),
		Principal: req.Principal, CreatedAt: now.Wall, Created: now.Now, LeasedUntil: now.Now + instants(taskLease),
	}
	if req.Edit != nil {
		return e.redriveEdited(ctx, q, req, record, prev)
	}
	if e.tasks.count() >= maxRuns {
		return Task{}, conflict("", fmt.Sprintf("There are %d tasks running; wait for one, or cancel one.", maxRuns))
	}
	if record.Choice.UpTo == 0 {
		record.finish(TaskDone, now)
	}
	// From here on the client's hanging up does not stop it half-way, with a record that nobody works on.
	id, rev, err := e.newTask(context.WithoutCancel(ctx), q.ref.Tenant, req, &record, prev)
	if err != nil {
		return Task{}, err
	}
	t := record.shown(e.store.Clock(), q.ref.Tenant, id)
	if e.events.TaskStarted != nil {
		e.events.TaskStarted(t)
	}
	if record.State == TaskRunning {
		e.tasks.begin(e.newRun(q.ref.Tenant, id, record, rev))
	} else {
		e.tellTaskEnded(t)
	}
	return t, nil
}

// newTask writes the first record of a task and removes those of its tenant that ended long ago.
func (e *Engine) newTask(ctx context.Context, tenant string, req *RedriveRequest, record *taskRecord, prev store.Revision) (string, store.Revision, error) {
	if err := e.forgetTasks(ctx, tenant); err != nil {
		return "", 0, fmt.Errorf("remove old tasks of %s: %w", tenant, err)
	}
	var id string
	if req.Key == nil {
		b := make([]byte, taskIDBytes)
		if err := e.random.secret(b); err != nil {
			return "", 0, fmt.Errorf("choose a task's id: %w", err)
		}
		id = hex.EncodeToString(b)
	} else {
		id = keyedTask(tenant, req.Key)
		record.Fingerprint = req.fingerprint()
	}
	rev, err := e.putTask(ctx, taskKey(tenant, id), *record, prev)
	return id, rev, err
}

// forgetTasks removes the tenant's tasks that ended long ago. One that cannot be read stays.
func (e *Engine) forgetTasks(ctx context.Context, tenant string) error {
	now := e.store.Clock()
	if now.Protected > 0 {
		return nil // it may seem long ago only
	}
	var old []store.Pair
	err := e.eachPair(ctx, taskTenantPrefix(tenant), pageSize, func(p store.Pair) error {
		r, err := decodeTask(p)
		if err == nil && r.State != TaskRunning && now.Now-r.finished(now) > instants(taskKept) {
			old = append(old, store.Pair{Key: p.Key, Revision: p.Revision})
		}
		return nil
	})
	for _, p := range old {
		if err := e.store.Delete(ctx, p.Key, p.Revision); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return err
}

// earlier is the task that the request's idempotency key has started before. It is nil if there is none, or one so old
// that the key may be used again, in the place of the record with the revision prev.
func (e *Engine) earlier(ctx context.Context, ref Ref, req *RedriveRequest) (t *Task, prev store.Revision, err error) {
	if req.Key == nil {
		return nil, 0, nil
	}
	id := keyedTask(ref.Tenant, req.Key)
	r, prev, err := e.readTask(ctx, ref.Tenant, id)
	if err != nil {
		if ErrorOf(err).Code == CodeNotFound {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	if now := e.store.Clock(); r.State != TaskRunning && now.Now-r.created(now) >= instants(IdempotencyWindow) {
		return nil, prev, nil
	}
	if !slices.Equal(r.Fingerprint, req.fingerprint()) {
		return nil, 0, fromStore(fmt.Errorf("redrive %s: %w", ref, store.ErrKeyReused))
	}
	shown := r.shown(e.store.Clock(), ref.Tenant, id)
	shown.Duplicate = true
	return &shown, 0, nil
}

// keyedTask is the id of the task that a key starts.
func keyedTask(tenant string, k *IdempotencyKey) string {
	text, _ := json.Marshal([]string{tenant, k.Principal, k.Path, k.Key}) // strings always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:taskIDBytes])
}

// fingerprint tells requests apart.
func (r *RedriveRequest) fingerprint() []byte {
	text, _ := json.Marshal(struct { // nothing in it can fail to encode
		To     string
		Filter Filter
		Rate   float64
		Edit   *Edit
		Renew  bool `json:",omitempty"` // so that other requests have the fingerprints they had before there was this
	}{r.To, r.Filter, r.Rate, r.Edit, r.Renew})
	sum := sha256.Sum256(text)
	return sum[:16]
}
