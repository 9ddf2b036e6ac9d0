package store

import (
	"math"
	"time"
)

// QueueID is a generation: one creation of one queue. It is chosen by the caller, never zero, never used again.
type QueueID uint64

// Seq numbers the messages of one queue, from 1, in the order they were sent.
type Seq uint64

// Token fences one delivery. It rises with every Claim of a queue, also across crashes; messages leased by one
// call share it. It stays below 2^53.
type Token uint64

// Tick is the resolution of a message's age: 128 ms.
const Tick = 128 * time.Millisecond

// NoDue is the NextDue of a queue in which time alone changes nothing.
const NoDue = time.Duration(math.MaxInt64)

// Settings are the resolved numbers of a queue's configuration that its state machine needs.
type Settings struct {
	// Revision rises with each change of configuration.
	Revision uint64
	// MaxReceives is the number of deliveries after which a message is dead; 0 means no limit.
	MaxReceives uint32
	// Lazy leaves the verdict of MaxReceives to the next Claim; otherwise a nack or the end of a lease gives it.
	Lazy bool
	// Retention is how long a message may stay ready or dead, counted from when it first became available; 0 means
	// for ever. A leased or delayed message is not removed.
	Retention time.Duration
}

// Entry is one message to be sent. The payload is opaque to the store.
type Entry struct {
	Payload []byte
	// Size is what the message counts in Stats.Bytes: body and attributes, in bytes.
	Size uint32
	// Delay keeps the message from being claimed for this long.
	Delay time.Duration
	// NotBefore does the same until a wall-clock time; the later of the two counts. Zero means at once.
	NotBefore time.Time
}

// Once makes a Send repeatable: the first use of Key is remembered for Window, in the same record as the messages.
type Once struct {
	Key         [16]byte
	Fingerprint [16]byte
	Window      time.Duration
	// Note is handed back, as it was, to those who repeat. At most 1 KiB.
	Note []byte
}

// SendParams describe one Send: at least one entry.
type SendParams struct {
	Queue    QueueID
	Revision uint64
	Entries  []Entry
	Once     *Once
}

// SendResult says where the messages are: sequences First, First+1 and so on.
type SendResult struct {
	First Seq
	// Count is the number of messages the (first) call appended.
	Count     int
	SentAt    time.Time
	Duplicate bool
	Note      []byte
	NextDue   time.Duration
}

// ClaimParams describe one Claim.
type ClaimParams struct {
	Queue    QueueID
	Revision uint64
	// Max is at least 1.
	Max int
	// MaxBytes bounds the sum of the sizes; the first message is given whatever its size.
	MaxBytes int64
	// Visibility is how long the lease lasts; 0 is allowed and ends it at once.
	Visibility time.Duration
	// Consumer is free text, at most 128 bytes.
	Consumer string
}

// ClaimResult holds the leased messages.
type ClaimResult struct {
	Messages []Delivery
	Token    Token
	// Deadline is when the leases end.
	Deadline time.Time
	// Died counts messages that were found with their deliveries used up.
	Died int
	// Ready says that more messages were ready after this call.
	Ready   bool
	NextDue time.Duration
}

// Delivery is one leased message. Payload belongs to the receiver.
type Delivery struct {
	Seq     Seq
	Payload []byte
	Size    uint32
	// SentAt is when it was first sent, over any number of moves.
	SentAt time.Time
	// Receives counts deliveries over the message's whole life, this one included; Entered those since it entered
	// this queue.
	Receives, Entered uint32
	// Origin is set for a message that was moved here.
	Origin *Origin
}

// Origin says where a moved message came from.
type Origin struct {
	// Queue and Seq are where it was first sent, over any number of moves: with them it keeps its identity.
	Queue QueueID
	Seq   Seq
	// SentAt is when it was first sent.
	SentAt time.Time
	// Receives counts its deliveries before it came here.
	Receives uint32
	// Label names the queue it last came from, and Reason why it died there.
	Label, Reason string
	// MovedAt is when it came here.
	MovedAt time.Time
}

// Target is what Settle turns a leased message into.
type Target uint8

const (
	// Done removes the message.
	Done Target = iota + 1
	// Ready gives it back, to be ready After from now; the deliveries used up, it is dead instead (not if Lazy).
	Ready
	// Leased lets the lease end After from now instead.
	Leased
	// Dead rejects the message: it will not be delivered from this queue again.
	Dead
)

// SettleItem selects one message by sequence and token.
type SettleItem struct {
	Seq    Seq
	Token  Token
	Target Target
	After  time.Duration
	// Uncount takes the delivery back as if it had not happened; with Ready only.
	Uncount bool
	// Reason is kept with the message, at most 1 KiB.
	Reason string
}

// SettleParams describe one Settle. Items with an ended lease are accepted as long as the message was not leased
// again, removed or declared dead since.
type SettleParams struct {
	Queue    QueueID
	Revision uint64
	Items    []SettleItem
	// Strict refuses items whose lease has ended, too.
	Strict bool
}

// Outcome is what became of one item.
type Outcome uint8

const (
	// Settled: the transition took place.
	Settled Outcome = iota + 1
	// Gone: the message is no longer in any queue: it was settled before, or retention took it.
	Gone
	// Lost: someone else holds it by now, or it is dead or was moved to another queue, or its lease ended and Strict was
	// set. Of very many messages that were moved, a backend may report the oldest as Gone.
	Lost
	// Died: given back with its deliveries used up, it is dead.
	Died
)

// SettleResult has one outcome for each item, in order.
type SettleResult struct {
	Outcomes []Outcome
	NextDue  time.Duration
}

// MoveParams describe one Move of dead messages. Source and Target differ.
type MoveParams struct {
	Source, Target QueueID
	// Limit is at least 1. A call also stops at 4 MiB of payloads, after at least one message.
	Limit int
	// Label is kept as Origin.Label, at most 128 bytes.
	Label string
}

// MoveResult counts what a Move did. Left is the number of dead messages still in Source.
type MoveResult struct {
	Moved int
	Left  int64
	// NextDue is that of Target.
	NextDue time.Duration
}

// SweepResult counts what a Sweep did and what it found.
type SweepResult struct {
	Expired int
	Ready   int64
	Dead    int64
	NextDue time.Duration
}

// Stats are the counts of one queue.
type Stats struct {
	Ready, Leased, Delayed, Dead int64
	// Bytes is the sum of the sizes of all of them.
	Bytes int64
	// OldestAge is the age of the oldest ready message since it first became available here, within a second;
	// negative when none is ready.
	OldestAge time.Duration
	Revision  uint64
	NextDue   time.Duration
}

// Revision numbers the changes of the key-value part.
type Revision uint64

// AnyRevision makes a Put or Delete unconditional.
const AnyRevision = Revision(math.MaxUint64)

// Pair is one key with its value.
type Pair struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Info describes a backend.
type Info struct {
	// Name is "memory", "segment" or "redis".
	Name string
	// Promise is one sentence about what an acknowledgement survives.
	Promise string
	// Durable says that data survives the process.
	Durable bool
}
