//go:build !race

// With the race detector a pool drops part of what is put back, at random.

package sqs

import (
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

func TestMD5AllocatesItsResultAlone(t *testing.T) {
	attributes := []engine.Attribute{{Name: "b", Value: []byte("1")}, {Name: "a", Value: []byte("2")}}
	body := strings.Repeat("x", 4096)
	// Another allocation now and then is the pool's, after a garbage collection.
	if n := testing.AllocsPerRun(100, func() { md5OfBody(body) }); n > 1 {
		t.Errorf("a body takes %v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { md5OfAttributes(attributes) }); n > 1 {
		t.Errorf("attributes take %v allocations, want 1", n)
	}
}
