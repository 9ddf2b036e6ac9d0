package memory_test

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
	"github.com/dabba-mq/dabba/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open: func(_ *testing.T, c *storetest.Clock) store.Store {
			return memory.New(memory.Options{Now: c.Elapsed, Wall: c.Now})
		},
		Steps: true,
	})
}
