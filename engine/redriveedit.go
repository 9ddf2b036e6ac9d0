package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// redriveEdited moves one message with another body, and writes the task's record before and after, so that it is known
// what happened whenever the server stops.
func (e *Engine) redriveEdited(ctx context.Context, q *queue, req *RedriveRequest, record taskRecord, prev store.Revision) (Task, error) {
	v, err := e.editable(ctx, q, req.Edit.ID)
	if err != nil {
		return Task{}, err
	}
	name := req.To
	if name == "" {
		name = cameFrom(&v)
	}
	to, err := e.redrivable(ctx, q, name)
	if err != nil {
		return Task{}, err
	}
	if to == nil {
		return Task{}, invalid("to", "The message did not come from a queue that exists; name the one it is to go to.")
	}
	entry, err := edited(&v, req.Edit.Body, to.setup.Load().config.MaxMessageBytes)
	if err != nil {
		return Task{}, err
	}
	// From here on the client's hanging up does not stop it half-way.
	ctx = context.WithoutCancel(ctx)
	id, rev, err := e.newTask(ctx, q.ref.Tenant, req, &record, prev)
	if err != nil {
		return Task{}, err
	}
	r := e.newRun(q.ref.Tenant, id, record, rev)
	if e.events.TaskStarted != nil {
		e.events.TaskStarted(record.shown(e.store.Clock(), q.ref.Tenant, id))
	}
	_, err = e.redriveMove(ctx, q, to, r, store.MoveParams{
		Select:  store.Selection{States: r.sieve.selection.States, Seqs: []store.Seq{v.Seq}},
		Limit:   1,
		Replace: &entry,
	}, []MessageID{req.Edit.ID})
	refused := r.endEdit(e, err)
	if _, err := e.note(ctx, r); err != nil {
		return Task{}, withOutcome(Unknown, fmt.Errorf("note the end of task %s: %w", id, err))
	}
	if refused != nil {
		return Task{}, refused
	}
	return r.record.shown(e.store.Clock(), q.ref.Tenant, id), nil
}

// editable finds the message.
func (e *Engine) editable(ctx context.Context, q *queue, id MessageID) (store.View, error) {
	v, err := e.locate(ctx, q, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && v.State == 0:
		return store.View{}, &Error{
			Code: CodeNotFound, Field: "edit.id", Outcome: NotApplied,
			Detail: "There is no such message in the queue " + q.ref.Name + "; look for it where it was moved to.",
		}
	case err != nil:
		return store.View{}, err
	case v.State == store.StateLeased:
		return store.View{}, heldByAnother()
	}
	return v, nil
}

func heldByAnother() *Error {
	return conflict("edit.id", "A consumer holds the message; repeat when its lease has ended, or when it was given back.")
}

// edited is the message with another body. What else it says stays.
func edited(v *store.View, body []byte, most int64) (store.Entry, error) {
	var d Delivery
	if err := decodePayload(v.Payload, &d); err != nil {
		return store.Entry{}, fmt.Errorf("read message %d: %w", v.Seq, err)
	}
	m := Message{
		Body: body, ContentType: d.ContentType, Attributes: d.Attributes, TraceParent: d.TraceParent, DedupID: d.DedupID,
	}
	size := messageSize(&m)
	if size > most {
		return store.Entry{}, &Error{
			Code: CodeTooLarge, Field: "edit.body", Outcome: NotApplied,
			Detail: fmt.Sprintf("The message would have %d bytes; the queue it goes to takes %d.", size, most),
		}
	}
	payload := append(appendHead(make([]byte, 0, payloadBound(&m)), &m), body...)
	return store.Entry{Payload: payload, Size: uint32(size)}, nil
}

// endEdit finishes the record by what became of the move, and says why nothing was moved.
func (r *run) endEdit(e *Engine, err error) *Error {
	now := e.store.Clock()
	if err == nil && r.record.Moved == 1 {
		r.record.finish(TaskDone, now)
		return nil
	}
	refused := heldByAnother()
	if err != nil && !errors.Is(err, errAgain) {
		refused = fromStore(err)
	}
	r.record.fail(refused, now)
	return refused
}

// settleEdit finds out what became of an edit during which the server was lost.
func (e *Engine) settleEdit(ctx context.Context, r *run) error {
	q, err := e.redriveSource(ctx, r)
	if err == nil {
		err = e.recount(ctx, q, r)
	}
	switch {
	case err != nil && !isFinal(err):
		return err
	case err == nil && r.record.Moved > 0:
		r.record.finish(TaskDone, e.store.Clock())
	default:
		r.record.fail(&Error{
			Code: CodeUnavailable, Detail: "The server was stopped before the message was moved; repeat the request.",
		}, e.store.Clock())
	}
	_, err = e.note(ctx, r)
	return err
}
