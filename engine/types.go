package engine

import (
	"time"
)

// Limits that hold for every queue. Wires may be stricter.
const (
	// MaxBatch is the most messages or items one request may carry.
	MaxBatch = 1000
	// MaxAnswerBytes bounds the bodies and attributes in one answer; one message is always given.
	MaxAnswerBytes = 16 << 20
	// MaxMessageBytesLimit is the most that QueueConfig.MaxMessageBytes may allow.
	MaxMessageBytesLimit = 64 << 20
	// MaxDuration bounds delays, visibilities and retention.
	MaxDuration = 100 * 365 * 24 * time.Hour
	// MaxWait bounds how long one receive may wait.
	MaxWait = time.Hour
	// MaxConsumerBytes bounds ReceiveRequest.Consumer.
	MaxConsumerBytes = 128
	// MaxReasonBytes is what is kept of a nack's reason; the rest is cut off.
	MaxReasonBytes = 1024
	// MaxAttributes is the most attributes one message may have.
	MaxAttributes = 256
	// MaxAttributeNameBytes bounds an attribute's name and, apart from it, its type.
	MaxAttributeNameBytes = 256
	// MaxHeaderBytes bounds the content type and, apart from it, the traceparent of a message.
	MaxHeaderBytes = 256
	// MaxKeyBytes bounds an idempotency key.
	MaxKeyBytes = 128
	// IdempotencyWindow is how long an idempotency key is remembered.
	IdempotencyWindow = 10 * time.Minute
	// MaxIDBytes bounds a group, a deduplication id and an attempt id, each.
	MaxIDBytes = 128
	// MaxPriority is the most urgent priority; the least is 0.
	MaxPriority = 9
	// MaxDedupWindow bounds Dedup.Window.
	MaxDedupWindow = 7 * 24 * time.Hour
	// AttemptWindow is how long a receive may be repeated with its attempt id.
	AttemptWindow = 5 * time.Minute
	// MaxRate bounds deliveries a second.
	MaxRate = 1_000_000
	// MaxNotes is the most notes a queue may have, MaxNotesBytes the most that their names and values may have together.
	MaxNotes      = 64
	MaxNotesBytes = 16 << 10
	// HistoryMessages is how many messages that left a queue are remembered if it keeps a history.
	HistoryMessages = 1000
)

// FIFOSuffix ends the name of every FIFO queue, and of no other.
const FIFOSuffix = ".fifo"

// Ref names a queue. The tenant is trusted: it comes from whoever authenticated the caller.
type Ref struct {
	Tenant, Name string
}

// String is for people and logs.
func (r Ref) String() string { return r.Tenant + "/" + r.Name }

// QueueConfig is what the owner of a queue sets. Start from [DefaultConfig].
type QueueConfig struct {
	// FIFO keeps the order of each group. It cannot be changed.
	FIFO bool
	// Visibility is how long a lease lasts unless the receive says otherwise; 0 ends it at once.
	Visibility time.Duration
	// Delay keeps new messages from being received for this long unless the message says otherwise.
	Delay time.Duration
	// Retention is how long a message may stay ready or dead; at least one second.
	Retention time.Duration
	// MaxMessageBytes bounds body and attributes of one message, from 1 to [MaxMessageBytesLimit].
	MaxMessageBytes int64
	// Wait is how long a receive stays open unless it says otherwise.
	Wait       time.Duration
	Dedup      Dedup
	Retry      Retry
	DeadLetter DeadLetter
	Limits     Limits
	// Priorities is the number of levels: 1 for none, or 10.
	Priorities int
	// Ageing is the wait after which a message counts one level higher; 0 means never.
	Ageing time.Duration
	// Fair lets the groups of a queue that is not FIFO take turns.
	Fair bool
	// Shards is over how many parts the queue is spread, from 1 to [MaxShards] and to what the store can do. With more than 1
	// there is no order, what needs to see all messages cannot be had, and counts are approximate. It cannot be changed.
	Shards uint32
	// GroupLock says what of a group a FIFO queue gives while one of its messages is leased or backs off. It does nothing
	// on other queues.
	GroupLock GroupLock
	Ack       AckMode
	// Acks is how many copies sends, acks and other changes of messages wait for unless they say otherwise.
	Acks Acks
	// MinInsyncReplicas is how many copies there must be, the leader's included, when a change waits for all: from 1 to
	// [MaxInsyncReplicas]; 1 on a store without replicas.
	MinInsyncReplicas uint32
	// History remembers messages for a while after they left the queue, without their content.
	History bool
	// Tags are free labels: at most 50, names up to 128 characters, values up to 256.
	Tags map[string]string
	// Notes are what a wire keeps with a queue; they mean nothing to the engine, and other wires do not show them. At most
	// [MaxNotes], with [MaxNotesBytes] of names and values together, in UTF-8. In a new configuration nil keeps those there
	// are, and an empty map removes them.
	Notes map[string]string
}

