package journal

import (
	crand "crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0 draws one")

// seed returns the seed of a test and logs it, so that a failure can be repeated with -seed.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := *seedFlag
	if s == 0 {
		var b [8]byte
		if _, err := crand.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		s = binary.LittleEndian.Uint64(b[:])
	}
	t.Logf("repeat with -seed %d", s)
	return s
}

// reader makes a source of salts from a generator.
type reader struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p {
		p[i] = byte(r.rng.Uint32())
	}
	return len(p), nil
}

const testFileSize = 32 << 10

// world is a journal on a simulated disk together with all that is known about what it must hold. It plays the store:
// its start is the manifest.
type world struct {
	sim  *disk.Sim
	rng  *rand.Rand
	o    Options
	j    *Journal
	seen counts

	mu sync.Mutex
	// start is what the manifest says.
	start Start
	// given is the content of every record that got an LSN, acked those that are durable for certain.
	given map[LSN]string
	acked map[LSN]bool
	// places are those of records that were placed or replayed.
	places map[LSN]Position
	failed int
}

// counts says what a test went through.
type counts struct{ rolled, cut, released, recovered, nested, refused int }

func newWorld(sim *disk.Sim, s uint64) *world {
	w := &world{
		sim:    sim,
		rng:    rand.New(rand.NewPCG(s, 1)),
		given:  map[LSN]string{},
		acked:  map[LSN]bool{},
		places: map[LSN]Position{},
	}
	w.o = Options{
		Dir:      "/data",
		Rand:     &reader{rng: rand.New(rand.NewPCG(s, 2))},
		FileSize: testFileSize,
		Placed: func(lsn LSN, pos Position, _ uint32, r record.Record) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.places[lsn] = pos
		},
		Failed: func(error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed++
		},
		Events: Events{
			Rolled: func(uint32, uint32) { w.seen.rolled++ },
			Cut:    func(Cut) { w.seen.cut++ },
		},
	}
	return w
}

// open opens the journal and returns what was replayed, in order.
func (w *world) open() ([]LSN, map[LSN]string, error) {
	var order []LSN
	got := map[LSN]string{}
	w.o.FS = w.sim
	j, err := Open(w.o, w.start, func(lsn LSN, pos Position, r record.Record) error {
		order = append(order, lsn)
		got[lsn] = string(r.Payload)
		w.places[lsn] = pos
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	w.j = j
	if w.start.File == 0 {
		w.setStart(j.Mark())
	}
	return order, got, nil
}

// setStart writes the manifest.
func (w *world) setStart(s Start) {
	w.mu.Lock()
	w.start = s
	w.mu.Unlock()
	w.j.SetStart(s)
}

// put appends a record with random content.
func (w *world) put(t *testing.T, size int, urgent bool) (LSN, error) {
	t.Helper()
	if err := w.j.Room(t.Context(), record.HeaderSize+size, true); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(w.rng.Uint32())
	}
	lsn, err := w.j.Append(sealed(payload), urgent)
	if err != nil {
		return 0, err
	}
	w.given[lsn] = string(payload)
	return lsn, nil
}

// wait waits for a record and notes everything up to it as durable, unless the mode does not promise that.
func (w *world) wait(lsn LSN) error {
	if err := w.j.Wait(lsn); err != nil {
		return err
	}
	if w.o.Sync == Always {
		w.ack(lsn)
	}
	return nil
}

// sync makes everything durable in any mode.
func (w *world) sync() error {
	upTo := w.j.Applied()
	if err := w.j.Sync(); err != nil {
		return err
	}
	w.ack(upTo)
	return nil
}

func (w *world) ack(upTo LSN) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for lsn := range w.given {
		if lsn <= upTo {
			w.acked[lsn] = true
		}
	}
}

// size draws a payload size: mostly small, sometimes many blocks, rarely more than a file.
func (w *world) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n := w.rng.IntN(100); {
	case n < 10:
		return 0
	case n < 80:
		return w.rng.IntN(600)
	case n < 90:
		return 4096 - record.HeaderSize - record.BatchHeaderSize + w.rng.IntN(3) - 1
	case n < 99:
		return w.rng.IntN(12_000)
	}
	return testFileSize + w.rng.IntN(5000)
}

// check compares what was replayed with what must be there.
func (w *world) check(order []LSN, got map[LSN]string) error {
	last := w.start.After
	for _, lsn := range order {
		if lsn <= last {
			return fmt.Errorf("LSN %d replayed after %d", lsn, last)
		}
		last = lsn
		want, ok := w.given[lsn]
		if !ok {
			return fmt.Errorf("LSN %d was replayed and never appended", lsn)
		}
		if got[lsn] != want {
			return fmt.Errorf("LSN %d came back with other content", lsn)
		}
	}
	for lsn := range w.given {
		_, there := got[lsn]
		switch {
		case lsn <= w.start.After:
			if there {
				return fmt.Errorf("LSN %d lies before the start and was replayed", lsn)
			}
		case w.acked[lsn] && !there:
			return fmt.Errorf("LSN %d was acknowledged and is lost; replayed %d up to %d", lsn, len(order), last)
		case !there && lsn < last:
			return fmt.Errorf("LSN %d is missing although %d was replayed", lsn, last)
		}
	}
	if w.j.Applied() < last {
		return fmt.Errorf("next LSN is %d after %d was replayed", w.j.Applied()+1, last)
	}
	for lsn := range w.given {
		if w.j.Applied() < lsn {
			return fmt.Errorf("next LSN is %d, %d was given out before", w.j.Applied()+1, lsn)
		}
	}
	return nil
}

// settleOn makes what was replayed the truth: what was not is gone for good, what was is durable.
func (w *world) settleOn(got map[LSN]string) {
	for lsn := range w.given {
		if _, there := got[lsn]; !there && lsn > w.start.After {
			delete(w.given, lsn)
		}
	}
	clear(w.acked)
	for lsn := range got {
		w.acked[lsn] = true
	}
}

// after returns a world that knows the same and goes on with another disk.
func (w *world) after(sim *disk.Sim, s uint64) *world {
	n := newWorld(sim, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	n.start = w.start
	maps.Copy(n.given, w.given)
	maps.Copy(n.acked, w.acked)
	n.o.Sync, n.o.Quarantine = w.o.Sync, w.o.Quarantine
	return n
}
