package storetest

import (
	"io"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// The ledger of the workloads and the reference agree, when nothing crashes.
func TestWorkloadsOnTheReference(t *testing.T) {
	t.Parallel()
	s := seed(t)
	for i, load := range workloads {
		if load.clients > 1 {
			continue // the reference serves one caller at a time
		}
		t.Run(load.name, func(t *testing.T) {
			t.Parallel()
			rng := random(s, uint64(i))
			for range size(8, 2000) {
				runOnTheReference(t, load, rng.Uint64())
			}
		})
	}
}

func runOnTheReference(t *testing.T, load workload, seed uint64) {
	t.Helper()
	w := newWorld(t.Context(), load, seed, &Exercised{})
	reference := newPlain(w.clock)
	err := w.run(Disk{Open: func(disk.FS, *Clock, io.Reader, *Exercised) (store.Store, error) { return reference, nil }})
	if err == nil {
		var found *found
		if found, err = observe(t.Context(), reference, w.clock, w); err == nil {
			err = w.match(found)
		}
	}
	if err != nil {
		t.Fatalf("workload %q, seed %d: %v\n%s", load.name, seed, err, w.story())
	}
}
