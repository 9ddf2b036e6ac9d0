// Package model is the state machine of a queue, without I/O, clock, randomness, locks or goroutines. The memory and
// segment stores both run it, and it is the reference that other stores are compared with.
//
// Each operation has two halves that share their transitions. The deciding half ([Queue.Send], [Queue.Claim], …) looks at
// the state, the time and the parameters, carries the decision out and returns the event that says what was decided;
// the applying half ([Queue.ApplyClaimed], …) repeats an event on a state that does not have it yet. An event holds
// resolved facts only (which sequences, which deadline), so that applying it needs no rule of choice. Deciding on one
// queue and applying the events to a copy of its earlier state give equal states; tests compare them byte by byte.
//
// What time alone changes (a delay or lease that ends) is not an event: every operation first advances the state to its
// instant, and advancing in one step or in many gives the same state.
//
// [Log] is the machine of a log, made in the same two halves.
//
// # Where a message stands
//
// What is kept of every message (size, group, priority, …) is in columns, by sequence, in chunks of 256. A message that was
// never received has no more than two bits beside that, its kind: fresh (ready since it was sent), planned (its own delay
// has not ended) or ripe (ready since it ended). An agenda lists when the planned ones are due, another the ripe ones by
// age; the oldest fresh one is found from the bits.
//
// The first call that touches a message (a lease, a new delay, a verdict) gives it a slot, which it keeps until it leaves:
// its state, when that ends, its token, its count of deliveries, and the visits: the deliveries that ended. Slots are in one
// heap for each state: delays and leases by the time they end, back (ready again) and dead by age.
//
// Queues in which more than age decides have lanes (see lane): one for each group or each level with messages, with counts,
// turns and rates. What is ready is then also listed in its lane.
//
// # What is remembered of what was
//
// Apart from the messages, so that it outlives them: idempotency keys of sends (once) with their answers, deduplication keys
// (dedup), attempts (claims that can be repeated) until their windows end, the messages that went to other queues
// (movedAway), and, if the settings ask for a history, the last messages that left (departed).
//
// What a heap or agenda lists may be void by now: an agenda's entries are not taken out, whoever takes one looks whether it
// still holds. One that is mostly void is tidied.
//
// # Memory
//
// There is no Go pointer per message. Measured on 1,000,000 messages (go test -bench Heap):
//
//	never received          2 bytes or less, when neighbors are alike in size and age
//	with a group or level   up to 4 more, and 130 or less for each group with messages (its lane, name and place in the index)
//	scheduled               about 25: an entry of an agenda, and a wider column
//	with a time to live     about 25, for the same reason
//	touched                 about 100: a slot, its place in an index and in a heap; 32 for each visit
//	deduplication key       about 40
//	attempt                 about 200, and 8 for each message
//	departed                about 150, its texts and visits; there are as many as the settings say
//
// Consumers, reasons and names of groups are texts, kept once each. What a message says is not here at all.
//
// What does not live here: payloads, journal framing, locks, names, policy.
package model
