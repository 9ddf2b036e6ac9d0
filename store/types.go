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
	// Retention is how long a message may stay, counted from when it first became available; 0 means for ever. It also
	// ends leases and backoffs, so that a message does not outlive it in flight. One that never was available stays.
	Retention time.Duration
	// Mode says how messages are chosen. A FIFO queue stays one, and no other becomes one.
	Mode Mode
	// Tail lets a message of a FIFO queue that is leased or backs off hold up only what is behind it in its group: the
	// group gives its ready messages, by sequence, up to the first such one. So it may have several holders.
	Tail bool
	// Levels is the number of priorities of a Standard queue, 1 to 10; 0 counts as 1. Ageing is the wait after which a
	// message counts one level higher; 0 means never.
	Levels uint8
	Ageing time.Duration
	// DedupWindow is how long the key of an accepted message is remembered.
	DedupWindow time.Duration
	// MaxMessages and MaxBytes bound what is ready, delayed and leased; 0 means no bound. Overflow says what gives way.
	MaxMessages, MaxBytes int64
	Overflow              Overflow
	// MaxInFlight bounds the leased messages of the queue, GroupInFlight those of each group; 0 means no bound.
	MaxInFlight, GroupInFlight uint32
	// Interval is the mean distance of deliveries that the queue's rate allows, GroupInterval that of each group; 0
	// means no bound. A second's worth, or one message if that is more, may come at once.
	Interval, GroupInterval time.Duration
	// ExpiredDead makes messages dead whose time to live has ended, instead of removing them.
	ExpiredDead bool
	// History is the number of messages that were removed of which the last deliveries are remembered.
	History uint32
	// Shards spreads the queue over so many parts, see the package's section on shards; 0 counts as 1. It never changes: another
	// number is [ErrConflict]. A store that cannot spread queues does not look at it.
	Shards uint32
}

// Mode says how the next messages are chosen; see the package's section on order.
type Mode uint8

const (
	// Standard offers the highest level first, and on one level the oldest.
	Standard Mode = iota
	// Fair lets groups take turns: first the group with the fewest messages leased. It has one level.
	Fair
	// FIFO keeps the order of each group and, without Tail, never has two holders in one. It has one level.
	FIFO
)

// Overflow says what gives way when a bounded queue is full.
type Overflow uint8

const (
	// Reject refuses new messages.
	Reject Overflow = iota
	// DropNewest passes over new messages.
	DropNewest
	// DropOldest removes the oldest ready messages, then the delayed ones that are due first; never leased ones. A
	// message for which that makes no room is refused.
	DropOldest
)

// Entry is one message to be sent. The payload is opaque to the store.
type Entry struct {
	Payload []byte
	// Size is what the message counts in Stats.Bytes: body and attributes, in bytes.
	Size uint32
	// Delay keeps the message from being claimed for this long.
	Delay time.Duration
	// NotBefore does the same until the wall clock shows a time, also if that is set meanwhile; zero means at once. With
	// both set the one counts that is later by the clocks at the time of the send; with InOrder it counts as a Delay.
	NotBefore time.Time
	// InOrder lets a message of a FIFO queue become due no sooner than those of its group that were sent InOrder before
	// it: with it a delay that is the queue's keeps the order also when it is made shorter.
	InOrder bool
	// Group is free text, at most 128 bytes.
	Group string
	// Priority is below Levels; a higher one counts as the highest level there is.
	Priority uint8
	// TTL is how long from now the message may be delivered; 0 means as long as it stays. It does not end a lease.
	TTL time.Duration
	// Dedup, unless zero, makes this a duplicate of a message that was accepted with the same key within the window.
	Dedup DedupKey
	// Displace treats this one message as under DropOldest if the queue is full.
	Displace bool
}

// DedupKey is the hash of a deduplication id.
type DedupKey [16]byte

// Once makes a Send repeatable: the first use of Key is remembered for Window, in the same record as the messages.
type Once struct {
	Key         [16]byte
	Fingerprint [16]byte
	Window      time.Duration
	// Note is handed back, as it was, to those who repeat. At most 1 KiB.
	Note []byte
}

// Acks says how many copies of a change there must be when a call returns. The zero value is the promise of the store by
// itself: on one that is replicated, that of the leader alone. Stores that are not replicated do not look at it.
type Acks struct {
	// All waits for every replica that keeps up with the leader.
	All bool
	// Min is how many copies there must be then, the leader's included; 0 counts as 1. When there are fewer in time the call is
	// [ErrUnknown]: the change is made, and may be lost with the leader.
	Min int
}

// SendParams describe one Send: at least one entry.
type SendParams struct {
	Queue    QueueID
	Revision uint64
	Entries  []Entry
	Once     *Once
	// Whole refuses all entries unless all are accepted or duplicates.
	Whole bool
	Acks  Acks
}

