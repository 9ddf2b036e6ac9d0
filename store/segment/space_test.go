package segment

import (
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/storetest"
)

// TestRoomIsReclaimedWhenSendsAreRefused consumes all there is on a full disk with one record, so that no data file gets
// full, which would start reclaiming by itself.
func TestRoomIsReclaimedWhenSendsAreRefused(t *testing.T) {
	t.Parallel()
	clock, sim := storetest.NewClock(), disk.NewSim()
	const file = 16 * journal.MinFileSize
	sim.Capacity = freeMargin + 6*file
	s, err := Open(t.Context(), Options{Dir: "data", Now: clock.Elapsed, Wall: clock.Now, FileSize: file, fs: sim})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // its disk is full
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	send := func() error {
		clock.Advance(time.Second)
		_, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: make([]byte, 4000)}}})
		return err
	}
	// Full means that it is still full once the work in the background is done: nothing is reclaimed for another reason
	// from here on.
	for full := false; !full; full = send() != nil {
		for send() == nil {
		}
		s.upkeep.stop()
		s.upkeep.stopOnce = sync.Once{}
		s.upkeep.init()
		s.upkeep.start(s)
	}

	got, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 1000, MaxBytes: 1 << 30, Visibility: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var items []store.SettleItem
	for _, m := range got.Messages {
		items = append(items, store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done})
	}
	if _, err := s.Settle(t.Context(), store.SettleParams{Queue: 1, Revision: 1, Items: items}); err != nil {
		t.Fatal(err)
	}
	late := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for err := send(); err != nil; err = send() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("Send after %d messages were consumed on a full disk = %v", len(items), err)
		}
	}
}
