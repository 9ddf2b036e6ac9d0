package engine

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var errClosed = fromStore(store.ErrClosed)

// Open starts an engine on a store, which stays the caller's to close, after Close.
func Open(ctx context.Context, s store.Store, o Options) (*Engine, error) {
	return &Engine{store: s, opts: o}, nil
}

// Drain answers all waiters at once, with what there is; later receives do not wait. The engine goes on serving.
func (e *Engine) Drain() {}

// Close drains and joins the engine's goroutines, or gives up when ctx ends. It does not close the store.
func (e *Engine) Close(ctx context.Context) error { return errClosed }

// Ping says whether the engine can serve.
func (e *Engine) Ping(ctx context.Context) error { return errClosed }

// StoreInfo describes the backend.
func (e *Engine) StoreInfo() StoreInfo { return StoreInfo{} }

// PutQueue creates the queue or replaces its configuration; created says which. ifMatch is empty for no condition,
// "*" for a queue that must exist, or the ETag it must have; otherwise it is a conflict on the field "If-Match".
func (e *Engine) PutQueue(ctx context.Context, ref Ref, cfg QueueConfig, ifMatch string) (q Queue, created bool, err error) {
	return Queue{}, false, errClosed
}

// ChangeQueue replaces the configuration by what change makes of the present one. An error of change is returned as
// it is. ifMatch is as in PutQueue.
func (e *Engine) ChangeQueue(ctx context.Context, ref Ref, ifMatch string, change func(QueueConfig) (QueueConfig, error)) (Queue, error) {
	return Queue{}, errClosed
}

// Queue shows one queue.
func (e *Engine) Queue(ctx context.Context, ref Ref) (Queue, error) { return Queue{}, errClosed }

// Queues lists the tenant's queues whose name has the prefix and comes after the given one, by name, at most limit.
func (e *Engine) Queues(ctx context.Context, tenant, prefix, after string, limit int) ([]Queue, error) {
	return nil, errClosed
}

// DeleteQueue removes the queue for ever. Unless forced it is a conflict while messages remain in it or another
// queue names it as dead-letter queue.
func (e *Engine) DeleteQueue(ctx context.Context, ref Ref, force bool) error { return errClosed }

// Send appends messages in order. A message that is refused does not stop the others. Accepted means durable.
func (e *Engine) Send(ctx context.Context, ref Ref, req SendRequest) (SendAnswer, error) {
	return SendAnswer{}, errClosed
}

// Received is the answer to one receive.
type Received struct {
	Messages []Delivery
}

// Undo gives the messages back as if they had not been received: for a client that never got the whole answer.
func (r *Received) Undo(ctx context.Context) error { return errClosed }

// Receive leases up to Max ready messages, oldest first, and waits for the first if there is none. An empty answer
// is not an error. When ctx ends before it returns, nothing is leased and nothing is counted.
func (e *Engine) Receive(ctx context.Context, ref Ref, req ReceiveRequest) (*Received, error) {
	return nil, errClosed
}

// Ack removes messages. One that is already gone is fine, so an ack may be repeated.
func (e *Engine) Ack(ctx context.Context, ref Ref, receipts []string) ([]ItemResult, error) {
	return nil, errClosed
}

// Nack gives messages back, to be delivered again as the retry policy or the item says, or to be dead.
func (e *Engine) Nack(ctx context.Context, ref Ref, items []NackItem) ([]ItemResult, error) {
	return nil, errClosed
}

// Extend lets leases end later, or earlier. Only a lease that still runs can be extended.
func (e *Engine) Extend(ctx context.Context, ref Ref, items []ExtendItem) ([]ItemResult, error) {
	return nil, errClosed
}
