package auth

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache
	p := &Principal{Expires: start.Add(time.Hour)}
	inUse := hashToken("in use")
	c.add(inUse, 1, p)
	for i := range 10 * cachedTokens {
		c.add(hashToken(fmt.Sprint(i)), 1, p)
		if got := c.find(inUse, 1, start); got != p {
			t.Fatalf("after %d others a token in use is forgotten", i)
		}
	}
	if n := len(c.young) + len(c.old); n > 2*cachedTokens {
		t.Errorf("%d tokens remembered, want at most %d", n, 2*cachedTokens)
	}
	if c.find(hashToken("0"), 1, start) != nil {
		t.Error("a token not used for long is still remembered")
	}
}

func TestCacheForgetsOldGenerations(t *testing.T) {
	t.Parallel()
	var c cache
	p := &Principal{Expires: start.Add(time.Hour)}
	h := hashToken("t")
	c.add(h, 1, p)
	if c.find(h, 2, start) != nil {
		t.Error("found with newer keys, want a fresh look at the token")
	}
	c.add(h, 2, p)
	if c.find(h, 2, start) != p {
		t.Error("not found after it was added with the newer keys")
	}
	late := hashToken("late")
	c.add(late, 1, p)
	if c.find(late, 2, start) != nil || c.find(late, 1, start) != nil {
		t.Error("an entry of the older keys was stored after they were replaced")
	}
}

func TestCacheConcurrently(t *testing.T) {
	t.Parallel()
	var c cache
	p := &Principal{Expires: start.Add(time.Hour)}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				h := hashToken(fmt.Sprint(i % 50))
				c.add(h, uint64(i/500+g%2), p)
				c.find(h, uint64(i/500), start)
			}
		})
	}
	wg.Wait()
	if n := len(c.young) + len(c.old); n == 0 || n > 2*cachedTokens {
		t.Errorf("%d entries after concurrent use", n)
	}
}
