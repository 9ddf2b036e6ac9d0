// Package engine says what a queue means: names and configuration, sending, long polling, receipts, retries,
// dead letters, retention and the errors a client sees. It decides; the facts are kept by a [store.Store].
//
// # Glossary
//
// One word, one meaning, in code, errors and documentation alike.
//
//   - tenant: a namespace; queues of different tenants never see each other.
//   - queue: a named place for messages, see [Ref]. Its generation is one creation of it.
//   - configuration: what the owner set, see [QueueConfig]; its revision rises with every change, its ETag shows it.
//   - notes: what a wire keeps with a queue and means nothing here.
//   - cooling-off time: a while after something was done to a name in which it is not done again.
//   - message: a body with attributes, see [Message]. Its id stays the same in whatever queue it is.
//   - ready, leased, delayed, dead: the four states a message can be in, as in package store.
//   - receive: to lease messages; a delivery is one message leased once, and receives counts them.
//   - lease: the time during which a message is hidden from others; its token rises with every receive.
//   - visibility: how long a lease lasts.
//   - receipt: the proof of one delivery, needed to ack, nack or extend it.
//   - ack: done, remove it. nack: not done, deliver it again later. extend: let the lease end later.
//   - retry policy: how long a nacked message stays away. Its delay is also called the backoff.
//   - dead-letter queue: where dead messages of a queue are moved. A dead message without one is parked.
//   - retention: how long a message may stay in its queue once it was available.
//   - FIFO queue: one that keeps the order of each group and, unless its group lock is on the tail, never has two holders in
//     one. Its messages have sequences.
//   - group lock: how much of a group a message that is leased or backs off holds up.
//   - group: what a message belongs to. FIFO queues keep the order of each, fair queues let them take turns.
//   - deduplication id: what makes a message a duplicate of an earlier one with the same, for the length of a window.
//   - priority: how urgent a message is, from 0 to 9. Ageing lets one that waits count as more urgent.
//   - time to live: how long from its sending a message may be delivered.
//   - limits: bounds of what a queue holds and of what it delivers. A queue at one of the first is full.
//   - overflow: what happens when a queue is full: the send is refused or waits for room (blocks), or messages are dropped.
//   - on receive: acked by being received, so delivered at most once.
//   - attempt: one receive that may be repeated, known by an id that its client chose.
//   - wait: how long a receive stays open while nothing is ready. A waiter is such a receive.
//   - idempotency key: a name a client gives one send so that it may repeat it.
//   - schedule: a recurring send of a queue. Its fire times are what its cron expression says; one that no server noticed
//     within a minute was missed.
//   - browse: to look for messages that a filter chooses; look: to look at one message and its timeline, what happened to
//     it. Neither changes anything. A place is where a browse goes on.
//   - remove: to take one message away by its id; purge: all that a filter chooses; skip: the head of a group, which keeps
//     it locked or comes next. reschedule: to make a message ready at another time.
//   - release: to give back all that a consumer, as receives name themselves, holds.
//   - history: what is remembered of messages that have left.
//   - bury: to move dead messages to their dead-letter queue.
//   - redrive: to move messages to another queue because someone asked for it, mostly dead letters back to their origin:
//     the queue they last came from. It is a task, which makes passes over the queue, a batch at a time. A renewed message is
//     a new one where it goes.
//   - pause: a queue that is paused refuses sends, or lets receives find nothing, or both.
//   - numbers: what an engine has seen of a queue since it started: rates, waits and losses.
//   - topic: a named place for records, which are read any number of times and leave only by retention or a trim. It has
//     partitions, each an order of its own; a record's place in one is its offset, and the next one to come is the high
//     watermark. What is appended is produced.
//   - committed offset: where a named reader of a partition goes on.
//   - due: a queue is due when time alone has made something happen in it.
//   - drain: to answer all waiters at once, with what there is.
//
// # How waiting works
//
// Each queue counts signals: moments at which something may have become ready. A receive reads that number, tries to
// claim, and when it got nothing enters the line of waiters, unless the number has changed. A signal wakes the oldest
// waiter; one that claims while more is ready wakes the next; one that gives up hands its wake on. A receive from several
// queues stands in the line of each. What becomes ready through time alone is announced by the clock: one goroutine with
// one timer over the waiters' deadlines and the queues' due times. There is no goroutine and no timer per queue or waiter.
//
// Sends to a full queue that blocks wait in a line of their own, its room: whatever removes messages signals it. They
// also look now and then by themselves, since another engine on the same store may have made room.
//
// A topic has a line for each partition. What is appended is for all who wait there: each signal wakes them all.
//
// Signals from other engines on the store may be lost on their way, so there waiters are let try about every five seconds
// without one (see nudge.go).
//
// # What a store may lose
//
// A store of several servers may come back with parts of it from different moments. So on a store that is shared, a queue
// that is in the catalog and not in the store is made again. If the store has a newer revision than the catalog, a change of
// the catalog was lost (or a deletion is under way, see reopen), and a new revision above both makes them agree. A
// generation that was dropped and is in the catalog was deleted: the entry goes. One that the catalog does not know is
// dropped after a while (see orphans.go). Topics are treated alike. A node whose own pair is not as it wrote it last reads the
// catalog at once, and brings back the secret of ids and receipts if that is gone, too.
//
// # Goroutines
//
// The clock never blocks. The janitor does what takes a write: it sweeps due queues, moves dead messages to their
// dead-letter queue, and removes cooling-off times that have ended. One like it sweeps topics. The worker performs the
// tasks, which take turns, and keeps how far they are in the store, so that they go on after a restart. Another sends
// what schedules have due, several at a time, each fire time once however many engines share the store. All belong to the
// [Engine] and are joined by [Engine.Close].
//
// # Lock order
//
// A name's turn is held over store calls, by rare operations only: those that change or reload its catalog entry, and
// a move between queues (the target's). Nobody who has a turn waits for another. The mutexes (catalog.mu, line.mu,
// clock.mu, chores.mu, timetable.mu, tasks.mu, numbers.mu, random.mu) may be taken with a turn held, never one inside
// another; no store call and no callback is made under a mutex. Sending, receiving and settling take no mutex but that of
// the line when someone waits, that of the clock when a due time comes closer, and for a moment every four seconds that of
// the queue's numbers.
//
// # What does not live here
//
// HTTP, JSON and authentication (package handlers), durability and state transitions (package store and its backends).
package engine
