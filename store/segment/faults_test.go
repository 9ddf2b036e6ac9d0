package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// onSim opens a store with queues 1 and 2 on a simulated disk.
func onSim(t *testing.T, sim *disk.Sim, o Options) *Store {
	t.Helper()
	o.Dir, o.Now, o.FileSize, o.fs = "data", time.Now, 128<<10, sim
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []store.QueueID{1, 2} {
		if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func sendOne(t *testing.T, s *Store, q store.QueueID, size int) error {
	t.Helper()
	_, err := s.Send(t.Context(), store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{
		{Payload: make([]byte, size), Size: uint32(size)},
	}})
	return err
}

func mustSend(t *testing.T, s *Store, q store.QueueID, size int) {
	t.Helper()
	if err := sendOne(t, s, q, size); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAFailedPublicationIsNotRepeatedInPlace lets the sync of the folder fail once after CURRENT was renamed, and kills
// the process during the next checkpoint: the file that CURRENT names by then must be whole.
func TestAFailedPublicationIsNotRepeatedInPlace(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	mustSend(t, s, 1, 100)
	var renamed, failed bool
	sim.SetHook(func(op disk.Op) error {
		renamed = renamed || op.Kind == disk.OpRename && op.After && strings.HasSuffix(op.To, currentName)
		if op.Kind == disk.OpSyncDir && !op.After && renamed && !failed {
			failed = true
			return syscall.EIO
		}
		return nil
	})
	if err := s.checkpoint(); err == nil || !failed {
		t.Fatalf("checkpoint: %v, want the failure of the sync after the rename", err)
	}
	sim.SetHook(func(op disk.Op) error {
		if op.Kind == disk.OpCreate && op.After && strings.Contains(op.Name, "checkpoint-") {
			sim.Freeze()
		}
		return nil
	})
	if err := s.checkpoint(); err == nil {
		t.Fatal("a checkpoint was made on a frozen disk")
	}
	after := sim.Crash(disk.Mode{Data: disk.Kept, Entries: disk.Kept}, rand.New(rand.NewPCG(1, 1)))
	again, err := Open(t.Context(), Options{Dir: "data", Now: time.Now, FileSize: 128 << 10, fs: after})
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	mustClose(t, again)
}

// TestReadingAMessageThatLeftEnds reads a message that was settled, and its file let go of, after it had been chosen.
func TestReadingAMessageThatLeftEnds(t *testing.T) {
	s := onSim(t, disk.NewSim(), Options{})
	defer mustClose(t, s)
	mustSend(t, s, 1, 100)
	got, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 1, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p := store.SettleParams{Queue: 1, Revision: 1, Items: []store.SettleItem{{Seq: 1, Token: got.Token, Target: store.Done}}}
	if _, err := s.Settle(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for file := s.journal.Mark().File; s.journal.Mark().File < file+2; {
		mustSend(t, s, 2, 20_000)
	}
	if err := s.Drop(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	q, err := s.find(1)
	if err != nil {
		t.Fatal(err)
	}
	damaged, err := s.read(t.Context(), q, []store.Seq{1}, func(int, model.Stored) { t.Error("a message that left was read") })
	if err != nil || len(damaged) > 0 {
		t.Errorf("read of a message that left: %v, damaged %v, want neither", err, damaged)
	}
}

// TestAMergeThatFailsLeavesNothing lets the last sync of merges fail.
func TestAMergeThatFailsLeavesNothing(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	defer mustClose(t, s)
	s.upkeep.stop()
	for range 30 {
		fillAndDrain(t, s)
	}
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	sim.SetHook(func(op disk.Op) error {
		if !op.After && op.Kind == disk.OpSync && strings.HasSuffix(op.Name, ".tmp") {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := s.mergeAndPublish(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("merge: %v, want %v", err, syscall.ENOSPC)
	}
	sim.SetHook(nil)
	names, err := sim.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// TestClaimsAndCloseWithoutRoom fills the files that are there, when no other can be made. Claims must be refused
// before they wait in memory, and Close must end.
func TestClaimsAndCloseWithoutRoom(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	var full atomic.Bool
	sim.SetHook(func(op disk.Op) error {
		if full.Load() && !op.After && op.Kind == disk.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})
	full.Store(true)
	for {
		if err := sendOne(t, s, 1, 1000); errors.Is(err, store.ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	const bound = 10_000 // far more than fit
	claims := 0
	for ; claims < bound; claims++ {
		_, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 10, MaxBytes: 1 << 20})
		if errors.Is(err, store.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if claims == bound {
		t.Errorf("%d claims were let in without room for them", claims)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close without room: %v", err)
	}
}

// TestAFailedReadIsNoFullDisk lets a claim fail to read what it leased, and find no room to end the leases.
func TestAFailedReadIsNoFullDisk(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	defer s.Close() //nolint:errcheck // its disk is full
	var broken atomic.Bool
	sim.SetHook(func(op disk.Op) error {
		switch {
		case op.After:
		case op.Kind == disk.OpCreate:
			return syscall.ENOSPC
		case op.Kind == disk.OpRead && broken.Load():
			return syscall.EIO
		}
		return nil
	})
	for {
		if err := sendOne(t, s, 1, 1000); errors.Is(err, store.ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	broken.Store(true)
	failed := 0
	for range 1000 {
		stats, err := s.Stats(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 1, MaxBytes: 1 << 20, Visibility: time.Hour})
		after, e := s.Stats(t.Context(), 1)
		if e != nil {
			t.Fatal(e)
		}
		if after.Leased != stats.Leased {
			failed++
			if errors.Is(err, store.ErrFull) {
				t.Fatalf("Claim that leased a message and could not read it = %v, want an error that is no %q", err, store.ErrFull)
			}
		}
		if errors.Is(err, store.ErrFull) && after.Leased == stats.Leased {
			break
		}
	}
	if failed == 0 {
		t.Error("every failed claim ended its lease: the room was never short in between")
	}
}

// TestDamageStaysWithItsMessage damages a record of one queue that lies before an intact one of another.
func TestDamageStaysWithItsMessage(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	defer mustClose(t, s)
	mustSend(t, s, 1, 100)
	at := s.journal.Mark()
	mustSend(t, s, 2, 100)
	mustSend(t, s, 1, 100)
	f, err := sim.Open(fmt.Sprintf("data/%08d.journal", at.File))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, int64(at.Offset)+64+32+60); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 10, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil || len(got.Messages) != 2 || got.Died != 0 {
		t.Errorf("Claim from the queue that is not damaged: %d messages, %d died, %v; want 2, 0 and no error", len(got.Messages), got.Died, err)
	}
	got, err = s.Claim(t.Context(), store.ClaimParams{Queue: 2, Revision: 1, Max: 10, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil || len(got.Messages) != 0 || got.Died != 1 {
		t.Errorf("Claim from the damaged queue: %d messages, %d died, %v; want 0, 1 and no error", len(got.Messages), got.Died, err)
	}
}

// TestQuarantineSaysWhatWasLost damages acknowledged data in the middle of a file.
func TestQuarantineSaysWhatWasLost(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	for range 10 {
		mustSend(t, s, 1, 100)
	}
	at := s.journal.Mark()
	after := sim.Crash(disk.Mode{Data: disk.Kept, Entries: disk.Kept}, rand.New(rand.NewPCG(1, 1)))
	f, err := after.Open(fmt.Sprintf("data/%08d.journal", at.File))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 512), int64(at.Offset)-5*4096); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	var said []string
	again := onSim(t, after, Options{Quarantine: true, Events: Events{Warning: func(w string) { said = append(said, w) }}})
	if text := strings.Join(said, "\n"); !strings.Contains(text, "what had been acknowledged there is lost") || !strings.Contains(text, "a copy is in") {
		t.Errorf("the warnings are %q, want one that says that acknowledged data is lost, and where a copy is", text)
	}
	mustClose(t, again)
}
