package enginetest_test

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine/enginetest"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/segment"
)

func TestSegment(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T, now func() time.Time) enginetest.OpenStore {
		dir := t.TempDir()
		return func() (store.Store, func()) {
			t.Helper()
			s, err := segment.Open(t.Context(), segment.Options{Dir: dir, Now: now, FileSize: 1 << 20})
			if err != nil {
				t.Fatalf("open the store: %v", err)
			}
			return s, func() {
				if err := s.Close(); err != nil {
					t.Errorf("close the store: %v", err)
				}
			}
		}
	})
}