// DefaultConfig is the configuration of a queue created with an empty request.
func DefaultConfig() QueueConfig {
	return QueueConfig{
		Visibility:      30 * time.Second,
		Retention:       4 * 24 * time.Hour,
		MaxMessageBytes: 1 << 20,
		Retry: Retry{
			Policy: RetryExponential,
			Base:   time.Second,
			Cap:    5 * time.Minute,
			Jitter: JitterFull,
		},
		Dedup:      Dedup{Window: 5 * time.Minute, Scope: ScopeQueue},
		DeadLetter: DeadLetter{When: Eager},
		Limits:     Limits{Overflow: OverflowReject},
		Priorities: 1,
		Ageing:     time.Minute,
		Shards:     1,
		GroupLock:  GroupLockWhole,
		Ack:        AckExplicit,
		Acks:       AcksLeader,

		MinInsyncReplicas: 1,
	}
}

// Dedup says which messages are duplicates of earlier ones.
type Dedup struct {
	// ContentBased takes the hash of the body as the deduplication id of a message that has none.
	ContentBased bool
	// Window is how long an id is remembered, at most [MaxDedupWindow].
	Window time.Duration
	Scope  DedupScope
}

// DedupScope is where deduplication ids are unique.
type DedupScope string

// The scopes.
const (
	ScopeQueue DedupScope = "queue"
	ScopeGroup DedupScope = "group" // each group has ids of its own
)

// Retry says when a nacked message is delivered again and how often it may be.
type Retry struct {
	Policy RetryPolicy
	// Base is the delay after the first delivery, Cap the most it may grow to.
	Base, Cap time.Duration
	Jitter    Jitter
	// MaxReceives is the number of deliveries after which the message is dead; 0 means no limit.
	MaxReceives uint32
}

// RetryPolicy is how the delay grows with the number of deliveries.
type RetryPolicy string

// The retry policies.
const (
	RetryNone        RetryPolicy = "none"        // at once
	RetryFixed       RetryPolicy = "fixed"       // Base, always
	RetryExponential RetryPolicy = "exponential" // Base, 2 Base, 4 Base and so on, up to Cap
)

// Jitter spreads the delay d so that failures do not come back together.
type Jitter string

// The jitters.
const (
	JitterFull  Jitter = "full"  // uniform from 0 to d
	JitterEqual Jitter = "equal" // d/2 plus uniform from 0 to d/2
	JitterNone  Jitter = "none"  // d
)

// DeadLetter says what becomes of messages whose deliveries are used up.
type DeadLetter struct {
	// Queue of the same tenant that takes them. While it is empty or does not exist they are parked.
	Queue string
	When  When
	// Expired makes a message dead when its time to live has ended, instead of removing it.
	Expired bool
	// AllowFrom names the queues that may have this one as their dead-letter queue: nil for all, empty for none.
	AllowFrom []string
}

// When says at which moment a message is found dead.
type When string

// The moments.
const (
	Eager When = "eager" // with the nack or the end of the lease
	Lazy  When = "lazy"  // with the next receive
)

// Limits bound a queue. Zeros mean no bound.
type Limits struct {
	// MaxMessages and MaxBytes bound what is ready, delayed and leased. Overflow says what gives way.
	MaxMessages, MaxBytes int64
	Overflow              Overflow
	// MaxInFlight bounds the leased messages of the queue, PerGroupInFlight those of each group.
	MaxInFlight, PerGroupInFlight uint32
	// Rate bounds the deliveries a second of the queue, PerGroupRate those of each group; a second's worth may come at
	// once.
	Rate, PerGroupRate float64
}

