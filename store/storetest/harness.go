package storetest

import (
	"errors"
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
	// Check looks through what a store kept that Open or Reopen returned and that was closed, and returns what is damaged.
	// Nil if the backend has nothing that could be looked through.
	Check func(t *testing.T, s store.Store) (problems []string)
	// Steps says that the store's queue time does not notice when the wall clock is set ([Clock.Jump]), and that what names an
	// instant follows it.
	Steps bool
	// Boots says that the store measures how long it was closed if the machine ran all the time, and reports in Gaps what it
	// found out when it was last opened.
	Boots bool
	// Gaps are the gaps that a store reported while it was opened.
	Gaps func(s store.Store) []store.Gap
	// lone says that the store serves one caller at a time, tells nobody, does not end and trusts its clock. No backend
	// is like that.
	lone bool
}

// close closes a store and looks through what it kept.
func (h Harness) close(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
		t.Errorf("Close() = %v, want nil", err)
	}
	if h.Check == nil {
		return
	}
	if problems := h.Check(t, s); len(problems) > 0 {
		t.Errorf("check of what a closed store kept: found %q, want no damage", problems)
	}
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
	busy    bool // the cases need more than a lone store
	spreads bool // the cases are about queues with shards
	restful bool // the cases hold as well when the store is closed and opened again before each call
	steps   bool // the cases set the wall clock
	boots   bool // the cases set the wall clock while the store is closed
	cases   []testCase
}

// Run checks every promise of package store on the backend.
func Run(t *testing.T, h Harness) {
	t.Helper()
	spreads := canSpread(t, h)
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
		{name: "watch", cases: watchCases, busy: true},
		{name: "time", cases: timeCases, busy: true},
		{name: "close", cases: closeCases, busy: true},
		{name: "concurrent", cases: concurrentCases, busy: true},
		{name: "reopen", cases: reopenCases, reopens: true},
		{name: "fifo", cases: fifoCases, restful: true},
		{name: "fifo tail", cases: fifoTailCases, restful: true},
		{name: "fair", cases: fairCases, restful: true},
		{name: "priority", cases: priorityCases, restful: true},
		{name: "dedup", cases: dedupCases, restful: true},
		{name: "ttl", cases: ttlCases, restful: true},
		{name: "limits", cases: limitCases, restful: true},
		{name: "rates", cases: rateCases, restful: true},
		{name: "attempt", cases: attemptCases, restful: true},
		{name: "settle any", cases: settleAnyCases, restful: true},
		{name: "select", cases: selectCases, restful: true},
		{name: "purge", cases: purgeCases, restful: true},
		{name: "move many", cases: moveManyCases, restful: true},
		{name: "move renew", cases: moveRenewCases, restful: true},
		{name: "scan", cases: scanCases, restful: true},
		{name: "lookup", cases: lookupCases, restful: true},
		{name: "groups", cases: groupsCases, restful: true},
		{name: "shards", cases: shardCases, spreads: true},
		{name: "wall clock", cases: wallCases, steps: true, restful: true},
		{name: "wall clock over a restart", cases: wallReopenCases, steps: true, boots: true, reopens: true},
		{name: "log", cases: logCases},
		{name: "log at once", cases: logBusyCases, busy: true},
		{name: "log reopen", cases: logReopenCases, reopens: true},
	} {
		if g.reopens && h.Reopen == nil || g.busy && h.lone || g.spreads && !spreads || g.steps && !h.Steps || g.boots && !h.Boots {
			continue
		}
		if g.restful && h.Reopen != nil {
			restarting(t, h, g)
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
	if h.lone {
		return // histories are compared with it
	}
	t.Run("histories", func(t *testing.T) {
		t.Parallel()
		histories(t, h)
	})
	if spreads {
		t.Run("shard histories", func(t *testing.T) {
			t.Parallel()
			shardHistories(t, h)
		})
	}
	t.Run("log histories", func(t *testing.T) {
		t.Parallel()
		logHistories(t, h)
	})
}

// restarting runs the cases with the store closed and opened again before each call.
func restarting(t *testing.T, h Harness, g group) {
	t.Helper()
	t.Run(g.name+" restarting", func(t *testing.T) {
		t.Parallel()
		for _, c := range g.cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := setup(t, h)
				f.restless = true
				c.run(f)
			})
		}
	})
}
