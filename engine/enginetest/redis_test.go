package enginetest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine/enginetest"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

func TestMain(m *testing.M) {
	m.Run()
	redistest.Stop()
}

func TestRedis(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	world := newWorld(t, url, 64)
	prefix, used := redistest.Prefix(t, url), new(atomic.Int64)
	newStore := func(t *testing.T, now func() time.Time) enginetest.OpenStore {
		own := fmt.Sprintf("%s%d:", prefix, used.Add(1))
		return func() (store.Store, func()) {
			t.Helper()
			s, err := world.open(own, now)
			if err != nil {
				t.Fatalf("open the store: %v", err)
			}
			return s, func() {
				if err := s.Close(); err != nil {
					t.Errorf("close the store: %v", err)
				}
			}
		}
	}
	enginetest.Run(t, newStore, enginetest.Echoing)
	t.Run("nodes", func(t *testing.T) {
		t.Parallel()
		enginetest.RunNodes(t, newStore)
	})
}
