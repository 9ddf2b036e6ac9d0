// Package store is the contract between what a queue means (package engine) and where its facts are kept
// (packages memory, segment and redis). Nothing here decides policy: a primitive receives resolved
// numbers, performs one atomic fact, and says what happened.
//
// # What every backend promises
//
// Atomicity. Each call is one transition: all of it happens or none of it does, also across a crash.
//
// Durability. When a call that changes something returns nil, the change survives kill -9 and power loss in the
// way the backend declares (segment: fsynced). One exception: the lease taken by [Queues.Claim] on a queue that is not FIFO
// and without an Attempt may be forgotten by a crash (the messages are then ready again, and the delivery is in no count,
// also not against MaxReceives), but the sends it hands out never are. A call never shows what a crash could still take back: an answer, an error or an empty result is given only
// once everything it was decided from is durable.
//
// Unknown outcomes. An error that wraps [ErrUnknown] means the change may or may not have happened. Every other
// error means that nothing was changed.
//
// Concurrency. All methods are safe for concurrent use. Calls on one queue have a single order that all callers
// observe; a call that returned before another started comes before it.
//
// Memory. Nobody changes what was given to a call (payloads, values, notes and the lists they are in), also not after the
// call has ended with an error: a backend may still be sending it. What a call returns belongs to its caller.
//
// # Shards
//
// A queue with [Settings].Shards above 1 is kept in so many parts, which different servers may have. It is a Standard
// queue with one level, without bounds and rates; its number of shards is fixed when it is created. What is promised of a
// queue holds of each shard. Of the whole it holds except for this:
//
//   - Order is that of each shard. Messages that one call claims are all from one shard; Ready is true if any has more.
//   - Stats and the counts of a Sweep are sums of several instants, and Stats are Approximate. A Sweep leaves out shards that
//     cannot be reached, and is due again soon.
//   - Calls that concern several shards (a Settle of items, a Purge of everything, Configure, Drop) are a transition in
//     each. If some fail after others have succeeded the error is [ErrUnknown]. All of them may be repeated.
//   - A Send goes to one shard as a whole. With Once that is always the same one for a key. Entries with a Dedup key go
//     to the shard of that key; if these are several, each has its part as a transition of its own, which Once makes
//     repeatable as well. That a key of Once was used for other content is noticed where both meet in a shard.
//   - What is selected is taken from one shard after the other. Sequences have the shard in bits 47 to 52, so a Next
//     leads from one to the next. A Move of the oldest dead takes those of one shard.
//   - A claim that is repeated under its Attempt while the first one still runs may be a new one.
//
// # Logs
//
// A log is where the records of a topic are kept; its generation is one creation of it. Its partitions hold records under
// offsets from 0, without gaps; reading changes nothing. Calls on one partition have a single order. An append over
// several partitions is one transition. Records leave at the front, by a trim or a sweep, never by themselves.
//
// # Time
//
// The store owns time, and has two clocks that are never mixed.
//
// Queue time is elapsed time. Leases, delays, backoffs, deduplication, idempotency windows, retention, times to live and rates
// follow it. It never goes back, it includes the time for which the machine was suspended, and it does not notice when somebody
// sets the wall clock. Over a restart it continues from what was last recorded, plus the time since then: as measured
// by the machine's boot clock if the machine has not been started anew, else as the wall clock has it, at least zero ([Gap]).
// A gap of the latter kind that is negative or longer than [PlausibleGap] is reported, and for the [Protection] after it nothing
// is removed, and nothing made dead, by retention or a time to live; leases, delays and windows end by the estimate.
//
// The wall clock serves what names an instant: NotBefore, AvailableBefore, the own times of records, and every
// instant that a call returns for showing. It may be set at any time, and these follow within a second: a message that was
// stamped while the clock was wrong shows the right time once it is corrected. What was due once stays due.
//
// Callers pass durations, and receive durations until the next due event for waiting. Delay end and lease end are derived from
// the time and never recorded per message: ready simply means due at or before now.
//
// # Order
//
// Standard. Ready messages are offered oldest first, by the moment they first became available in this queue (in ticks
// of [Tick]), then by sequence. A message that came back after a lease is therefore not sent to the end of the line.
// With several levels, the message with the highest level comes first, then the oldest. With Ageing, the oldest message
// of each level counts one level higher for each whole Ageing since it became available, up to the highest level.
//
// Fair. Among the groups with ready messages the one with the fewest leased messages is next, then the one that was
// served least recently; it gives its oldest message, and the choice begins anew.
//
// FIFO. A group is locked while one of its messages is leased, or backs off: was given back with a delay that has not
// ended. Among the groups that are not locked and have ready messages the one that was served least recently is next. It
// gives its ready messages by sequence, as many as fit, before the next group. So a message with a delay of its own
// takes its place when it is due, and a dead message does not hold up its group.
//
// FIFO with Tail. A group gives its ready messages by sequence up to the first that is leased or backs off, except to the
// same claim: what one claim takes of a group does not hold up the rest of it. A group with a message to give so is not
// locked. Its turn is as above.
//
// A group is known as long as it has messages, in any state; it counts as served last when it became known and whenever
// one of its messages was leased. Messages without a group are the group with the empty name.
//
// Standard queues with a bound for each group are served in the order of Fair. Groups at their bound are passed over.
//
// # Rates
//
// With an Interval, a count of time runs ahead of the present: each delivery moves it on by the interval, from now if
// it lies behind, and a delivery needs it to be at most one second less the interval ahead, or not ahead at all if the
// interval is longer. Group rates do the same for each group; what they count is forgotten with the group.
//
// # Late messages
//
// A message past its retention or time to live is not delivered. It leaves with the claim that meets it or with a
// sweep; until then it is counted. A sweep takes leased messages only when their retention has ended, which ends the
// lease, and dead ones only by retention.
//
// # A message's life
//
//	delayed ──due──► ready ──Claim──► leased ──Settle done──► gone
//	                   ▲                │ │
//	                   └── lease ends ──┘ └── Settle dead, or lease ends with the deliveries used up ──► dead ──Move──► ready elsewhere
//
// Dead messages stay in their own queue, undelivered and counted, until they are moved or retention takes them.
//
// What does not live here: names, tenants, JSON, receipts, retry policy, long polling. See package engine.
package store
