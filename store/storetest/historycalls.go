package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// call is one step of a history as it was drawn: it names things by number, counted round what there is when it runs,
// so that calls before it can be left out.
type call struct {
	kind string
	// queue is which one.
	queue int
	// seed is for all other choices. Without it the call is about everything there is.
	seed uint64
}

// all says that the call is about everything there is.
func (c call) all() bool { return c.seed == 0 }

// kinds are the calls and how often each is drawn.
var kinds = []struct {
	kind   string
	weight int
}{
	{"send", 22},
	{"once", 6},
	{"claim", 24},
	{"settle", 20},
	{"settle selected", 5},
	{"advance", 16},
	{"stats", 4},
	{"scan", 3},
	{"lookup", 4},
	{"groups", 3},
	{"move", 6},
	{"sweep", 4},
	{"purge", 1},
	{"configure", 4},
	{"drop", 1},
	{"stale", 1},
	{"queues", 1},
	{"put", 3},
	{"delete", 1},
	{"get", 1},
	{"list", 1},
	{"reopen", 1},
}

// history draws calls.
func history(rng *rand.Rand, length int, reopens bool) []call {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	draw := func(kind string) call {
		return call{kind: kind, queue: rng.IntN(queueCount), seed: 1 + rng.Uint64()>>1}
	}
	var calls []call
	for range queueCount {
		calls = append(calls, draw("configure"))
	}
	for len(calls) < length {
		pick, i := rng.IntN(total), 0
		for pick >= kinds[i].weight {
			pick -= kinds[i].weight
			i++
		}
		if kinds[i].kind != "reopen" || reopens {
			calls = append(calls, draw(kinds[i].kind))
		}
	}
	return calls
}

// queueCount is how many queues a history has at a time.
const queueCount = 3

// ending looks at everything that is left.
func ending() []call {
	calls := []call{{kind: "queues"}, {kind: "list"}}
	for range 3 {
		for q := range queueCount {
			for _, kind := range []string{"stats", "groups", "scan", "claim", "move", "sweep", "lookup"} {
				calls = append(calls, call{kind: kind, queue: q})
			}
		}
		calls = append(calls, call{kind: "advance"})
		for q := range queueCount {
			calls = append(calls, call{kind: "configure", queue: q}) // without bounds
		}
	}
	return calls
}

// receipt is a delivery that may be settled. Its token is that of the claim with this number.
type receipt struct {
	queue store.QueueID
	seq   store.Seq
	claim int
}

// historyWorld is what a caller of both stores knows.
type historyWorld struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one history
	clock    *Clock
	queues   []store.QueueID
	settings map[store.QueueID]store.Settings
	last     map[store.QueueID]store.Seq // the last message there was
	created  store.QueueID
	sent     uint64
	receipts []receipt
	pending  store.QueueID // the queue of the call that is running
}

func newHistoryWorld(ctx context.Context, clock *Clock) *historyWorld {
	return &historyWorld{
		ctx: ctx, clock: clock, settings: make(map[store.QueueID]store.Settings), last: make(map[store.QueueID]store.Seq),
	}
}

// learn remembers what a call sent or claimed when both stores answered alike.
func (w *historyWorld) learn(s *side) {
	w.last[w.pending] = max(w.last[w.pending], s.sent)
	for _, m := range s.claimed {
		w.receipts = append(w.receipts, receipt{w.pending, m.Seq, s.claim})
	}
	if n := len(w.receipts); n > 60 {
		w.receipts = w.receipts[n-60:]
	}
}

func (w *historyWorld) queue(i int) store.QueueID {
	if len(w.queues) == 0 {
		return 404
	}
	return w.queues[i%len(w.queues)]
}

// doer is a call that was resolved to what both stores are told: it carries the call out on one of them. The answer is
// without what a backend is free to choose, and is compared as text.
type doer func(*side) (any, error)

// prepare resolves a call, and says what it is.
func (w *historyWorld) prepare(c call) (string, doer) {
	d := drawer{rand.New(rand.NewPCG(c.seed, 0)), w}
	q := w.queue(c.queue)
	w.pending = q
	switch c.kind {
	case "send", "once":
		return w.prepareSend(d, q, c.kind == "once")
	case "claim":
		return w.prepareClaim(d, q, c.all())
	case "settle":
		return w.prepareSettle(d)
	case "settle selected":
		return w.prepareSettleSelected(d, q)
	case "advance":
		return w.prepareAdvance(d, c.all())
	case "stats":
		return fmt.Sprintf("Stats(%x)", uint64(q)), func(s *side) (any, error) { return s.store.Stats(w.ctx, q) }
	case "scan":
		return w.prepareScan(d, q, c.all())
	case "lookup":
		return w.prepareLookup(d, q, c.all())
	case "groups":
		return w.prepareGroups(d, q, c.all())
	case "move":
		return w.prepareMove(d, q, w.queue(c.queue+1), c.all())
	case "sweep":
		return fmt.Sprintf("Sweep(%x)", uint64(q)), func(s *side) (any, error) { return s.store.Sweep(w.ctx, q) }
	case "purge":
		return w.preparePurge(d, q)
	case "configure":
		return w.prepareConfigure(d, q, c.all())
	case "drop":
		return w.prepareDrop(c.queue, q)
	case "stale":
		return fmt.Sprintf("Claim(%x) at another revision", uint64(q)), func(s *side) (any, error) {
			return s.store.Claim(w.ctx, store.ClaimParams{Queue: q, Revision: w.settings[q].Revision + 1, Max: 1})
		}
	case "queues":
		return "Queues(0, 100)", func(s *side) (any, error) { return s.store.Queues(w.ctx, 0, 100) }
	case "reopen":
		return "reopen", func(s *side) (any, error) { s.reopen(); return "", nil }
	}
	return w.prepareKV(d, c.kind)
}

func (w *historyWorld) prepareAdvance(d drawer, all bool) (string, doer) {
	by := d.duration()
	if all {
		by = 24 * time.Hour
	}
	w.clock.Advance(by)
	return fmt.Sprintf("Advance(%v)", by), func(*side) (any, error) { return "", nil }
}