// SendResult says where the messages are: the accepted ones have sequences First, First+1 and so on. Of a send that was split
// over shards only Fates say it.
type SendResult struct {
	First Seq
	// Count is the number of messages the (first) call appended.
	Count int
	// Fates has one fate for each entry, or is nil when all were accepted.
	Fates     []Fate
	Evicted   int // older messages, or earlier ones of this call, that gave way
	SentAt    time.Time
	Duplicate bool
	Note      []byte
	NextDue   time.Duration
}

// Fate is what became of one entry.
type Fate struct {
	Verdict Verdict
	// Seq is that of the message, for a duplicate that of the first one, which may be gone by now; else 0.
	Seq Seq
}

// Verdict is the answer to one entry.
type Verdict uint8

const (
	// Accepted: it was appended.
	Accepted Verdict = iota + 1
	// Duplicate: a message with this key was accepted before.
	Duplicate
	// Dropped: the queue is full, and it was passed over.
	Dropped
	// Refused: the queue is full.
	Refused
)

// ClaimParams describe one Claim.
type ClaimParams struct {
	Queue    QueueID
	Revision uint64
	// Max is at least 1.
	Max int
	// MaxBytes bounds the sum of the sizes; the first message is given whatever its size.
	MaxBytes int64
	// Expect is about how large the largest messages of the queue are, as far as the caller knows: a store that learns the size
	// of what it gives only when it has it takes memory for that beforehand. It is a hint.
	Expect int64
	// Visibility is how long the lease lasts; 0 is allowed and ends it at once.
	Visibility time.Duration
	// Consumer is free text, at most 128 bytes.
	Consumer string
	// Attempt, unless zero, makes the call repeatable for AttemptWindow: as long as all messages of the first call are
	// still leased under its token and none was settled, not even as Leased, a repeat returns them again, with leases that
	// end Visibility from now, and counts nothing. Otherwise it is a new call.
	Attempt       [16]byte
	AttemptWindow time.Duration
	// FirstOnly refuses a repeat that would be a new call because a message of the first call has left the queue, or had
	// its lease changed by a settle as Leased: see Spent. Once another call has leased it a backend may have forgotten that.
	FirstOnly bool
}

