package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNothingIsBetweenANameAndBefore compares random names, short ones over few letters so that they are close together.
func TestNothingIsBetweenANameAndBefore(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	letters := []byte{0, 1, 'a', 'b', 0xfe, 0xff}
	draw := func() string {
		name := make([]byte, random.IntN(5))
		if random.IntN(10) == 0 {
			name = make([]byte, MaxIDBytes-random.IntN(2))
		}
		for i := range name {
			name[i] = letters[random.IntN(len(letters))]
		}
		return string(name)
	}
	if got := before(""); got != nil {
		t.Errorf("before the empty name = %q, want none", *got)
	}
	for range 100_000 {
		name, other := draw(), draw()
		if random.IntN(2) == 0 && name != "" { // a close one
			other = name[:len(name)-1] + strings.Repeat(string(letters[random.IntN(len(letters)):][:1]), random.IntN(3))
		}
		after := before(name)
		if after == nil {
			continue
		}
		if *after >= name || len(other) <= MaxIDBytes && *after < other && other < name {
			t.Fatalf("before(%q) = %q; %q is between", name, *after, other)
		}
	}
}
