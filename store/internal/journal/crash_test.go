package journal

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dabba-mq/dabba/store/internal/disk"
)

// TestCrashEverywhere runs one workload and cuts the power before and after every call that changes the disk, in every
// mode, some of the recoveries too: whatever was acknowledged is there, in order, and nothing else ever was.
func TestCrashEverywhere(t *testing.T) {
	t.Parallel()
	for _, mode := range []SyncMode{Always, Interval, None} {
		t.Run(fmt.Sprintf("sync%d", mode), func(t *testing.T) {
			t.Parallel()
			s := seed(t)
			crashEverywhere(t, s, mode, sequential)
		})
	}
}

// TestCrashEverywhereConcurrent is the same with several goroutines, where calls come in no fixed order.
func TestCrashEverywhereConcurrent(t *testing.T) {
	t.Parallel()
	crashEverywhere(t, seed(t), Always, concurrent)
}

func crashEverywhere(t *testing.T, s uint64, mode SyncMode, workload func(*testing.T, *world)) {
	t.Helper()
	var total counts
	step := 1
	if testing.Short() {
		step = 5
	}
	for n := 1; ; n += step {
		finished := false
		for _, after := range []bool{false, true} {
			w := newWorld(disk.NewSim(), s)
			w.o.Sync = mode
			reached := stopAt(w.sim, n, after)
			workload(t, w)
			total.add(w.seen)
			finished = !reached.Load()
			for i, crash := range disk.Modes {
				rng := rand.New(rand.NewPCG(s, uint64(n*100+i)))
				c := w.after(w.sim.Crash(crash, rng), rng.Uint64())
				if err := recoverAndCheck(t, c, rng, 0); err != nil {
					t.Fatalf("seed %d, call %d, after %v, %v: %v\n%v", s, n, after, crash, err, c.sim)
				}
				total.add(c.seen)
			}
		}
		if finished {
			break
		}
	}
	t.Logf("%+v", total)
	if total.rolled == 0 || total.cut == 0 || total.released == 0 || total.nested == 0 || total.recovered < 2000/step/3 {
		t.Errorf("not everything was tried: %+v", total)
	}
}

func (c *counts) add(o counts) {
	c.rolled += o.rolled
	c.cut += o.cut
	c.released += o.released
	c.recovered += o.recovered
	c.nested += o.nested
	c.refused += o.refused
}

// stopAt freezes the disk before or after the n-th call that changes it.
func stopAt(sim *disk.Sim, n int, after bool) *atomic.Bool {
	var calls atomic.Int64
	var stopCall atomic.Int64
	var reached atomic.Bool
	sim.SetHook(func(op disk.Op) error {
		if !op.Kind.Changes() {
			return nil
		}
		if !op.After && calls.Add(1) == int64(n) {
			stopCall.Store(int64(op.N))
		}
		if stopCall.Load() == int64(op.N) && op.After == after {
			reached.Store(true)
			sim.Freeze()
		}
		return nil
	})
	return &reached
}

// sequential appends over several files and moves the start along, until something fails.
func sequential(t *testing.T, w *world) {
	t.Helper()
	if _, _, err := w.open(); err != nil {
		return
	}
	defer w.j.Close() //nolint:errcheck // the disk is gone in most runs
	for i := range 40 {
		lsn, err := w.put(t, w.size(), i%3 != 0)
		if err != nil {
			return
		}
		if i%3 == 2 {
			if err := w.wait(lsn); err != nil {
				return
			}
			if w.o.Sync != Always && i%9 == 8 {
				if err := w.sync(); err != nil {
					return
				}
			}
		}
		if i == 20 || i == 35 {
			w.advance()
		}
	}
}

// concurrent appends from four goroutines.
func concurrent(t *testing.T, w *world) {
	t.Helper()
	if _, _, err := w.open(); err != nil {
		return
	}
	defer w.j.Close() //nolint:errcheck // the disk is gone in most runs
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 12 {
				lsn, err := w.put(t, w.size(), true)
				if err != nil {
					return
				}
				if err := w.wait(lsn); err != nil {
					return
				}
				if g == 0 && i == 8 {
					w.advance()
				}
			}
		})
	}
	wg.Wait()
}

// advance moves the start to the present end and releases one of the files before it; the others stay as sealed.
func (w *world) advance() {
	s := w.j.Mark()
	var old []uint32
	for _, f := range w.j.Files() {
		if f.Number < s.File {
			old = append(old, f.Number)
		}
	}
	if len(old) > 0 {
		s.Sealed = old[1:]
	}
	w.setStart(s)
	if len(old) > 0 && w.j.Release(old[0]) == nil {
		w.seen.released++
	}
}

// recoverAndCheck opens what a crash left, checks it, goes on with it and opens it again. Sometimes the power is cut
// during recovery as well.
func recoverAndCheck(t *testing.T, w *world, rng *rand.Rand, depth int) error {
	t.Helper()
	w.seen.recovered++
	if depth < 3 && rng.IntN(5) == 0 {
		reached := stopAt(w.sim, 1+rng.IntN(25), rng.IntN(2) == 0)
		if _, _, err := w.open(); err == nil {
			w.j.Close() //nolint:errcheck // the disk may be gone
		} else if !reached.Load() {
			return err
		}
		mode := disk.Modes[rng.IntN(len(disk.Modes))]
		n := w.after(w.sim.Crash(mode, rng), rng.Uint64())
		defer func() { w.seen.add(n.seen) }()
		w.seen.nested++
		if err := recoverAndCheck(t, n, rng, depth+1); err != nil {
			return fmt.Errorf("crashed during recovery, %v: %w", mode, err)
		}
		return nil
	}
	order, got, err := w.open()
	if err != nil {
		return fmt.Errorf("does not open: %w", err)
	}
	if err := w.check(order, got); err != nil {
		return err
	}
	for _, number := range w.start.Sealed {
		f, done, err := w.j.borrow(number)
		if err != nil {
			return err
		}
		done()
		if !f.sealed.Load() {
			return fmt.Errorf("file %d is not sealed", number)
		}
	}
	w.settleOn(got)
	for range 3 {
		lsn, err := w.put(t, w.rng.IntN(3000), true)
		if err != nil {
			return err
		}
		if err := w.wait(lsn); err != nil {
			return err
		}
	}
	if err := w.sync(); err != nil {
		return err
	}
	again := w.after(w.sim.Crash(disk.Mode{Data: disk.Lost, Entries: disk.Lost}, rng), rng.Uint64())
	w.j.Close() //nolint:errcheck // its disk has crashed
	if order, got, err = again.open(); err != nil {
		return fmt.Errorf("does not open again: %w", err)
	}
	defer again.j.Close() //nolint:errcheck // nothing was written
	if err := again.check(order, got); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return nil
}
