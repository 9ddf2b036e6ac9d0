package store

import "context"

// Store is everything a backend implements. Backends also export a constructor that takes their file system or
// connection, their clock and their source of randomness.
type Store interface {
	Queues
	QueueAdmin
	Log
	LogAdmin
	KV

	// Watch registers the one function that is told when a claim or a send that waits may go on because of a call: messages
	// became ready (a send, a message given back, a lease ended by setting it to nothing, a move), or one that left
	// freed its group, a limit in flight or room in a bounded queue (also a purge). It is called after the change is durable, with no lock held, possibly from many goroutines, and must not block. What becomes ready through time
	// alone is not announced: see NextDue in the results. A backend that several processes share also announces a queue in
	// which a Sweep has left something to claim, since NextDue is told to one of them only, and one whose settings were
	// replaced or that was dropped. Watch is called at most once, before the first use of a queue.
	Watch(notify func(QueueID))

	// Ping says whether the store can serve: nil, or why not ([ErrUnknown] once it is poisoned).
	Ping(ctx context.Context) error

	// Clock reads the clocks. It never blocks, and costs next to nothing.
	Clock() Clock

	// Info describes the backend for people: its name and the durability it promises.
	Info() Info

	// Close finishes what was accepted, makes it durable and releases the store. Calls after it return [ErrClosed].
	Close() error
}

// Queues is the hot path. Every call names a queue by its generation; a dropped or never configured generation is
// [ErrGone], a revision other than the configured one is [ErrStaleConfig], and then nothing was changed.
type Queues interface {
	// Send appends messages in order, with consecutive sequences. Durable on return. Entries are judged one by one:
	// first whether they are duplicates, then whether the queue has room. With Once set, a repeat of the same key within
	// its window changes nothing and returns the first result with Duplicate set; the same key with another fingerprint
	// is [ErrKeyReused]. A call of which no entry was accepted leaves nothing to remember. [ErrFull] when the disk has no
	// room.
	Send(ctx context.Context, p SendParams) (SendResult, error)

	// Claim leases up to Max ready messages in the order of the queue's Mode. An empty result is not an error. Messages
	// whose deliveries are used up are marked dead instead of being handed out and counted in Died. [ErrFull] when the
	// disk has no room even for that.
	Claim(ctx context.Context, p ClaimParams) (ClaimResult, error)

	// Settle is one conditional batch transition: ack, nack, extend, reschedule, reject. Items are judged one by one,
	// in order; each has its own outcome. Durable on return. Repeating an ack is harmless ([Gone]). With Select it is
	// also release, skip and dead-letter, at most 1,000 messages a call.
	Settle(ctx context.Context, p SettleParams) (SettleResult, error)

	// Move takes up to Limit messages out of Source and makes them ready in Target, as one transition over both: in the
	// order of their sequences, or oldest first if Select says nothing but that they are dead. Durable on return. A
	// message keeps its origin, its lifetime receive count, its group, its priority and, unless it was dead, the end of
	// its time to live; its count since entering the queue starts again. With Renew it is new in Target instead, but for
	// payload, group, priority and time to live. Limits and deduplication of Target do not apply.
	Move(ctx context.Context, p MoveParams) (MoveResult, error)

	// Stats counts, exactly, at one instant. The counts agree with one another and are durable.
	Stats(ctx context.Context, q QueueID) (Stats, error)
}

// QueueAdmin is the rare side of queues.
type QueueAdmin interface {
	// Configure creates the queue or replaces its settings. Durable on return. A revision not above the present one
	// changes nothing and returns nil, so that it may be repeated. Where several processes share a backend one may be late
	// with it: a generation that was dropped lately is [ErrGone] there.
	Configure(ctx context.Context, q QueueID, s Settings) error

	// Drop removes the queue with its messages; for ever, since generations are never used again. Durable on return.
	// An unknown generation is nil.
	Drop(ctx context.Context, q QueueID) error

	// Purge removes the messages that Select chooses, leased ones too: all at once when it is the zero value, which also
	// forgets the deduplication keys and the attempts, else up to 1,000 a call. Durable on return.
	Purge(ctx context.Context, q QueueID, sel Selection) (PurgeResult, error)

	// Scan looks at messages without changing anything.
	Scan(ctx context.Context, p ScanParams) (ScanResult, error)

	// Lookup finds one message by where it was first sent: in this queue, or in another one from which it was moved
	// here. [ErrNotFound] when it is neither here nor remembered.
	Lookup(ctx context.Context, q QueueID, origin QueueID, seq Seq) (View, error)

	// Groups lists the groups of a Fair or FIFO queue that have messages, by name, after the given one (all if nil), at
	// most limit.
	Groups(ctx context.Context, q QueueID, after *string, limit int) ([]Group, error)

	// Sweep does what time has made due but no call has needed yet: it marks messages dead whose last lease ended
	// and removes those past retention or their time to live (durable on return), up to 1,000 of each a call.
	Sweep(ctx context.Context, q QueueID) (SweepResult, error)

	// Queues lists all generations after the given one, in rising order, at most limit.
	Queues(ctx context.Context, after QueueID, limit int) ([]QueueID, error)
}

// KV holds everything rare: the catalog, secrets, tasks. Keys are byte strings ordered bytewise. A revision is
// positive, unique in the store and rises with every change; a deleted key starts again above all it ever had.
type KV interface {
	// Get returns the value and its revision, or [ErrNotFound].
	Get(ctx context.Context, key string) (Pair, error)

	// Put stores the value if the key's revision is still prev (0: the key must not exist; [AnyRevision]: whatever it
	// is), else [ErrConflict]. Durable on return. [ErrFull] when the disk has no room for more; a value that replaces the
	// one of a known revision is let in as an acknowledgement is, so that settings can be changed then.
	Put(ctx context.Context, key string, value []byte, prev Revision) (Revision, error)

	// Delete removes the key under the same condition. Deleting an absent key with [AnyRevision] is nil.
	Delete(ctx context.Context, key string, prev Revision) error

	// List returns pairs whose key has the prefix and is greater than after, in order, at most limit.
	List(ctx context.Context, prefix, after string, limit int) ([]Pair, error)
}
