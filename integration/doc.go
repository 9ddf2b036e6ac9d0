// Package integration tests the program from outside. It builds the real binary once, starts it in processes of their
// own, speaks HTTP to them over loopback, kills them, starts them again, and checks that what was acknowledged is there
// and what never happened is not.
//
// Three environment variables change a run:
//
//	DABBA_SEED     repeats a random test: each prints its seed
//	DABBA_TORTURE  when not empty, makes the long versions of the tests run
//	DABBA_BINARY   tests this binary instead of building one
//
// Tests on Redis need the program redis-server: see package redistest.
//
// Tests that need a program or a right the machine may lack (curl, Python 3, mounting) are skipped without it, but fail
// when CI is set.
//
// What does not live here: tests that can do without a process. They are with the packages they test.
package integration
