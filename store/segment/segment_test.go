package segment

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

func TestContract(t *testing.T) {
	open := func(t *testing.T, o Options) store.Store {
		o.FileSize = 1 << 20
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	storetest.Run(t, storetest.Harness{
		Open: func(t *testing.T, c *storetest.Clock) store.Store {
			return open(t, Options{Dir: t.TempDir(), Now: c.Now})
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			before := s.(*Store)
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, Options{Dir: before.o.Dir, Now: before.o.Now})
		},
	})
}
