package journal

import (
	"context"
	"errors"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// TestFullDisk fills the disk: sends are refused while acknowledgements may go on, these are refused when the last
// block is taken, nothing accepted is lost, and releasing a file makes it all go on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), seed(t))
	w.sim.Capacity = 4*testFileSize + testFileSize/2
	failing := make(chan struct{}, 1)
	w.o.Events.PrepareFailed = func(error) { signal(failing) }
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	append1 := func(essential bool) error {
		if err := w.j.Room(t.Context(), record.HeaderSize+3000, essential); err != nil {
			return err
		}
		payload := make([]byte, 3000)
		lsn, err := w.j.Append(sealed(payload), true)
		if err != nil {
			return err
		}
		w.given[lsn] = string(payload)
		return w.wait(lsn)
	}
	// Four files: three get full, the fourth is the spare, then there is none.
	sent := 0
	for known := false; sent < 1000; sent++ {
		if !known && w.j.Mark().File == 4 {
			<-failing
			known = true
		}
		if err := append1(false); err != nil {
			if !errors.Is(err, store.ErrFull) {
				t.Fatalf("send %d: %v, want ErrFull", sent, err)
			}
			break
		}
	}
	essential := 0
	for ; essential < 1000; essential++ {
		if err := append1(true); err != nil {
			if !errors.Is(err, store.ErrFull) {
				t.Fatalf("acknowledgement %d: %v, want ErrFull", essential, err)
			}
			break
		}
	}
	perFile := (testFileSize - firstBatch - sealSize) / record.BlockSize
	accepted := 4*perFile - int(w.j.margin())/record.BlockSize
	if sent < 3*perFile || sent >= accepted || sent+essential != accepted {
		t.Errorf("%d sends and %d acknowledgements were accepted in 4 files of %d", sent, essential, perFile)
	}
	if w.failed > 0 {
		t.Fatalf("a full disk ended the journal: %v", w.j.Err())
	}
	w.setStart(w.j.Mark())
	if err := w.j.Release(1); err != nil {
		t.Fatal(err)
	}
	for append1(true) != nil { // the spare is made in the background; Room refuses until it is there
		if w.j.Err() != nil {
			t.Fatal(w.j.Err())
		}
	}
	if err := append1(false); err != nil && !errors.Is(err, store.ErrFull) {
		t.Errorf("send after the release: %v", err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
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

// TestRoomHoldsBack lets records pile up behind a sync that does not end.
func TestRoomHoldsBack(t *testing.T) {
	t.Parallel()
	const fileSize, payload = 1 << 20, 20_000
	w := newWorld(disk.NewSim(), 1)
	w.o.FileSize = fileSize
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	syncing := make(chan struct{}, 100)
	w.sim.SetHook(func(op disk.Op) error {
		if onActive(op) && op.Kind == disk.OpSync && !op.After {
			syncing <- struct{}{}
			<-release
		}
		return nil
	})
	if _, err := w.put(t, 10, true); err != nil {
		t.Fatal(err)
	}
	<-syncing
	held := make(chan error)
	var waiting int
	for w.roomNow(payload) {
		if _, err := w.put(t, payload, true); err != nil {
			t.Fatal(err)
		}
		waiting += payload
	}
	if waiting < fileSize/2-2*payload || waiting > fileSize/2+2*payload {
		t.Errorf("%d bytes wait, want about half a file of %d", waiting, fileSize)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { held <- w.j.Room(ctx, 100, true) }()
	cancel()
	if err := <-held; !errors.Is(err, context.Canceled) {
		t.Errorf("Room with a canceled context = %v", err)
	}
	go func() { held <- w.j.Room(t.Context(), 100, true) }()
	close(release)
	if err := <-held; err != nil {
		t.Errorf("Room after the sync ended = %v", err)
	}
	if err := w.j.Room(t.Context(), record.HeaderSize+record.MaxPayload+1, true); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Room for more than a record can hold = %v, want ErrTooLarge", err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// roomNow says whether Room would not wait.
func (w *world) roomNow(n int) bool {
	wait, err := w.j.tryRoom(n, true)
	return wait == nil && err == nil
}

// TestOversizeRecord appends records larger than a data file.
func TestOversizeRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, testFileSize, 3 * testFileSize, 5, testFileSize - 3*record.BlockSize, 20 * testFileSize} {
		lsn, err := w.put(t, size, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.wait(lsn); err != nil {
			t.Fatal(err)
		}
		r, err := w.j.Read(w.places[lsn], nil)
		if err != nil || string(r.Payload) != w.given[lsn] {
			t.Errorf("Read of %d bytes = %v", size, err)
		}
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
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

// TestOversizeRecordOnAFullDisk is refused, and does not get in the way of others.
func TestOversizeRecordOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	w.sim.Capacity = 3 * testFileSize
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	if err := w.j.Room(t.Context(), 10*testFileSize, false); !errors.Is(err, store.ErrFull) {
		t.Errorf("Room = %v, want ErrFull", err)
	}
	if err := w.j.Room(t.Context(), 100, false); err != nil {
		t.Errorf("Room for a small record = %v", err)
	}
	lsn, err := w.put(t, 100, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.wait(lsn); err != nil {
		t.Error(err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}
