package storetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// torture says that a run may take as long as it likes.
func torture() bool { return os.Getenv("DABBA_TORTURE") != "" }

// size is how much of something to try: the first number in a normal run, the second in a long one.
func size(normal, long int) int {
	if torture() {
		return long
	}
	return normal
}

// runs is size for what takes several times as long under the race detector, and has no two goroutines to race: of that it gets
// a fifth in a normal run.
func runs(normal, long int) int {
	if raceEnabled && !torture() {
		normal /= 5
	}
	return size(normal, long)
}

// seed returns the seed of a random test and prints it: the one in DABBA_SEED if it is set, so that a failure can be
// looked at again.
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
