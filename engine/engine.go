package engine

import (
	"io"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Options are what an Engine takes from outside. Now and Rand are required.
type Options struct {
	// Now is the clock for the waits of receives. It must agree with the process's timers.
	Now func() time.Time
	// Rand gives generations, secrets and the seed of jitter. It is used from one goroutine at a time.
	Rand io.Reader
	// Events are told what happens.
	Events Events
}

// Engine serves the queues of one store. All methods are safe for concurrent use; every error they return is an
// [*Error].
type Engine struct {
	store store.Store
	opts  Options
}