// Overflow says what gives way when a bounded queue is full.
type Overflow string

// The kinds of overflow.
const (
	OverflowReject     Overflow = "reject"      // the send is refused
	OverflowBlock      Overflow = "block"       // the send waits for room, then it is refused
	OverflowDropOldest Overflow = "drop_oldest" // older messages are removed, never leased ones
	OverflowDropNewest Overflow = "drop_newest" // new messages are passed over
	OverflowSample     Overflow = "sample"      // of the new messages one in ten is kept, in the place of the oldest
)

// GroupLock says what of a group a FIFO queue gives while one of its messages is leased or backs off.
type GroupLock string

// The kinds of lock.
const (
	GroupLockWhole GroupLock = "whole" // nothing: its messages are done one after the other
	GroupLockTail  GroupLock = "tail"  // what comes before the first such message, as SQS does: what came back, but no newer one
)

// AckMode says when a received message is done.
type AckMode string

// The modes.
const (
	AckExplicit  AckMode = "explicit"   // with the ack: it is delivered at least once
	AckOnReceive AckMode = "on_receive" // with the receive: it is delivered at most once
)

// Queue is a queue as its owner sees it.
type Queue struct {
	Ref    Ref
	Config QueueConfig
	// ETag names this state of the configuration. It has no quotes.
	ETag   string
	Counts Counts
	// Paused is what the queue does not do for now; zero when it does everything.
	Paused Pause
	// OldestAge is the age of the oldest ready message since it first became available; negative when none is.
	OldestAge time.Duration
	Numbers   Numbers
	// CreatedAt and ChangedAt are when the queue was created and when its ETag last changed, by the wall clock; zero when
	// that was done by a version that did not keep it.
	CreatedAt, ChangedAt time.Time
	// Uncounted is why Counts are unknown and zero, in a list; nil if they are not.
	Uncounted *Error
}

// Counts are exact, durable and agree with one another, unless Approximate.
type Counts struct {
	Ready, Leased, Delayed, Dead int64
	// Moving are on their way to another queue, as dead ones to their dead-letter queue, and not counted in Bytes. When the store
	// is away in the middle of that, it may take some minutes.
	Moving int64
	// Bytes is the sum of bodies and attributes of all others.
	Bytes int64
	// Approximate says that the queue has shards: the counts are sums of what each of them counted at its own moment.
	Approximate bool
}

// Message is what a client sends.
type Message struct {
	Body []byte
	// ContentType is given back as it is; empty when the client named none.
	ContentType string
	// Attributes keep their order. Names are unique.
	Attributes []Attribute
	// TraceParent is the W3C header of the sender; empty when there was none.
	TraceParent string
	// Delay replaces the queue's delay.
	Delay *time.Duration
	// DeliverAt keeps the message back until then and replaces the queue's delay, too; with both set the later counts.
	DeliverAt *time.Time
	// Group is what the message belongs to: on a FIFO queue the messages of one group keep their order, on a fair one
	// groups take turns. At most [MaxIDBytes].
	Group string
	// DedupID makes the message a duplicate of one that was accepted with the same id within the queue's window; empty
	// for none. At most [MaxIDBytes].
	DedupID string
	// Priority is from 0 to [MaxPriority], which comes first.
	Priority int
	// TTL is how long from now the message may be delivered; nil for as long as it stays.
	TTL *time.Duration
	// Uncounted is how many bytes of the attributes do not count in the message's size when it is sent: of those that a wire
	// adds itself and bounds itself.
	Uncounted int
	// Refused is why the wire could not read the message, nil for one that it could. It becomes the message's outcome,
	// and the others go on. Body is then whatever was sent, to tell repeats from other requests.
	Refused *Error
}

// Attribute is a named value beside the body. The type is empty for plain strings.
type Attribute struct {
	Name, Type string
	Value      []byte
}

