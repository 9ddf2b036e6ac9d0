package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// Full fills the disk. Sends are refused then, and nothing else happens: what is there can be read, acknowledgements and
// other values of keys are accepted as long as the backend's reserve lasts, and once there is room everything works again, without a restart.
func Full(t *testing.T, d Disk) {
	t.Helper()
	t.Run("reserve", func(t *testing.T) {
		t.Parallel()
		fullReserve(t, d)
	})
	t.Run("no byte left", func(t *testing.T) {
		t.Parallel()
		fullToTheBrim(t, d)
	})
}

// roomForMessages is what a disk has beside the reserve.
const roomForMessages = 600_000

// fullReserve lets a backend use its reserve to take acknowledgements and to reclaim room by itself.
func fullReserve(t *testing.T, d Disk) {
	t.Helper()
	f, _ := smallDisk(t, d)
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	once := &store.Once{Key: [16]byte{1}, Window: time.Hour}
	first := f.sendOnce(other, once, entry("repeated"))
	kept, err := f.store.Put(f.Context(), "setting", []byte("old"), 0)
	f.wantError("Put of a new key", err, nil)
	sent := f.fill(q)
	if again := f.sendOnce(other, once, entry("repeated")); !again.Duplicate || again.First != first.First {
		t.Errorf("Send repeated on a full disk = %+v, want a duplicate of %+v", again, first)
	}
	f.wantCounts(q, "of a full disk", counts{Ready: sent, Bytes: 2000 * sent})
	f.wantError("Ping on a full disk", f.store.Ping(t.Context()), nil)
	f.wantError("Configure with the present revision on a full disk",
		f.store.Configure(t.Context(), q, store.Settings{Revision: f.revision[q]}), nil)
	f.configure(q, store.Settings{MaxReceives: 7})
	kept, err = f.store.Put(f.Context(), "setting", []byte("new"), kept)
	f.wantError("Put of another value of a key on a full disk", err, nil)
	f.wantError("Delete of a key on a full disk", f.store.Delete(f.Context(), "setting", kept), nil)
	for taken := int64(0); taken < sent; {
		r := f.claim(q, 10)
		if len(r.Messages) == 0 {
			t.Fatalf("Claim on a full disk: got nothing after %d of %d messages", taken, sent)
		}
		f.settle(q, items(r, store.Done, 0)...)
		taken += int64(len(r.Messages))
	}
	f.wantCounts(q, "after everything was acknowledged on a full disk", counts{})
	again := int64(0)
	f.wantError("Sends after everything was acknowledged, within a while", eventually(func() error {
		n, err := f.sendUntilFull(q)
		if again += n; again < sent/2 {
			return err
		}
		return nil
	}), nil)
}

// fullToTheBrim takes the reserve away, too, as another program on the same disk might.
func fullToTheBrim(t *testing.T, d Disk) {
	t.Helper()
	f, sim := smallDisk(t, d)
	q := f.queue(store.Settings{})
	sent := f.fill(q)
	f.hog(sim)
	done := int64(0)
	try := func() error {
		f.clock.Advance(lease) // what could not be settled comes back
		r, err := f.store.Claim(f.Context(), f.claimParams(q, 10))
		if err != nil || len(r.Messages) == 0 {
			return err
		}
		s, err := f.store.Settle(f.Context(), store.SettleParams{Queue: q, Revision: f.revision[q], Items: items(r, store.Done, 0)})
		for _, outcome := range s.Outcomes {
			if outcome == store.Settled {
				done++
			}
		}
		return err
	}
	for range 50 {
		if err := try(); err != nil && !errors.Is(err, store.ErrFull) {
			t.Fatalf("Claim and Settle without a byte left = %v, want nil or a full disk", err)
		}
	}
	if err := f.trySend(q); !errors.Is(err, store.ErrFull) && err != nil {
		t.Errorf("Send without a byte left = %v, want nil or a full disk", err)
	}
	f.wantError("Ping without a byte left", f.store.Ping(t.Context()), nil)
	f.wantError("Remove of what fills the disk", sim.Remove("hog"), nil)
	f.wantError("Claim and Settle after there was room again, within a while", eventually(func() error {
		if err := try(); err != nil {
			return err
		}
		if done < sent {
			return fmt.Errorf("acknowledged %d of %d", done, sent)
		}
		return nil
	}), nil)
	f.wantError("Send after there was room again, within a while", eventually(func() error { return f.trySend(q) }), nil)
}

// hog takes all room that is left.
func (f *fixture) hog(sim *disk.Sim) {
	f.Helper()
	file, err := sim.Create("hog")
	f.wantError("Create of what fills the disk", err, nil)
	chunk := make([]byte, 1<<20)
	for off := int64(0); len(chunk) > 0; {
		n, err := file.WriteAt(chunk, off)
		if off += int64(n); err != nil {
			chunk = chunk[:len(chunk)/2&^4095] // the last bytes in smaller and smaller pieces
		}
		f.wantError("Sync of what fills the disk", file.Sync(), nil)
	}
	f.wantError("Close of what fills the disk", file.Close(), nil)
}

// smallDisk opens a store on a disk with little room beside the reserve.
func smallDisk(t *testing.T, d Disk) (*fixture, *disk.Sim) {
	t.Helper()
	sim := disk.NewSim()
	sim.Capacity = d.Reserve + roomForMessages
	return setup(t, Harness{Open: func(t *testing.T, c *Clock) store.Store {
		s, err := d.Open(sim, c, randomBytes(random(1, 1)), &Exercised{})
		if err != nil {
			t.Fatalf("open on a disk of %d bytes: %v", sim.Capacity, err)
		}
		return s
	}}), sim
}

// fill sends until there is no room, and returns how many messages were accepted.
func (f *fixture) fill(q store.QueueID) int64 {
	f.Helper()
	sent, err := f.sendUntilFull(q)
	if sent < 10 {
		f.Fatalf("Send to a disk with room for %d bytes: was refused after %d messages: %v", roomForMessages, sent, err)
	}
	return sent
}

// sendUntilFull sends messages of 2,000 bytes and returns how many were accepted, and the refusal.
func (f *fixture) sendUntilFull(q store.QueueID) (int64, error) {
	f.Helper()
	for sent := range int64(roomForMessages / 1000) {
		err := f.trySend(q)
		if errors.Is(err, store.ErrFull) {
			return sent, err
		}
		f.wantError(fmt.Sprintf("Send %d to a filling disk", sent), err, nil)
	}
	f.Fatalf("Send: was never refused on a disk with room for %d bytes", roomForMessages)
	return 0, nil
}

// trySend sends a second later than the last: a backend need not look at the disk more often.
func (f *fixture) trySend(q store.QueueID) error {
	f.clock.Advance(time.Second)
	_, err := f.store.Send(f.Context(), store.SendParams{
		Queue: q, Revision: f.revision[q], Entries: []store.Entry{{Payload: make([]byte, 2000), Size: 2000}},
	})
	return err
}
