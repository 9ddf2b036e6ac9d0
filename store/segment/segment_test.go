package segment

import (
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/storetest"
)

// TestContract runs on the simulated disk, which is quicker than a real one; the transcripts of engine/enginetest run on
// a real one.
func TestContract(t *testing.T) {
	var gaps sync.Map // of each store
	open := func(t *testing.T, o Options) store.Store {
		o.Dir, o.FileSize = "data", 128<<10
		var found []store.Gap
		o.Events.Gap = func(g store.Gap) { found = append(found, g) }
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		gaps.Store(s, &found)
		return s
	}
	storetest.Run(t, storetest.Harness{
		Open: func(t *testing.T, c *storetest.Clock) store.Store {
			return open(t, Options{Now: c.Elapsed, Wall: c.Now, Boot: c.Boot, fs: disk.NewSim()})
		},
		Check: func(t *testing.T, s store.Store) []string {
			r, err := Check(CheckOptions{Dir: "data", fs: s.(*Store).o.fs})
			if err != nil {
				t.Fatal(err)
			}
			return r.Problems
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			before := s.(*Store)
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			o := before.o
			return open(t, Options{Now: o.Now, Wall: o.Wall, Boot: o.Boot, fs: o.fs})
		},
		Steps: true,
		Boots: true,
		Gaps: func(s store.Store) []store.Gap {
			found, _ := gaps.Load(s)
			list, _ := found.(*[]store.Gap)
			return *list
		},
	})
}
