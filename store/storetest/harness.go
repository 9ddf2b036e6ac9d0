package storetest

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// Harness is how the suite makes the stores of one backend, and what that backend can do.
type Harness struct {
	// Open returns a new, empty store whose queue time follows the clock. The suite closes it.
	Open func(t *testing.T, c *Clock) store.Store
	// Reopen closes a store that Open or Reopen returned, which may be closed already, and opens again what it kept,
	// with the same clock. Nil if the backend keeps nothing.
	Reopen func(t *testing.T, s store.Store) store.Store
}

// testCase is one promise of the contract.
type testCase struct {
	name string
	run  func(f *fixture)
}

// group holds the cases of one operation.
type group struct {
	name    string
	reopens bool // the cases close the store and open it again
	cases   []testCase
}

// Run checks every promise of package store on the backend.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, g := range []group{
		{name: "send", cases: sendCases},
		{name: "claim", cases: claimCases},
		{name: "deliveries", cases: deliveryCases},
		{name: "settle", cases: settleCases},
		{name: "move", cases: moveCases},
		{name: "sweep", cases: sweepCases},
		{name: "stats", cases: statsCases},
		{name: "due", cases: dueCases},
		{name: "configure", cases: configureCases},
		{name: "drop", cases: dropCases},
		{name: "kv", cases: kvCases},
		{name: "once", cases: onceCases},
		{name: "watch", cases: watchCases},
		{name: "time", cases: timeCases},
		{name: "close", cases: closeCases},
		{name: "concurrent", cases: concurrentCases},
		{name: "reopen", cases: reopenCases, reopens: true},
	} {
		if g.reopens && h.Reopen == nil {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(setup(t, h))
				})
			}
		})
	}
	t.Run("histories", func(t *testing.T) {
		t.Parallel()
		histories(t, h)
	})
}
