package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// fault is one way in which one kind of call fails.
type fault struct {
	kind disk.Kind
	how  string
	err  error
}

func (f fault) String() string { return string(f.kind) + " " + f.how }

// faults are the failures of a disk that is sick but not dead.
var faults = []fault{
	{disk.OpWrite, "fails", syscall.EIO},
	{disk.OpWrite, "finds no room", syscall.ENOSPC},
	{disk.OpWrite, "finds room for a sector", &disk.ShortWrite{N: 512, Err: syscall.ENOSPC}},
	{disk.OpWrite, "fails after 4000 bytes", &disk.ShortWrite{N: 4000, Err: syscall.EIO}},
	{disk.OpSync, "fails", syscall.EIO},
	{disk.OpSyncDir, "fails", syscall.EIO},
	{disk.OpCreate, "finds no room", syscall.ENOSPC},
	{disk.OpCreate, "finds too many open files", syscall.EMFILE},
	{disk.OpOpen, "finds too many open files", syscall.EMFILE},
	{disk.OpRead, "fails", syscall.EIO},
	{disk.OpRename, "fails", syscall.EIO},
	{disk.OpRemove, "fails", syscall.EIO},
	{disk.OpTruncate, "finds no room", syscall.ENOSPC},
	{disk.OpList, "fails", syscall.EIO},
}

// lies are the ways in which a sync fails so that a second one would succeed though the data is lost.
var lies = []fault{
	{disk.OpSync, "drops what was written", &disk.SyncFault{Mode: disk.Dropped, Err: syscall.EIO}},
	{disk.OpSync, "keeps it only in memory", &disk.SyncFault{Mode: disk.KeptUntilEvicted, Err: syscall.EIO}},
	{disk.OpSync, "never works again", &disk.SyncFault{Mode: disk.Dying, Err: syscall.EIO}},
}

// Faults runs the workloads with one call to the disk failing, and then cuts the power with everything lost that was
// not synced. Nothing acknowledged may depend on the call that failed. A store that answered "outcome unknown" once
// answers so for ever; one that did not is still fit to be used.
func Faults(t *testing.T, d Disk) {
	t.Helper()
	runFaults(t, d, faults, size(12, 100))
}

// Lies does the same with syncs that fail and seem to succeed when they are tried again. A store that tries again loses
// data here.
func Lies(t *testing.T, d Disk) {
	t.Helper()
	runFaults(t, d, lies, size(40, 100))
}

// runFaults lets the n-th call of each kind fail, for that many n.
func runFaults(t *testing.T, d Disk, list []fault, many int) {
	t.Helper()
	s := seed(t)
	var failed, poisoned atomic.Int64
	t.Run("calls", func(t *testing.T) {
		for i, f := range list {
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				rng := random(s, uint64(i))
				for n := range many {
					load := workloads[rng.IntN(len(workloads))]
					p := faultPlan{load: load, seed: rng.Uint64(), fault: f, at: 1 + n}
					if n >= many/2 {
						p.at = 1 + rng.IntN(100)
					}
					hit, ended := p.run(t, d)
					failed.Add(hit)
					poisoned.Add(ended)
				}
			})
		}
	})
	t.Logf("%d calls failed, %d of them ended the store", failed.Load(), poisoned.Load())
	if failed.Load() == 0 || poisoned.Load() == 0 {
		t.Errorf("exercised: %d calls failed and %d ended the store, want some of each", failed.Load(), poisoned.Load())
	}
}

// faultPlan is one run of a workload with one failing call.
type faultPlan struct {
	load  workload
	seed  uint64
	fault fault
	at    int // among the calls of the kind
}

func (p faultPlan) String() string {
	return fmt.Sprintf("workload %q, seed %d, call %d: %v", p.load.name, p.seed, p.at, p.fault)
}

// run returns 1 if the call was made, and 1 if it ended the store.
func (p faultPlan) run(t *testing.T, d Disk) (hit, ended int64) {
	t.Helper()
	seen := &Exercised{}
	w := newWorld(t.Context(), p.load, p.seed, seen)
	w.patient = true
	var calls, hits atomic.Int64
	var over atomic.Bool
	w.sim.Hook = func(op disk.Op) error {
		if over.Load() || op.After || op.Kind != p.fault.kind || calls.Add(1) != int64(p.at) {
			return nil
		}
		hits.Store(1)
		return p.fault.err
	}
	err := w.run(d)
	over.Store(true)
	if w.store == nil && hits.Load() == 1 {
		return hits.Load(), 0 // it was not opened, and nobody was told anything
	}
	if err != nil {
		t.Errorf("%v: %v\n%s", p, err, w.story())
		return hits.Load(), 0
	}
	switch {
	case w.shut.Load():
	case w.inDoubt():
		ended = 1
		if err := w.poisoned(); err != nil {
			t.Errorf("%v: %v\n%s", p, err, w.story())
		}
	default:
		if err := w.usable(); err != nil {
			t.Errorf("%v: %v\n%s", p, err, w.story())
		}
	}
	w.sim.Evict()
	w.cut()
	go func() { _ = w.close() }()
	rng := rand.New(rand.NewPCG(p.seed, 1))
	if err := w.recover(d, w.sim.Crash(disk.Mode{Data: disk.Lost, Entries: disk.Lost}, rng), rng, false, nil); err != nil {
		t.Errorf("%v: %v\n%s", p, err, w.story())
	}
	return hits.Load(), ended
}

func (w *world) inDoubt() bool {
	for _, c := range w.clients {
		if c.doubt != nil {
			return true
		}
	}
	return false
}

// poisoned checks that a store which failed while writing says so from then on, whatever it is asked to change.
func (w *world) poisoned() error {
	var errs []error
	if err := w.store.Ping(w.ctx); !errors.Is(err, store.ErrUnknown) {
		errs = append(errs, fmt.Errorf("Ping after a failed write = %w, want an outcome unknown", err))
	}
	if _, err := w.store.Put(w.ctx, "after", nil, store.AnyRevision); !errors.Is(err, store.ErrUnknown) {
		errs = append(errs, fmt.Errorf("Put after a failed write = %w, want an outcome unknown", err))
	}
	return errors.Join(errs...)
}

// usable checks that a store which survived a failing call accepts messages again within a while.
func (w *world) usable() error {
	if err := w.store.Ping(w.ctx); err != nil {
		return fmt.Errorf("Ping after a failed call that did not matter = %w, want nil", err)
	}
	w.sim.SetCapacity(0)
	w.clock.Advance(time.Second) // a backend need not look at the disk more often
	return eventually(func() error {
		_, err := w.store.Put(w.ctx, "after", make([]byte, 5000), store.AnyRevision)
		if err != nil {
			return fmt.Errorf("Put after a failed call that did not matter = %w, want nil within a while", err)
		}
		return nil
	})
}

// eventually repeats until there is no error, for ten seconds. Only what a backend does on its own, beside all calls,
// is waited for like this.
func eventually(try func() error) error {
	limit := time.After(10 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit:
			return err
		}
	}
}
