// Package enginetest says what queues do, in two forms, for any store.
//
// The transcripts in testdata/*.txt are scenarios: commands, and below each what is answered. They read like a
// session at a terminal and are reviewed like code. Run the tests with -update to rewrite the answers, and look at
// the difference.
//
//	# A comment belongs to the command below it.
//	send orders "first" "second" delay=10s
//	----
//	#1
//	#2
//
// Message ids are shown as #1, #2 and so on in the order in which they first appear, receipts as r1, r2 and so on.
// The commands are the functions in commands.go. Time stands still but for "advance".
//
// What needs goroutines (waiting, hanging up, draining) and the faults of others that must not happen here are tests
// in Go; both run inside testing/synctest, so no test takes the time it speaks of.
//
// What does not live here: tests of one store alone (its own package), tests over HTTP (package integration).
package enginetest
