package journal

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// TestLazyRecordsGoOutByThemselves appends records nobody waits for.
func TestLazyRecordsGoOutByThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(disk.NewSim(), 1)
		w.o.FileSize = 1 << 20
		if _, _, err := w.open(); err != nil {
			t.Fatal(err)
		}
		lsn, err := w.put(t, 100, false)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(lazyAfter - time.Millisecond)
		synctest.Wait()
		if w.j.Durable() >= lsn {
			t.Error("a record nobody waits for went out at once")
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if w.j.Durable() < lsn {
			t.Errorf("a record nobody waits for is still not durable after %v", lazyAfter)
		}

		for size := 0; size < lazyBytes; size += 10_000 {
			if lsn, err = w.put(t, 10_000, false); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if w.j.Durable() < lsn {
			t.Errorf("%d bytes nobody waits for did not go out", lazyBytes)
		}

		first, err := w.put(t, 10, false)
		if err != nil {
			t.Fatal(err)
		}
		if lsn, err = w.put(t, 10, true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.j.Durable() < lsn || w.places[first].Offset/record.BlockSize != w.places[lsn].Offset/record.BlockSize {
			t.Error("a record nobody waits for did not ride with the next batch")
		}

		if lsn, err = w.put(t, 10, false); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := w.wait(lsn); err != nil || time.Since(start) > 0 {
			t.Errorf("Wait for a record nobody was to wait for took %v, %v", time.Since(start), err)
		}
		if err := w.j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestIntervalSyncs cuts the power before and after the interval.
func TestIntervalSyncs(t *testing.T) {
	t.Parallel()
	for _, passed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(disk.NewSim(), 1)
			w.o.Sync, w.o.Interval = Interval, time.Minute
			if _, _, err := w.open(); err != nil {
				t.Fatal(err)
			}
			lsn, err := w.put(t, 100, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
			if got := w.j.Mark(); got.After >= lsn {
				t.Errorf("Mark = %+v before the sync of LSN %d", got, lsn)
			}
			want := 0
			if passed {
				want = 1
				<-time.After(w.o.Interval + time.Second)
				synctest.Wait()
				if got := w.j.Mark(); got.After != lsn {
					t.Errorf("Mark = %+v after the sync of LSN %d", got, lsn)
				}
				if lsn, err = w.put(t, 100, true); err != nil {
					t.Fatal(err)
				}
				if err := w.wait(lsn); err != nil {
					t.Fatal(err)
				}
			}
			if n := replayedAfterCrash(t, w); n != want {
				t.Errorf("%d records survived, want %d", n, want)
			}
		})
	}
}

// replayedAfterCrash cuts the power and counts what is left.
func replayedAfterCrash(t *testing.T, w *world) int {
	t.Helper()
	after := w.after(w.sim.Crash(disk.Mode{}, w.rng), 1)
	w.j.Close() //nolint:errcheck // its disk has crashed
	order, _, err := after.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := after.j.Close(); err != nil {
		t.Error(err)
	}
	return len(order)
}

// TestPrepareIsTriedAgain fails to make a spare for a while.
func TestPrepareIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(disk.NewSim(), 1)
		failures := 0
		w.o.Events.PrepareFailed = func(err error) {
			if !errors.Is(err, syscall.EMFILE) {
				t.Errorf("PrepareFailed(%v), want EMFILE", err)
			}
			failures++
		}
		if _, _, err := w.open(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.sim.SetHook(func(op disk.Op) error {
			if op.Kind == disk.OpCreate {
				return syscall.EMFILE
			}
			return nil
		})
		var lsn LSN
		var err error
		for w.j.Applied() < 10 { // the first file gets full, and the spare is taken
			if lsn, err = w.put(t, 4000, true); err != nil {
				t.Fatal(err)
			}
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(10 * prepareAgain)
		synctest.Wait()
		if failures < 5 {
			t.Errorf("making a spare failed %d times in %v", failures, 10*prepareAgain)
		}
		w.sim.SetHook(nil)
		<-time.After(2 * prepareAgain)
		synctest.Wait()
		for range 20 {
			if lsn, err = w.put(t, 4000, true); err != nil {
				t.Fatal(err)
			}
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.j.Close(); err != nil {
			t.Error(err)
		}
	})
}
