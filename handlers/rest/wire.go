package rest

import (
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// Queue is a queue on the wire.
type Queue struct {
	Name   string      `json:"name" validate:"required" example:"orders"`
	Config QueueConfig `json:"config" validate:"required"`
	Counts Counts      `json:"counts" validate:"required"`
	// The age of the oldest ready message since it first became available here; null when none is ready.
	OldestAge *Duration `json:"oldest_age" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"12s"`
	// What the queue does not do for now; absent when it does everything.
	Paused *Paused `json:"paused,omitzero"`
	// In a list, why this queue could not be counted: its counts are then unknown and shown as 0. Absent when they are known.
	Uncounted string `json:"uncounted,omitzero"`
	QueueNumbers
	// Of a change only: what was accepted and will not work as things are now. Absent when there is nothing.
	Warnings []Warning `json:"warnings,omitzero"`
}

// Warning is about a field that was accepted.
type Warning struct {
	Field  string `json:"field" validate:"required" example:"dead_letter.queue"`
	Detail string `json:"detail" validate:"required" example:"There is no queue orders-dead yet; until there is, dead messages stay in this queue."`
}

// Counts are exact and agree with one another, unless they are approximate.
type Counts struct {
	Ready   int64 `json:"ready" validate:"required"`
	Leased  int64 `json:"leased" validate:"required"`
	Delayed int64 `json:"delayed" validate:"required"`
	Dead    int64 `json:"dead" validate:"required"`
	// Messages on their way to another queue, as dead ones to their dead-letter queue. Absent when there are none.
	Moving int64 `json:"moving,omitzero"`
	// Bodies and attributes of all others.
	Bytes int64 `json:"bytes" validate:"required"`
	// The queue has shards: the counts are sums of what each of them counted at its own moment. Absent for other queues.
	Approximate bool `json:"approximate,omitzero"`
}

// QueueList is one page of queues.
type QueueList struct {
	Queues []Queue `json:"queues" validate:"required"`
	// Where the next page starts; absent on the last one.
	Cursor string `json:"cursor,omitzero"`
}

// SendRequest is one message, or many in messages.
type SendRequest struct {
	NewMessage
	// Up to 1000 messages, instead of one.
	Messages []NewMessage `json:"messages,omitzero"`
}

// NewMessage is one message to send: body or body_base64 is required.
type NewMessage struct {
	// The message as text.
	Body *string `json:"body,omitzero" example:"hello"`
	// The message as bytes.
	BodyBase64 []byte     `json:"body_base64,omitzero" swaggertype:"string" format:"base64" example:"aGVsbG8="`
	Attributes Attributes `json:"attributes,omitzero" swaggertype:"object"`
	// Holds the message back for this long instead of the queue's delay.
	Delay *Duration `json:"delay,omitzero" swaggertype:"string" extensions:"x-duration" example:"30s"`
	// Holds the message back until then; the later of the two counts.
	DeliverAt *time.Time `json:"deliver_at,omitzero" format:"date-time" example:"2026-11-29T16:50:00Z"`
	// What the message belongs to: a FIFO queue keeps the order of each group, in a fair one groups take turns. At most
	// 128 bytes.
	Group string `json:"group,omitzero" example:"customer-42"`
	// Makes the message a duplicate of one that was sent with the same id within the queue's window. At most 128 bytes.
	DedupID string `json:"dedup_id,omitzero" example:"order-1234"`
	// From 0 to 9, which comes first, for a queue with priorities.
	Priority int `json:"priority,omitzero" example:"5"`
	// How long from now the message may be delivered.
	TTL *Duration `json:"ttl,omitzero" swaggertype:"string" extensions:"x-duration" example:"1h"`

	fault fault
}

// SendAnswer is the answer to one message.
type SendAnswer struct {
	// The message's id; of a duplicate that of the first one. Absent if it was dropped.
	ID string `json:"id,omitzero" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
	// The message's place in a FIFO queue.
	Sequence uint64 `json:"sequence,omitzero" example:"17"`
	// The idempotency key was used before, and this is what happened then; or the message is a duplicate of an earlier one
	// and was not sent again.
	Duplicate bool `json:"duplicate,omitzero"`
	// The queue is full, and its overflow says to pass over new messages: this one was not sent.
	Dropped bool `json:"dropped,omitzero"`
}

// SendManyAnswer has a result for each message, in order.
type SendManyAnswer struct {
	Results   []SendResult `json:"results" validate:"required"`
	Duplicate bool         `json:"duplicate,omitzero"`
}

// SendResult is the id of an accepted message, or why it was refused.
type SendResult struct {
	SendAnswer
	Error *ItemError `json:"error,omitzero"`
}

// ItemError says why one item of a request was refused.
type ItemError struct {
	Code   engine.Code `json:"code" validate:"required" swaggertype:"string" example:"lease_lost"`
	Detail string      `json:"detail" validate:"required"`
	Field  string      `json:"field,omitzero"`
}

// ReceiveRequest says how many messages to lease and how long to wait for the first.
type ReceiveRequest struct {
	// From 1 to 1000.
	Max *int `json:"max,omitzero" example:"10"`
	// Defaults to the queue's.
	Wait *Duration `json:"wait,omitzero" swaggertype:"string" extensions:"x-duration" example:"20s"`
	// Defaults to the queue's.
	Visibility *Duration `json:"visibility,omitzero" swaggertype:"string" extensions:"x-duration" example:"30s"`
	// Free text that names the receiver.
	Consumer string `json:"consumer,omitzero" example:"worker-7"`
	// Makes the call repeatable for 5 minutes: as long as all its messages are leased, a repeat with the same id gives them
	// again, with the same receipts. At most 128 bytes.
	AttemptID string `json:"attempt_id,omitzero" example:"worker-7-000123"`
}

// ReceiveAnswer holds the leased messages, oldest first; none is not an error.
type ReceiveAnswer struct {
	Messages []Message `json:"messages" validate:"required"`
}

// Message is one delivery.
type Message struct {
	ID string `json:"id" validate:"required" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
	// The proof of this delivery, for ack, nack and extend.
	Receipt string `json:"receipt" validate:"required"`
	// The body, if it is valid UTF-8.
	Body *string `json:"body,omitzero" example:"hello"`
	// The body otherwise.
	BodyBase64  []byte     `json:"body_base64,omitzero" swaggertype:"string" format:"base64"`
	ContentType string     `json:"content_type,omitzero" example:"image/jpeg"`
	Attributes  Attributes `json:"attributes" validate:"required" swaggertype:"object"`
	// Deliveries over the message's whole life, this one included.
	Receives    uint32    `json:"receives" validate:"required" example:"1"`
	SentAt      time.Time `json:"sent_at" validate:"required" format:"date-time"`
	TraceParent string    `json:"traceparent,omitzero"`
	Group       string    `json:"group,omitzero" example:"customer-42"`
	// What the sender gave as dedup_id.
	DedupID string `json:"dedup_id,omitzero" example:"order-1234"`
	// Absent for 0.
	Priority int `json:"priority,omitzero" example:"5"`
	// When its time to live ends.
	ExpiresAt *time.Time `json:"expires_at,omitzero" format:"date-time"`
	// Its place in a FIFO queue.
	Sequence uint64 `json:"sequence,omitzero" example:"17"`
	Lease    Lease  `json:"lease" validate:"required"`
	// Set for a message that came from another queue as a dead letter.
	Origin *Origin `json:"origin,omitzero"`
}

// Lease is the right to settle one delivery.
type Lease struct {
	// Rises with every delivery of the queue.
	Token     uint64    `json:"token" validate:"required"`
	ExpiresAt time.Time `json:"expires_at" validate:"required" format:"date-time"`
}

// Origin says where a dead letter came from.
type Origin struct {
	Queue string `json:"queue" validate:"required" example:"orders"`
	// The reason of the last nack.
	Reason string `json:"reason,omitzero"`
	// Deliveries before it came here.
	Receives uint32    `json:"receives" validate:"required"`
	MovedAt  time.Time `json:"moved_at" validate:"required" format:"date-time"`
}

// AckRequest names deliveries that are done with.
type AckRequest struct {
	Receipts []string `json:"receipts" validate:"required"`
}

// NackRequest gives deliveries back: as items, or as receipts that share a delay and a reason.
type NackRequest struct {
	Items    []NackItem `json:"items,omitzero"`
	Receipts []string   `json:"receipts,omitzero"`
	// Replaces the queue's retry policy, for receipts.
	Delay *Duration `json:"delay,omitzero" swaggertype:"string" extensions:"x-duration" example:"10s"`
	// Kept with the messages and shown on their dead letters, for receipts; cut to 1024 bytes.
	Reason string `json:"reason,omitzero" example:"no stock"`
	// Rejects the messages for good, for receipts.
	Dead bool `json:"dead,omitzero"`
}

// NackItem gives one delivery back.
type NackItem struct {
	Receipt string `json:"receipt" validate:"required"`
	// Kept with the message and shown on its dead letter; cut to 1024 bytes.
	Reason string `json:"reason,omitzero" example:"no stock"`
	// Replaces the queue's retry policy.
	Delay *Duration `json:"delay,omitzero" swaggertype:"string" extensions:"x-duration" example:"10s"`
	// Rejects the message: it will not be delivered from this queue again.
	Dead bool `json:"dead,omitzero"`

	fault fault
}

// ExtendRequest lets leases end later: as items, or as receipts that share a visibility.
type ExtendRequest struct {
	Items    []ExtendItem `json:"items,omitzero"`
	Receipts []string     `json:"receipts,omitzero"`
	// From now, for receipts.
	Visibility *Duration `json:"visibility,omitzero" swaggertype:"string" extensions:"x-duration" example:"60s"`
}

// ExtendItem lets one lease end later.
type ExtendItem struct {
	Receipt string `json:"receipt" validate:"required"`
	// From now.
	Visibility *Duration `json:"visibility" validate:"required" swaggertype:"string" extensions:"x-duration" example:"60s"`

	fault fault
}

// Results has what became of each item, in order.
type Results struct {
	Results []Result `json:"results" validate:"required"`
}

// Result is ok, or why the item was refused.
type Result struct {
	OK    bool       `json:"ok,omitzero"`
	Error *ItemError `json:"error,omitzero"`
}

// Info describes the server.
type Info struct {
	Version string `json:"version" validate:"required" example:"0.1.0"`
	// The kind of store.
	Store string `json:"store" validate:"required" example:"segment"`
	// What an acknowledgement survives, as the store was last heard; of several servers that of the one which promises least.
	Promise string `json:"promise" validate:"required"`
	// Whether data survives the process.
	Durable  bool     `json:"durable" validate:"required"`
	Features []string `json:"features" validate:"required"`
	Limits   Limits   `json:"limits" validate:"required"`
	// What this server has noticed of failovers of its store since it started; absent if the store cannot fail over.
	Failovers *Failovers `json:"failovers,omitzero"`
	// What this server has noticed of the machine's wall clock since it started.
	Clock *ClockInfo `json:"clock,omitzero"`
}

// ClockInfo is what was noticed of the machine's wall clock.
type ClockInfo struct {
	// What it shows.
	Now Time `json:"now" validate:"required" swaggertype:"string" format:"date-time"`
	// How often it was set, while the server ran or while it was stopped.
	Steps int `json:"steps" validate:"required" example:"0"`
	// The last time that it was set.
	LastStep *ClockStep `json:"last_step,omitzero"`
	// The time that the server was stopped for before this start, if the clock was set meanwhile, or if it had to be guessed and the guess is implausible.
	Gap *ClockGap `json:"gap,omitzero"`
	// Until then retention and times to live remove nothing, since the time that the server was stopped for is doubtful.
	ProtectedUntil Time `json:"protected_until,omitzero" swaggertype:"string" format:"date-time"`
}

// ClockStep is one time that the wall clock was set.
type ClockStep struct {
	// What it showed after that.
	At Time `json:"at" validate:"required" swaggertype:"string" format:"date-time"`
	// Forward, or back if it is negative.
	By Duration `json:"by" validate:"required" swaggertype:"string" extensions:"x-duration" example:"-1h"`
}

// ClockGap is a time that the server was stopped for.
type ClockGap struct {
	// What counts as elapsed.
	Counted Duration `json:"counted" validate:"required" swaggertype:"string" extensions:"x-duration" example:"0s"`
	// What the wall clock says; negative if it was put back.
	Wall Duration `json:"wall" validate:"required" swaggertype:"string" extensions:"x-duration" example:"-1h"`
	// Whether counted was measured by the machine's boot clock.
	Measured bool `json:"measured" validate:"required"`
}

// Failovers are the times that another process took a store server's place, and what was lost by that.
type Failovers struct {
	// How often another process, or one that was started again, took the place of a server of the store, or one was emptied while it ran.
	Count int `json:"count" validate:"required" example:"1"`
	// The last one; absent when there was none.
	LastAt Time `json:"last_at,omitzero" swaggertype:"string" format:"date-time"`
	// How many acknowledged changes are lost, by kind. Each server of Dabba counts its own: add them up, but take the largest other.
	Lost Lost `json:"lost" validate:"required"`
	// More may be lost than was counted.
	Partial bool `json:"partial,omitzero"`
}

// Lost counts acknowledged changes that are lost.
type Lost struct {
	// Messages sent.
	Send int `json:"send" validate:"required" example:"3"`
	// Deliveries: the messages are delivered again.
	Receive int `json:"receive" validate:"required" example:"1"`
	// Acks, nacks and extends: what was acked is delivered again.
	Settle int `json:"settle" validate:"required" example:"2"`
	// Records of topics.
	Append int `json:"append" validate:"required" example:"0"`
	// Changes of queues, topics, schedules, tasks and committed offsets.
	Catalog int `json:"catalog" validate:"required" example:"0"`
	// Changes of which another server was told, which counts them too, or one that is no more.
	Other int `json:"other" validate:"required" example:"0"`
}

// Ready says that the server can serve, and what it promises at the moment.
type Ready struct {
	Status string `json:"status" validate:"required" example:"ready"`
	// The kind of store.
	Store string `json:"store" validate:"required" example:"redis"`
	// What an acknowledgement survives, as the store was last heard; of several servers that of the one which promises least.
	Promise string `json:"promise" validate:"required"`
}

// Limits hold for every queue.
type Limits struct {
	MaxBatch        int   `json:"max_batch" validate:"required" example:"1000"`
	MaxMessageBytes int64 `json:"max_message_bytes" validate:"required" example:"67108864"`
	// The most of bodies that one receive answers with, except that it always answers with one message.
	MaxAnswerBytes int64 `json:"max_answer_bytes" validate:"required" example:"16777216"`
	// What every call takes. A send takes more if its queue does: 4/3 of the queue's max_message_bytes and 1 MiB.
	MaxBodyBytes int64    `json:"max_body_bytes" validate:"required" example:"16777216"`
	MaxWait      Duration `json:"max_wait" validate:"required" swaggertype:"string" example:"1h"`
	// What all requests and connections may take of the server's memory together, in bytes; beyond it requests are refused with
	// 503. It is less while queues take much.
	MemoryBytes int64 `json:"memory_bytes" validate:"required" example:"536870912"`
	// What they take now, as estimated.
	MemoryUsedBytes int64 `json:"memory_used_bytes" validate:"required" example:"98304"`
}

// Identity is who the server takes the caller for.
type Identity struct {
	Tenant  string   `json:"tenant" validate:"required" example:"default"`
	Subject string   `json:"subject" validate:"required" example:"worker-7"`
	Scopes  []string `json:"scopes" validate:"required" example:"queues:receive:orders"`
	// When the token ends; absent for never.
	ExpiresAt *time.Time `json:"expires_at,omitzero" format:"date-time"`
}

// Status says that a check went well.
type Status struct {
	Status string `json:"status" validate:"required" example:"ok"`
}
