package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// onActive says whether a call writes to or syncs a data file under its final name while the journal runs: only the
// active one is.
func onActive(op disk.Op) bool {
	return strings.HasSuffix(op.Name, fileSuffix) && (op.Kind == disk.OpWrite || op.Kind == disk.OpSync)
}

// failNth lets the n-th call of a kind fail once, after armed was set.
func failNth(sim *disk.Sim, armed *atomic.Bool, kind disk.Kind, n int, err error) (failed *atomic.Pointer[disk.Op]) {
	var calls atomic.Int64
	failed = new(atomic.Pointer[disk.Op])
	sim.SetHook(func(op disk.Op) error {
		if !armed.Load() || op.Kind != kind || op.After || calls.Add(1) != int64(n) {
			return nil
		}
		failed.Store(&op)
		return err
	})
	return failed
}

// TestFailingCalls lets each call of each kind fail in turn: nothing is acknowledged that is not durable, trouble on the
// active file ends the journal, and trouble elsewhere does not.
func TestFailingCalls(t *testing.T) {
	t.Parallel()
	s := seed(t)
	faults := map[string]error{
		"EIO":    syscall.EIO,
		"ENOSPC": syscall.ENOSPC,
		"EMFILE": syscall.EMFILE,
		"short":  &disk.ShortWrite{N: 700, Err: syscall.ENOSPC},
	}
	kinds := []disk.Kind{disk.OpCreate, disk.OpOpen, disk.OpRename, disk.OpRemove, disk.OpSyncDir, disk.OpWrite, disk.OpSync}
	for name, fault := range faults {
		for _, kind := range kinds {
			if name == "short" && kind != disk.OpWrite {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, kind), func(t *testing.T) {
				t.Parallel()
				poisoned, survived := 0, 0
				for n := 1; n <= 100; n++ {
					op, err := failOnce(t, s, kind, n, fault)
					if err != nil {
						t.Fatalf("seed %d, call %d: %v", s, n, err)
					}
					switch {
					case op == nil:
						n = 100
					case onActive(*op):
						poisoned++
					default:
						survived++
					}
				}
				t.Logf("%d poisoned, %d survived", poisoned, survived)
				if kind == disk.OpWrite || kind == disk.OpSync {
					if poisoned == 0 {
						t.Error("no failing call hit the active file")
					}
				} else if survived == 0 && kind != disk.OpOpen && kind != disk.OpRemove {
					t.Error("no call failed")
				}
			})
		}
	}
}

// failOnce runs a workload in which one call fails, and returns that call, if it came to it.
func failOnce(t *testing.T, s uint64, kind disk.Kind, n int, fault error) (*disk.Op, error) {
	t.Helper()
	w := newWorld(disk.NewSim(), s)
	if _, _, err := w.open(); err != nil {
		return nil, err
	}
	var armed atomic.Bool
	failed := failNth(w.sim, &armed, kind, n, fault)
	armed.Store(true)
	err := steady(t, w)
	closeErr := w.j.Close()
	armed.Store(false)
	op := failed.Load()
	active := op != nil && onActive(*op)
	switch {
	case active && !errors.Is(err, store.ErrUnknown) && !errors.Is(closeErr, store.ErrUnknown):
		return op, fmt.Errorf("%+v failed, and the workload ended with %w, Close with %w; want ErrUnknown", *op, err, closeErr)
	case active && w.failed != 1:
		return op, fmt.Errorf("Failed was called %d times", w.failed)
	case !active && err != nil && !errors.Is(err, store.ErrFull) && !strings.Contains(err.Error(), "release"):
		return op, fmt.Errorf("%+v failed, and the workload with it: %w", op, err)
	case !active && w.failed > 0:
		return op, fmt.Errorf("%+v failed, and the journal gave up: %w", *op, w.j.Err())
	}
	rng := rand.New(rand.NewPCG(s, uint64(n)))
	after := w.after(w.sim.Crash(disk.Mode{}, rng), rng.Uint64())
	order, got, err := after.open()
	if err != nil {
		return op, err
	}
	defer after.j.Close() //nolint:errcheck // nothing was written
	return op, after.check(order, got)
}

// steady appends over several files, waiting for each record, and releases what it can.
func steady(t *testing.T, w *world) error {
	t.Helper()
	for i := range 60 {
		lsn, err := w.put(t, 1000+w.size()%4000, true)
		if err != nil {
			return err
		}
		if err := w.wait(lsn); err != nil {
			return err
		}
		if i%20 == 19 {
			s := w.j.Mark()
			w.setStart(s)
			for _, f := range w.j.Files() {
				if f.Number < s.File {
					if err := w.j.Release(f.Number); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// TestSyncThatFailsAndLiesAfterwards fails one sync of the active file in each way, starts again without the machine
// having lost power, goes on, and then cuts the power.
func TestSyncThatFailsAndLiesAfterwards(t *testing.T) {
	t.Parallel()
	s := seed(t)
	for _, mode := range []disk.SyncMode{disk.Dropped, disk.KeptUntilEvicted, disk.Dying} {
		for n := 1; n <= 40; n++ {
			w := newWorld(disk.NewSim(), s)
			if _, _, err := w.open(); err != nil {
				t.Fatal(err)
			}
			var failed atomic.Bool
			var syncs atomic.Int64
			w.sim.SetHook(func(op disk.Op) error {
				if op.Kind == disk.OpSync && onActive(op) && !op.After && syncs.Add(1) == int64(n) {
					failed.Store(true)
					return &disk.SyncFault{Mode: mode, Err: syscall.EIO}
				}
				return nil
			})
			err := steady(t, w)
			if !failed.Load() || !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("mode %d, sync %d: %v, want ErrUnknown", mode, n, err)
			}
			if lsn, err := w.put(t, 10, true); !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("mode %d, sync %d: Append after the failure = %d, %v, want ErrUnknown", mode, n, lsn, err)
			}
			if err := w.j.Close(); !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("Close after a failure = %v, want ErrUnknown", err)
			}
			w.sim.SetHook(nil)
			if err := afterSyncFault(t, w, mode); err != nil {
				t.Fatalf("seed %d, mode %d, sync %d: %v", s, mode, n, err)
			}
		}
	}
}

// afterSyncFault opens the journal on the same running machine and lets it lose power after that. A dying disk is only
// asked for what was acknowledged before.
func afterSyncFault(t *testing.T, w *world, mode disk.SyncMode) error {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	if mode != disk.Dying {
		order, got, err := w.open()
		if err != nil {
			return err
		}
		if err := w.check(order, got); err != nil {
			return err
		}
		w.settleOn(got)
		lsn, err := w.put(t, 100, true)
		if err != nil {
			return err
		}
		if err := w.wait(lsn); err != nil {
			return err
		}
		w.sim.Evict()
	}
	after := w.after(w.sim.Crash(disk.Mode{}, rng), 1)
	if mode != disk.Dying {
		w.j.Close() //nolint:errcheck // its disk has crashed
	}
	order, got, err := after.open()
	if err != nil {
		return err
	}
	defer after.j.Close() //nolint:errcheck // nothing was written
	return after.check(order, got)
}
