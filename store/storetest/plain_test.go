package storetest

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// The reference keeps the contract, too.
func TestPlain(t *testing.T) {
	Run(t, Harness{
		Open: func(_ *testing.T, c *Clock) store.Store { return newPlain(c) },
		lone: true,
	})
}
