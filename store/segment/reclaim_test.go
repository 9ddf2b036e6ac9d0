package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/storetest"
)

// fullFile is the size of data files in tests of a full disk.
const fullFile = 16 * journal.MinFileSize

// fullDisk is a store on a disk with room for about that many data files beside what is kept free.
type fullDisk struct {
	*testing.T
	sim   *disk.Sim
	clock *storetest.Clock
	store *Store
	// merges counts those of all stores that were opened.
	merges atomic.Int64
}

func newFullDisk(t *testing.T, files int64) *fullDisk {
	t.Helper()
	d := &fullDisk{T: t, sim: disk.NewSim(), clock: storetest.NewClock()}
	d.sim.Capacity = freeMargin + (2+files)*fullFile
	d.open()
	t.Cleanup(func() {
		if err := d.store.Close(); err != nil {
			t.Errorf("Close on a disk with little room = %v, want nil", err)
		}
		d.check()
	})
	for _, q := range []store.QueueID{1, 2} {
		if err := d.store.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *fullDisk) open() {
	d.Helper()
	s, err := Open(d.Context(), Options{Dir: "data", Now: d.clock.Now, FileSize: fullFile, fs: d.sim, Events: Events{
		Merged:  func(int, int64) { d.merges.Add(1) },
		Warning: func(text string) { d.Log(text) },
	}})
	if err != nil {
		d.Fatalf("Open on a disk with little room = %v, want nil", err)
	}
	d.store = s
}

// check looks through the folder of a closed store.
func (d *fullDisk) check() {
	d.Helper()
	if r, err := Check(CheckOptions{Dir: "data", fs: d.sim}); err != nil || len(r.Problems) > 0 {
		d.Errorf("Check after all: %v, problems %q, want none", err, r.Problems)
	}
}

// kill ends the store like kill -9.
func (d *fullDisk) kill() {
	d.Helper()
	old, sim := d.store, d.sim
	d.sim = sim.Crash(disk.Mode{Data: disk.Kept, Entries: disk.Kept}, rand.New(rand.NewPCG(1, 1)))
	d.sim.Capacity = sim.Capacity
	sim.Freeze()
	go func() { _ = old.Close() }()
	d.check()
}

func (d *fullDisk) send(q store.QueueID) error {
	d.clock.Advance(2 * time.Second) // the disk is looked at once a second
	return sendOne(d.T, d.store, q, 3900)
}

// fill sends until there is no room, calling next for the queue of each message.
func (d *fullDisk) fill(next func(i int) store.QueueID) (sent map[store.QueueID]int) {
	d.Helper()
	sent = make(map[store.QueueID]int)
	for i := 0; ; i++ {
		q := next(i)
		err := d.send(q)
		if errors.Is(err, store.ErrFull) && d.settled() {
			return sent
		}
		if err != nil && !errors.Is(err, store.ErrFull) {
			d.Fatalf("Send %d to a filling disk = %v, want nil or a full disk", i, err)
		}
		if err == nil {
			sent[q]++
		}
	}
}

// settled lets the work in the background be done, and says that it made no room.
func (d *fullDisk) settled() bool {
	d.store.maintain()
	return errors.Is(d.store.lookUpSpace(), store.ErrFull)
}

func (d *fullDisk) revision(q store.QueueID) uint64 {
	d.Helper()
	stats, err := d.store.Stats(d.Context(), q)
	if err != nil {
		d.Fatal(err)
	}
	return stats.Revision
}

// drain acknowledges up to that many messages of a queue, in one call for each.
func (d *fullDisk) drain(q store.QueueID, most int) (n int) {
	d.Helper()
	for n < most {
		got, err := d.store.Claim(d.Context(), store.ClaimParams{Queue: q, Revision: d.revision(q), Max: min(100, most-n), MaxBytes: 1 << 30, Visibility: time.Hour})
		if err != nil {
			d.Fatalf("Claim on a full disk = %v, want nil", err)
		}
		if len(got.Messages) == 0 {
			return n
		}
		p := store.SettleParams{Queue: q, Revision: d.revision(q)}
		for _, m := range got.Messages {
			p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done})
		}
		if _, err := d.store.Settle(d.Context(), p); err != nil {
			d.Fatalf("Settle on a full disk = %v, want nil", err)
		}
		n += len(got.Messages)
	}
	return n
}

