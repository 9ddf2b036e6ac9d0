package enginetest_test

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine/enginetest"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(_ *testing.T, now func() time.Time) enginetest.OpenStore {
		s := memory.New(memory.Options{Now: now})
		return func() (store.Store, func()) { return s, func() {} }
	})
}
