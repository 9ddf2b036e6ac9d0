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
// # Memory
//
// There is no Go pointer per message. A message that was never received is a bit of a range plus a packed size and
// age: two bytes or less when its neighbors are alike. One that was touched (leased, returned, delayed, dead) also has
// a slot of 56 bytes. What a message says is not here at all.
//
// What does not live here: payloads, journal framing, locks, names, policy.
package model