// accepts waits until there is room for sends again. Nothing is sent meanwhile: room comes back without.
func (d *fullDisk) accepts(when string) {
	d.Helper()
	late, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		free, err := d.sim.Free("data")
		if err != nil {
			d.Fatal(err)
		}
		if free >= d.store.leastFree() {
			break
		}
		select {
		case <-tick.C:
		case <-late:
			d.Fatalf("%s: %d bytes are free, sends need %d: %s", when, free, d.store.leastFree(), d.files())
		}
	}
	if err := d.send(2); err != nil {
		d.Errorf("Send %s = %v, want nil", when, err)
	}
}

// files describes the data files.
func (d *fullDisk) files() string {
	d.store.upkeep.mu.Lock()
	defer d.store.upkeep.mu.Unlock()
	return fmt.Sprintf("%+v", d.store.sealedFiles())
}

// alternating sends 45 of 100 messages to queue 1.
func alternating(i int) store.QueueID {
	if i%20 < 18 && i%2 == 0 {
		return 1
	}
	return 2
}

// TestADrainedQueueMakesRoom drains one of two queues whose messages lie side by side, so that each data file stays more
// than half live.
func TestADrainedQueueMakesRoom(t *testing.T) {
	t.Parallel()
	d := newFullDisk(t, 12)
	sent := d.fill(alternating)
	if got := d.drain(1, sent[1]); got != sent[1] {
		t.Fatalf("%d of %d messages were drained", got, sent[1])
	}
	d.accepts("after a queue was drained")
}

func TestADrainedQueueMakesRoomOverARestart(t *testing.T) {
	t.Parallel()
	d := newFullDisk(t, 12)
	sent := d.fill(alternating)
	d.store.upkeep.stop() // what is drained from here on is for the next start
	d.drain(1, sent[1])
	d.kill()
	d.open()
	d.accepts("after a restart")
}

// TestALittleRoomIsMadeOfMany acknowledges one message in ten, all over the disk.
func TestALittleRoomIsMadeOfMany(t *testing.T) {
	t.Parallel()
	d := newFullDisk(t, 12)
	sent := d.fill(func(i int) store.QueueID {
		if i%8 == 0 {
			return 1
		}
		return 2
	})
	d.drain(1, sent[1])
	d.accepts("after one message in eight was consumed")
}

// TestNothingIsCopiedWithoutEnd keeps a disk full of live messages, and of files from which next to nothing can be had.
func TestNothingIsCopiedWithoutEnd(t *testing.T) {
	t.Parallel()
	d := newFullDisk(t, 8)
	sent := d.fill(func(i int) store.QueueID {
		if i%40 == 0 {
			return 1
		}
		return 2
	})
	before := d.merges.Load()
	d.drain(1, sent[1])
	for range 50 {
		d.store.maintain()
	}
	if merges := d.merges.Load() - before; merges > 2 {
		t.Errorf("%d merges of files that are live but for one part in forty, want hardly any", merges)
	}
}