// ClaimResult holds the leased messages.
type ClaimResult struct {
	Messages []Delivery
	Token    Token
	// Deadline is when the leases end.
	Deadline time.Time
	// Died counts messages that were found with their deliveries used up, or were found too late and are dead by that.
	Died int
	// Expired counts messages that were found past their retention or time to live and were removed.
	Expired int
	// Ready says that more messages could be claimed right after this call.
	Ready bool
	// Repeated says that these are the messages of an earlier call with the same Attempt.
	Repeated bool
	// Spent says that nothing was claimed, since the Attempt is not to be repeated any more: see FirstOnly.
	Spent   bool
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
	// AvailableAt is when it first became available here, in ticks of [Tick], rounded down.
	AvailableAt time.Time
	Group       string
	Priority    uint8
	// ExpiresAt is when its time to live ends; zero when it has none.
	ExpiresAt time.Time
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

// AnyToken selects a message by its sequence alone, in whatever state it is, but one cannot so change the delay of a
// message that is leased or dead, or extend one that is not leased (Lost).
const AnyToken = Token(math.MaxUint64)

// SettleItem selects one message by sequence and token.
type SettleItem struct {
	Seq    Seq
	Token  Token
	Target Target
	After  time.Duration
	// NotBefore, with Ready and [AnyToken], also keeps the message back until the wall clock shows a time, as that of an
	// [Entry] does. Of both the one counts that is later by the clocks at the time of the call.
	NotBefore time.Time
	// Uncount takes the delivery back as if it had not happened; with Ready only, and with AnyToken only in
	// SettleParams.Each, where it changes nothing about messages that are not leased.
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
	// Select, if set, takes the place of Items: up to 1,000 messages it chooses, in the order of their sequences, are made
	// what Each says as if with [AnyToken], except that Ready gives leased ones back for their holders; its Seq and Token
	// are not used.
	Select *Selection
	Each   SettleItem
	Acks   Acks
}

// States is a set of states.
type States uint8

// The states.
const (
	StateReady States = 1 << iota
	StateDelayed
	StateLeased
	StateDead
	// AnyState is what the zero value of a Selection stands for.
	AnyState = StateReady | StateDelayed | StateLeased | StateDead
)

// Selection chooses messages of one queue: those to which all of it applies. The zero value chooses all. One call looks
// at a bounded number of messages only, so it may find none although there are more: see Next in the results.
type Selection struct {
	// States, unless 0, are those a message may be in. Backing off counts as delayed.
	States States
	// Group, if set, is the message's group.
	Group *string
	// Consumer, unless empty, holds the message.
	Consumer string
	// AvailableBefore, unless zero, is after the moment (in ticks of [Tick]) in which the message was first available or, if it
	// never was, is due.
	AvailableBefore time.Time
	// From and UpTo, unless 0, bound its sequence, both included.
	From, UpTo Seq
	// Seqs, if not nil, holds its sequence. They rise.
	Seqs []Seq
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

// SettleResult has one outcome for each item, or each message selected, in order.
type SettleResult struct {
	Outcomes []Outcome
	// Next, unless 0, is where Select may choose more: its next From.
	Next    Seq
	NextDue time.Duration
}

// MoveParams describe one Move. Source and Target may be one queue: then its messages have new sequences there.
type MoveParams struct {
	Source, Target QueueID
	// Select chooses the messages; of those, leased ones stay where they are.
	Select Selection
	// Limit is at least 1. A call also stops at 4 MiB of payloads, after at least one message.
	Limit int
	// Label is kept as Origin.Label, at most 128 bytes.
	Label string
	// Renew makes the messages new in Target: without an origin, sent at the time of the move and never delivered. They are
	// found by their new place only, and Label is not used.
	Renew bool
	// Replace, if set, takes the place of the payload and size of the one message that Select chooses by Seqs.
	Replace *Entry
}

// MoveResult counts what a Move did.
type MoveResult struct {
	Moved int
	// Bytes is the sum of their sizes.
	Bytes int64
	// Next, unless 0, is where Select may choose more: its next From.
	Next Seq
	// NextDue is that of Target.
	NextDue time.Duration
}

// PurgeResult counts what a Purge did.
type PurgeResult struct {
	Purged int64
	// Next, unless 0, is where Select may choose more: its next From.
	Next Seq
}

// View is a message as it is found by looking, which changes nothing.
type View struct {
	// Delivery holds what a receiver would see; Receives and Entered count the deliveries so far. Of a message that is
	// past there is no payload, size, origin and SentAt.
	Delivery
	// State is one of the four, or 0 for a message that was removed and is remembered by History.
	State States
	// Due is when the delay or the lease ends; zero in other states.
	Due time.Time
	// Token and Consumer are of the present lease, or the last one; LeasedAt is when it began.
	Token    Token
	Consumer string
	LeasedAt time.Time
	// Reason is why it was last given back.
	Reason string
	// Visits are its last 15 deliveries that ended in this queue, the oldest first.
	Visits []Visit
	// RemovedAt is when a past message was removed, Removal how.
	RemovedAt time.Time
	Removal   Removal
}

// Visit is one delivery that has ended.
type Visit struct {
	LeasedAt, EndedAt time.Time
	Consumer          string
	End               End
	Reason            string
}

// End is how a delivery ended.
type End uint8

const (
	// GivenBack: it was settled as Ready.
	GivenBack End = iota + 1
	// RanOut: its lease ended.
	RanOut
	// Rejected: it was settled as Dead, or given back with its deliveries used up.
	Rejected
)

// Removal is how a message left the queue.
type Removal uint8

const (
	// Acked: it was settled as Done.
	Acked Removal = iota + 1
	// Aged: its retention or time to live ended.
	Aged
	// Evicted: it gave way to a newer one.
	Evicted
	// MovedAway: it went to another queue.
	MovedAway
	// Purged: it was purged.
	Purged
)

// ScanParams describe one look at many messages.
type ScanParams struct {
	Queue  QueueID
	Select Selection
	// Limit bounds the messages, MaxBytes the sum of their sizes; at least one is given.
	Limit    int
	MaxBytes int64
}

// ScanResult holds messages in the order of their sequences.
type ScanResult struct {
	Views []View
	// Next, unless 0, is where Select may choose more: its next From.
	Next Seq
}

// Group is what a Fair or FIFO queue knows of one group with messages.
type Group struct {
	Name                         string
	Ready, Leased, Delayed, Dead int64
	// HeadAge is the age of the message that the group would be offered next, since it was first available; negative
	// when none is ready.
	HeadAge time.Duration
	// Head is that message, or in a locked FIFO group the first that locks it; 0 when there is none.
	Head Seq
	// LockedUntil is when the last lease or backoff that locks a FIFO group ends; zero when it is not locked. With Tail
	// only Head locks a group, and one that has a ready message before all that are leased or back off is not locked.
	LockedUntil time.Time
}

// SweepResult counts what a Sweep did and what it found. Lapsed messages are dead since their time to live ended.
type SweepResult struct {
	Expired, Lapsed int
	Ready           int64
	Dead            int64
	NextDue         time.Duration
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
	// Moving counts the messages of Moves from here that are not concluded: they are in no other count, and not in Bytes, until
	// they are in the target, or back. For a moment they may be counted in the target already.
	// In stores in which a move is one step it is 0.
	Moving int64
	// Approximate says that these are sums of several instants: the queue has several shards.
	Approximate bool
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
	// Replicated says that the store can wait for replicas, see [Acks].
	Replicated bool
	// Shards is over how many parts one queue can be spread at most; 0 or 1 if it cannot.
	Shards uint32
}
