// Package store is the contract between what a queue means (package engine) and where its facts are kept
// (packages memory, segment and, later, redis). Nothing here decides policy: a primitive receives resolved
// numbers, performs one atomic fact, and says what happened.
//
// # What every backend promises
//
// Atomicity. Each call is one transition: all of it happens or none of it does, also across a crash.
//
// Durability. When a call that changes something returns nil, the change survives kill -9 and power loss in the
// way the backend declares (segment: fsynced). One exception: the lease taken by [Queues.Claim] may be forgotten
// by a crash (the messages are then ready again), but the sends it hands out never are. A call never shows what a
// crash could still take back: an answer, an error or an empty result is given only once everything it was
// decided from is durable.
//
// Unknown outcomes. An error that wraps [ErrUnknown] means the change may or may not have happened. Every other
// error means that nothing was changed.
//
// Concurrency. All methods are safe for concurrent use. Calls on one queue have a single order that all callers
// observe; a call that returned before another started comes before it.
//
// # Time
//
// The store owns queue time. It never runs backwards, also over a restart. Callers pass durations and receive
// instants in queue time for showing, and durations until the next due event for waiting. Delay end and lease end
// are derived from the time and never recorded per message: ready simply means due at or before now.
//
// # Order
//
// Ready messages of a standard queue are offered oldest first, by the moment they first became available in this
// queue (in ticks of [Tick]), then by sequence. A message that came back after a lease is therefore not sent to the
// end of the line.
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