// TestRoomComesBackOnAnIdleStore fills some data files and lets what is in them leave in every way there is. Nothing is
// sent afterwards.
func TestRoomComesBackOnAnIdleStore(t *testing.T) {
	t.Parallel()
	const log = store.LogID(3)
	for name, leave := range map[string]func(d *fullDisk) error{
		"settle": func(d *fullDisk) error { d.drain(1, 1e6); return nil },
		"purge": func(d *fullDisk) error {
			_, err := d.store.Purge(d.Context(), 1, store.Selection{})
			return err
		},
		"drop": func(d *fullDisk) error { return d.store.Drop(d.Context(), 1) },
		"expiry": func(d *fullDisk) error {
			d.clock.Advance(2 * time.Hour)
			for {
				r, err := d.store.Sweep(d.Context(), 1)
				if err != nil || r.Expired == 0 {
					return err
				}
			}
		},
		"trim": func(d *fullDisk) error {
			bounds, err := d.store.Bounds(d.Context(), log)
			if err == nil {
				_, err = d.store.Trim(d.Context(), log, 0, bounds[0].Next)
			}
			return err
		},
		"drop log": func(d *fullDisk) error { return d.store.DropLog(d.Context(), log) },
		"retention": func(d *fullDisk) error {
			d.clock.Advance(2 * time.Hour)
			_, err := d.store.SweepLog(d.Context(), log)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFullDisk(t, 100)
			err := errors.Join(
				d.store.Configure(t.Context(), 1, store.Settings{Revision: 2, Retention: time.Hour}),
				d.store.ConfigureLog(t.Context(), log, store.LogSettings{Revision: 1, Partitions: 1, RetentionAge: time.Hour}),
			)
			if err != nil {
				t.Fatal(err)
			}
			inLog := name == "trim" || name == "drop log" || name == "retention"
			for d.store.journal.Mark().File < 8 {
				if inLog {
					_, err = d.store.Append(t.Context(), store.AppendParams{Log: log, Revision: 1, Parts: []store.AppendPart{
						{Records: []store.LogRecord{{Payload: make([]byte, 3900), Size: 3900}}},
					}})
				} else {
					_, err = d.store.Send(t.Context(), store.SendParams{Queue: 1, Revision: 2, Entries: []store.Entry{
						{Payload: make([]byte, 3900), Size: 3900},
					}})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := leave(d); err != nil {
				t.Fatal(err)
			}
			late, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
			defer tick.Stop()
			for left := d.store.journal.Files(); len(left) > 1; left = d.store.journal.Files() {
				select {
				case <-tick.C:
				case <-late:
					t.Fatalf("%d data files are left after everything in them left, want the active one: %+v", len(left), left)
				}
			}
		})
	}
}

// hog takes all room that is left, to the last block.
func (d *fullDisk) hog() {
	d.Helper()
	f, err := d.sim.Create("hog")
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // what it takes up is all that counts
	block := make([]byte, 1<<20)
	for at := int64(0); len(block) > 0; {
		n, err := f.WriteAt(block, at)
		if at += int64(n); err != nil {
			block = block[:len(block)/2&^4095]
		}
		if err := f.Sync(); err != nil {
			d.Fatal(err)
		}
	}
	if free, err := d.sim.Free("data"); err != nil || free != 0 {
		d.Fatalf("%d bytes are free, %v; want none", free, err)
	}
}

// TestAStartWithoutAByte consumes everything on a disk without a free byte, as far as that can be written down, and
// kills the store. It starts, gives room back without being asked, and takes what is left to be acknowledged.
func TestAStartWithoutAByte(t *testing.T) {
	t.Parallel()
	for name, lacks := range map[string]struct{ ballast, spare, margin bool }{
		"with a ballast":                         {},
		"without a ballast":                      {ballast: true},
		"without a file to follow":               {spare: true},
		"without room in the file that is there": {spare: true, margin: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFullDisk(t, 12)
			d.store.keepBallast()
			sent := d.fill(alternating)
			d.store.upkeep.stop() // it would give back everything before the kill
			if lacks.ballast {
				if _, err := d.store.giveBallast(); err != nil {
					t.Fatal(err)
				}
			}
			left := sent[1] + sent[2]
			if lacks.spare {
				if _, err := d.store.journal.GiveSpare(); err != nil {
					t.Fatal(err)
				}
			}
			d.hog()
			for q := store.QueueID(1); q <= 2; q++ {
				left -= d.drain(q, 1e6)
			}
			if left > 0 {
				t.Fatalf("%d messages could not be acknowledged", left)
			}
			if lacks.margin {
				d.overfill()
			}
			for range 10 {
				d.kill()
				d.open()
				d.store.upkeep.stop()
			}
			d.kill()
			d.open()
			late, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
			defer tick.Stop()
			for {
				free, err := d.sim.Free("data")
				if err != nil {
					t.Fatal(err)
				}
				if free >= 6*fullFile {
					break
				}
				select {
				case <-tick.C:
				case <-late:
					t.Fatalf("%d bytes are free after everything was consumed, want those of most data files: %s", free, d.files())
				}
			}
			if err := d.sim.Remove("hog"); err != nil {
				t.Fatal(err)
			}
			d.accepts("after the disk has room again")
		})
	}
}

// overfill appends records past the room that is kept back, as many callers at once may.
func (d *fullDisk) overfill() {
	d.Helper()
	for d.store.journal.Fits(readingLen) {
		rec := seal(d.store.reading().Encode(room(readingLen)), typeClock, 0)
		if err := d.store.await(d.store.append(rec, true), nil); err != nil {
			d.Fatal(err)
		}
	}
}
