package journal

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// fill appends until the journal has rolled over that many times.
func (w *world) fill(t *testing.T, rolls int) {
	t.Helper()
	for until := w.j.Mark().File; rolls > 0; rolls-- {
		for w.j.Mark().File == until {
			lsn, err := w.put(t, 3000, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
		}
		until = w.j.Mark().File
	}
}

func TestReleaseRefusesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	w.fill(t, 2)
	active := w.j.Mark().File
	if err := w.j.Release(active); err == nil {
		t.Error("the active file was released")
	}
	if err := w.j.Release(1); err == nil {
		t.Error("a file that recovery starts at was released")
	}
	w.setStart(w.j.Mark())
	if err := w.j.Release(1); err != nil {
		t.Errorf("Release = %v", err)
	}
	if err := w.j.Release(1); err != nil {
		t.Errorf("Release once more = %v, want nil", err)
	}
	var lost Position
	for _, pos := range w.places {
		if pos.File == 1 {
			lost = pos
		}
	}
	if _, err := w.j.Read(lost, nil); !errors.Is(err, ErrReleased) {
		t.Errorf("Read of a released file = %v, want ErrReleased", err)
	}
	if err := w.j.Walk(lost, nil); !errors.Is(err, ErrReleased) {
		t.Errorf("Walk of a released file = %v, want ErrReleased", err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.j.Read(lost, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Read after Close = %v, want ErrClosed", err)
	}
}

// TestRecycledFiles goes round with few files: what an earlier use left in them never shows.
func TestRecycledFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	recycled := 0
	salts := map[record.Salt]bool{}
	for range 12 {
		w.fill(t, 1)
		s := w.j.Mark()
		w.setStart(s)
		for _, f := range w.j.Files() {
			if f.Number < s.File {
				if err := w.j.Release(f.Number); err != nil {
					t.Fatal(err)
				}
			}
		}
		f, done, err := w.j.borrow(s.File)
		if err != nil {
			t.Fatal(err)
		}
		if f.header.Recycled {
			recycled++
		}
		if salts[f.header.Salt] {
			t.Errorf("%s has the salt of an earlier file", fileName(s.File))
		}
		salts[f.header.Salt] = true
		done()
	}
	if recycled < 6 {
		t.Errorf("%d of 12 files were used again", recycled)
	}
	names, err := w.sim.List("/data")
	if err != nil || len(names) > 5 {
		t.Errorf("%d files lie about: %v, %v", len(names), names, err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	cuts := 0
	w.o.Events.Cut = func(Cut) { cuts++ }
	order, got, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(order, got); err != nil {
		t.Error(err)
	}
	if cuts > 0 {
		t.Error("stale bytes were taken for a torn end")
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadsDuringRelease reads while files are merged away: each read gives the record or says that it has moved.
func TestReadsDuringRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	w.fill(t, 4)
	w.setStart(w.j.Mark())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				for lsn, pos := range w.places {
					select {
					case <-stop:
						return
					default:
					}
					r, err := w.j.Read(pos, nil)
					if err != nil && !errors.Is(err, ErrReleased) {
						t.Errorf("Read(%v) = %v", pos, err)
						return
					}
					if err == nil && string(r.Payload) != w.given[lsn] {
						t.Errorf("Read(%v) gave other content", pos)
						return
					}
				}
			}
		})
	}
	for number := uint32(1); number < w.start.File; number++ {
		if err := w.j.Release(number); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestReleaseIsDurable cuts the power right after a file was released.
func TestReleaseIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(disk.NewSim(), 1)
		if _, _, err := w.open(); err != nil {
			t.Fatal(err)
		}
		w.fill(t, 2)
		w.setStart(w.j.Mark())
		synctest.Wait() // the preparer has nothing to do and syncs nothing
		if err := w.j.Release(1); err != nil {
			t.Fatal(err)
		}
		after := w.sim.Crash(disk.Mode{}, w.rng)
		w.j.Close() //nolint:errcheck // its disk has crashed
		if _, err := after.Open("/data/" + fileName(1)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of the released file = %v, want fs.ErrNotExist", err)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	lsn, err := w.put(t, 100, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.j.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := w.j.Wait(lsn); err != nil {
		t.Errorf("Wait for what Close wrote = %v", err)
	}
	if err := w.j.Wait(lsn + 1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Wait for more = %v, want ErrClosed", err)
	}
	if _, err := w.j.Append(sealed(nil), true); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Append = %v, want ErrClosed", err)
	}
	if err := w.j.Room(t.Context(), 10, true); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Room = %v, want ErrClosed", err)
	}
	if err := w.j.Sync(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Sync = %v, want ErrClosed", err)
	}
	w.acked[lsn] = true
	order, got, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(order, got); err != nil {
		t.Error(err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseSyncs closes a journal that never syncs by itself, and cuts the power.
func TestCloseSyncs(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	w.o.Sync = None
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	lsn, err := w.put(t, 100, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	w.acked[lsn] = true
	after := w.after(w.sim.Crash(disk.Mode{}, w.rng), 1)
	order, got, err := after.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := after.check(order, got); err != nil {
		t.Error(err)
	}
	if err := after.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestWriter copies what is live into a file of its own and gives up the others.
func TestWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	w.fill(t, 3)
	s := w.j.Mark()
	out, err := w.j.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	type kept struct {
		lsn LSN
		pos Position
	}
	var moved []kept
	for number := uint32(1); number < s.File; number++ {
		n := 0
		scanned, err := Scan(w.sim, "/data", number, func(lsn LSN, pos Position, size uint32, r record.Record) error {
			if w.places[lsn] != pos || size != uint32(record.HeaderSize+len(w.given[lsn])) {
				t.Errorf("LSN %d scanned at %v with %d bytes, was placed at %v", lsn, pos, size, w.places[lsn])
			}
			if n++; n%2 == 0 {
				return nil
			}
			pos, err := out.Append(r)
			moved = append(moved, kept{lsn, pos})
			return err
		})
		if err != nil || !scanned.Sealed || scanned.Next != number+1 || scanned.Records != int64(n) {
			t.Errorf("Scan(%d) = %+v, %v after %d records", number, scanned, err, n)
		}
	}
	big := make([]byte, 3<<20)
	pos, err := out.Append(record.Record{LSN: 1 << 50, Type: 9, Version: 2, Object: 5, Payload: big})
	if err != nil {
		t.Fatal(err)
	}
	estimate := out.Size()
	info, err := out.Finish()
	if err != nil || info.Size != estimate || !info.Sealed || !info.Merged {
		t.Fatalf("Finish = %+v, %v, Size said %d", info, err, estimate)
	}
	s.Sealed = []uint32{info.Number}
	w.setStart(s)
	for number := uint32(1); number < s.File; number++ {
		if err := w.j.Release(number); err != nil {
			t.Error(err)
		}
	}
	check := func(j *Journal) {
		t.Helper()
		for _, m := range moved {
			r, err := j.Read(m.pos, make([]byte, 100))
			if err != nil || r.LSN != m.lsn || string(r.Payload) != w.given[m.lsn] {
				t.Errorf("Read(%v) = LSN %d, %v, want %d", m.pos, r.LSN, err, m.lsn)
			}
		}
		r, err := j.Read(pos, nil)
		if err != nil || len(r.Payload) != len(big) || r.Type != 9 || r.Version != 2 || r.Object != 5 {
			t.Errorf("Read of the big one = %v", err)
		}
		i := 0
		err = j.Walk(moved[0].pos, func(lsn LSN, at Position, _ record.Record) (bool, error) {
			if i < len(moved) && (moved[i].lsn != lsn || moved[i].pos != at) {
				t.Errorf("step %d of the walk: LSN %d at %v, want %v", i, lsn, at, moved[i])
			}
			i++
			return true, nil
		})
		if err != nil || i != len(moved)+1 {
			t.Errorf("Walk went %d steps, %v, want %d", i, err, len(moved)+1)
		}
	}
	check(w.j)
	if _, err := w.j.NewWriter(); err != nil { // never finished, never aborted
		t.Fatal(err)
	}
	after := w.after(w.sim.Crash(disk.Mode{Entries: disk.Kept}, w.rng), 2)
	w.j.Close() //nolint:errcheck // its disk has crashed
	order, got, err := after.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := after.check(order, got); err != nil {
		t.Error(err)
	}
	check(after.j)
	if err := after.j.Release(info.Number); err != nil {
		t.Errorf("Release of the merged file = %v", err)
	}
	if err := after.j.Close(); err != nil {
		t.Error(err)
	}
	names, err := after.sim.List("/data")
	if err != nil || strings.Contains(strings.Join(names, " "), tmpSuffix) {
		t.Errorf("what was left half-made is still there: %v, %v", names, err)
	}
}

func TestWriterAborts(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	out, err := w.j.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Abort(); err != nil {
		t.Error(err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestWalk walks from each record of each file to its end, while the last file grows.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		lsn, err := w.put(t, w.size(), i%4 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
		}
	}
	for from, pos := range w.places {
		next := from
		err := w.j.Walk(pos, func(lsn LSN, at Position, r record.Record) (bool, error) {
			if lsn != next || at != w.places[lsn] || string(r.Payload) != w.given[lsn] {
				t.Errorf("from LSN %d: came to %d at %v, want %d at %v", from, lsn, at, next, w.places[next])
			}
			next++
			return true, nil
		})
		if err != nil {
			t.Errorf("Walk from LSN %d = %v", from, err)
		}
		if following, ok := w.places[next]; ok && following.File == pos.File {
			t.Errorf("Walk from LSN %d ended before %d", from, next)
		}
	}
	wrong := w.places[5]
	wrong.Offset += 8
	if _, err := w.j.Read(wrong, nil); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), fileName(wrong.File)) {
		t.Errorf("Read beside a record = %v, want ErrCorrupt naming the file", err)
	}
	stop := errors.New("stop")
	if err := w.j.Walk(w.places[1], func(LSN, Position, record.Record) (bool, error) { return true, stop }); !errors.Is(err, stop) {
		t.Errorf("Walk = %v, want the error of fn", err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestPlacedBeforeDurable checks order and moment of the calls.
func TestPlacedBeforeDurable(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	var last, durable LSN
	w.o.Placed = func(lsn LSN, _ Position, size uint32, r record.Record) {
		if lsn != last+1 || r.LSN != lsn || w.j.Durable() >= lsn || int(size) != r.Size() {
			t.Errorf("Placed(%d) after %d, %d is durable, size %d", lsn, last, w.j.Durable(), size)
		}
		last = lsn
	}
	w.o.Durable = func(lsn LSN) {
		if lsn != last || w.j.Durable() != lsn {
			t.Errorf("Durable(%d) after Placed(%d)", lsn, last)
		}
		durable = lsn
	}
	var sealedFiles []uint32
	w.o.Sealed = func(file uint32, size int64) {
		if size > testFileSize || size < testFileSize/2 {
			t.Errorf("Sealed(%d, %d)", file, size)
		}
		sealedFiles = append(sealedFiles, file)
	}
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	w.fill(t, 3)
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
	if durable != w.j.Applied() || len(sealedFiles) != 3 {
		t.Errorf("Durable came to %d of %d, %d files were sealed", durable, w.j.Applied(), len(sealedFiles))
	}
}
