package engine

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
)

// random is the engine's randomness: unguessable numbers from the injected source, and cheap ones for jitter.
type random struct {
	mu     sync.Mutex
	source io.Reader

	// state of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
	state atomic.Uint64
}

func (r *random) init(source io.Reader) error {
	r.source = source
	seed, err := r.secretNumber()
	r.state.Store(seed)
	return err
}

// secret fills b from the injected source.
func (r *random) secret(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.ReadFull(r.source, b); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	return nil
}

// secretNumber is never zero.
func (r *random) secretNumber() (uint64, error) {
	var b [8]byte
	for {
		if err := r.secret(b[:]); err != nil {
			return 0, err
		}
		if n := binary.LittleEndian.Uint64(b[:]); n != 0 {
			return n, nil
		}
	}
}

// upTo is uniform from 0 to n, both included. It is guessable, lock-free and safe for concurrent use.
func (r *random) upTo(n uint64) uint64 {
	x := r.state.Add(0x9e3779b97f4a7c15)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	if n+1 == 0 {
		return x
	}
	hi, _ := bits.Mul64(x, n+1)
	return hi
}
