package storetest_test

import (
	"testing"

	"github.com/dabba-mq/dabba/store/storetest"
)

// The bugs of others that this project means to be immune to, as one line each.
func TestPlanted(t *testing.T) {
	storetest.Planted(t, []storetest.Plant{
		{
			Name: "one delivery too many", File: "store/internal/model/queue.go",
			Old: "s.entered >= q.settings.MaxReceives", New: "s.entered > q.settings.MaxReceives",
			Package: "./store/memory", Run: "TestContract/deliveries",
		},
		{
			Name: "a lease ends late", File: "store/internal/model/queue.go",
			Old: "q.timed.top().due <= now {", New: "q.timed.top().due < now {",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "a returned message goes to the end of the line", File: "store/internal/model/queue.go",
			Old: "if s.avail == 0 {", New: "if at > 0 {",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "any token settles", File: "store/internal/model/settle.go",
			Old: "s.token != item.Token ||", New: "",
			Package: "./store/memory", Run: "TestContract/settle",
		},
		{
			Name: "claims share a token", File: "store/internal/model/claim.go",
			Old: "Token: q.token + 1,", New: "Token: q.token | 1,",
			Package: "./store/memory", Run: "TestContract/(claim|settle)",
		},
		{
			Name: "an idempotency key is forgotten at once", File: "store/internal/model/once.go",
			Old: "return e, ok && e.ends > now", New: "return e, ok && e.ends < now",
			Package: "./store/memory", Run: "TestContract/once",
		},
		{
			Name: "a second move forgets the deliveries of the first", File: "store/internal/model/messages.go",
			Old: "o.Receives += c.Entered", New: "o.Receives = c.Entered",
			Package: "./store/memory", Run: "TestContract/move",
		},
		{
			Name: "queue time follows the wall clock back", File: "store/internal/model/clock.go",
			Old: "c.last = max(c.last, at)", New: "c.last = at",
			Package: "./store/memory", Run: "TestContract/time",
		},
	})
}
