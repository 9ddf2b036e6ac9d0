package integration

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// seed returns the seed of a random test and prints it: the one in DABBA_SEED if it is set, so that a failure can be
// looked at again. What happens when on several processes stays random.
func seed(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("DABBA_SEED"); text != "" {
		s, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("DABBA_SEED=%s is not a number: %v", text, err)
		}
		return s
	}
	s := uint64(time.Now().UnixNano())
	t.Logf("DABBA_SEED=%d", s)
	return s
}

// random is the source that belongs to a seed and a number within the run.
func random(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
