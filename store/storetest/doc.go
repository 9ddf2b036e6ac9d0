// Package storetest is the suite that every backend passes. It is written against the contract in package store, and
// knows nothing of how a backend keeps its promises.
//
//   - [Run] holds the cases, one file per operation, and the random histories that are compared with a plain reference.
//     What queues remember is also tested with the store closed and opened again before each call.
//   - [Crash] runs workloads on a simulated disk, crashes it around each of its calls, and compares what comes back with
//     a ledger of what was acknowledged. [Damage], [Faults], [Lies] and [Full] do the same with damaged files, failing
//     calls, syncs that only seem to work and a disk without room.
//   - [Planted] proves that all of this notices something: it builds the store with one line sabotaged and expects the
//     tests to fail.
//
// A backend's own test file calls these with a few functions. What a backend cannot do is a field of its [Harness],
// never a question of its name.
//
// Random tests print their seed. DABBA_SEED=n repeats a run and DABBA_TORTURE=1 makes runs as long as a night allows.
//
// What does not live here: tests of formats and of parts (they are beside these), benchmarks, HTTP.
package storetest
