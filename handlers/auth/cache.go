package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokenHash stands for a token, so that the cache neither keeps tokens nor lets a chosen one collide.
type tokenHash [sha256.Size]byte

func hashToken(token string) tokenHash {
	// A usual token fits this buffer, which stays on the stack: the copy then allocates nothing.
	return sha256.Sum256(append(make([]byte, 0, 1024), token...))
}

// cache remembers principals of verified tokens. It holds two maps: additions go to the young one; when that is full
// it becomes the old one and the old one is forgotten, so that tokens in use stay and memory is bounded without
// keeping an order. Safe for concurrent use; the zero value is ready.
type cache struct {
	mu sync.RWMutex // guards the fields below
	// generation is that of the keys with which everything here was verified.
	generation uint64
	young, old map[tokenHash]*Principal
}

// find returns the principal of a token that was verified with keys of this generation and has not expired, or nil.
func (c *cache) find(h tokenHash, generation uint64, now time.Time) *Principal {
	c.mu.RLock()
	p, isYoung := c.young[h]
	if !isYoung {
		p = c.old[h]
	}
	current := c.generation == generation
	c.mu.RUnlock()
	if p == nil || !current || !now.Before(p.Expires) {
		return nil
	}
	if !isYoung {
		c.add(h, generation, p)
	}
	return p
}

// add remembers a principal. A newer generation empties the cache first; an older one is not stored.
func (c *cache) add(h tokenHash, generation uint64, p *Principal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case generation < c.generation:
		return
	case generation > c.generation:
		c.generation, c.young, c.old = generation, nil, nil
	case len(c.young) >= cachedTokens:
		c.old, c.young = c.young, nil
	}
	if c.young == nil {
		c.young = make(map[tokenHash]*Principal)
	}
	c.young[h] = p
}