// SendRequest is 1 to [MaxBatch] messages. The engine keeps none of its memory.
type SendRequest struct {
	Messages []Message
	// Key makes the request repeatable; nil for none.
	Key *IdempotencyKey
	// Acks replaces the queue's, unless empty.
	Acks Acks
	// Waits, unless nil, is called before the send begins to wait for room.
	Waits func()
	// remember is how long Key is remembered; 0 means [IdempotencyWindow].
	remember time.Duration
}

// IdempotencyKey names one request of one principal on one path.
type IdempotencyKey struct {
	Principal, Path, Key string
}

// SendAnswer has one outcome for each message, in order.
type SendAnswer struct {
	Outcomes []SendOutcome
	// Duplicate says that the key was used before and the outcomes are those of the first time.
	Duplicate bool
}

// SendOutcome is the id of an accepted message, or why it was refused.
type SendOutcome struct {
	// ID of the message; of a duplicate that of the first one, zero if dropped.
	ID MessageID
	// Sequence is its place in a FIFO queue; 0 in others, and for a duplicate that of the first one.
	Sequence uint64
	// Duplicate says that a message with this deduplication id was accepted before.
	Duplicate bool
	// Dropped says that the queue is full and the message was passed over, as the queue's overflow says.
	Dropped bool
	Err     *Error
}

// ReceiveRequest describes one receive.
type ReceiveRequest struct {
	// Max is from 1 to [MaxBatch]; 0 means 1.
	Max int
	// Wait and Visibility default to the queue's.
	Wait, Visibility *time.Duration
	// Consumer is free text that names the receiver, at most [MaxConsumerBytes].
	Consumer string
	// AttemptID, unless empty, makes the receive repeatable for [AttemptWindow]: as long as all its messages are leased and
	// no lease was extended, a repeat gives them again, with the same receipts. At most [MaxIDBytes].
	AttemptID string
	// FirstAttemptOnly makes it an invalid request to repeat a receive of which a message has left the queue since or had its
	// visibility changed. Otherwise such a repeat is a new receive.
	FirstAttemptOnly bool
}

// Delivery is one leased message. Its memory belongs to the receiver; Body shares it with nothing but Attributes.
type Delivery struct {
	ID          MessageID
	Receipt     string
	Body        []byte
	ContentType string
	Attributes  []Attribute
	TraceParent string
	// Receives counts deliveries over the message's whole life, this one included.
	Receives uint32
	// SentAt is when it was first sent.
	SentAt time.Time
	Group  string
	// DedupID is the deduplication id it was sent with; empty when that was its content, or nothing.
	DedupID string
	// Priority is what it was sent with.
	Priority int
	// ExpiresAt is when its time to live ends; zero when it has none.
	ExpiresAt time.Time
	// Sequence is its place in a FIFO queue; 0 in others.
	Sequence uint64
	// WaitedFor is the time from when it first became available here to this delivery.
	WaitedFor time.Duration
	Lease     Lease
	// Origin is set for a message that came from another queue as a dead letter.
	Origin *Origin
}

// Lease is the right to settle one delivery.
type Lease struct {
	// Token rises with every delivery of a queue's messages. It stays below 2^53.
	Token     uint64
	ExpiresAt time.Time
}

// Origin says where a dead letter came from.
type Origin struct {
	// Queue it last came from, and the reason it died there (empty when none was given).
	Queue, Reason string
	// Receives counts its deliveries before it came here.
	Receives uint32
	MovedAt  time.Time
}

// ItemResult is what became of one item of an ack, nack or extend: nil means it was done.
type ItemResult struct {
	Err *Error
}

// NackItem gives one delivery back.
type NackItem struct {
	Receipt string
	// Reason is kept with the message, cut to [MaxReasonBytes].
	Reason string
	// Delay replaces the retry policy.
	Delay *time.Duration
	// Dead rejects the message: it will not be delivered from this queue again.
	Dead bool
	// Refused is as in [Message].
	Refused *Error
}

// ExtendItem lets one lease end Visibility from now instead.
type ExtendItem struct {
	Receipt    string
	Visibility time.Duration
	// Refused is as in [Message].
	Refused *Error
}

// StoreInfo describes the backend for people.
type StoreInfo struct {
	// Name is "memory", "segment" or "redis".
	Name string
	// Promise is one sentence about what an acknowledgement survives.
	Promise string
	// Durable says that data survives the process.
	Durable bool
}
