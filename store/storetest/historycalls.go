package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// call is one step of a history as it was drawn: it names things by number, counted round what there is when it runs,
// so that calls before it can be left out.
type call struct {
	kind  string
	a, b  int           // which queue, key, …
	n     int           // how many
	d     time.Duration // how long
	flag  bool
	draws []int // for the items of a batch
}

// kinds are the calls and how often each is drawn.
var kinds = []struct {
	kind   string
	weight int
}{
	{"send", 22},
	{"once", 6},
	{"claim", 22},
	{"settle", 22},
	{"advance", 14},
	{"stats", 6},
	{"move", 5},
	{"sweep", 4},
	{"configure", 3},
	{"drop", 1},
	{"stale", 1},
	{"queues", 1},
	{"put", 5},
	{"delete", 2},
	{"get", 2},
	{"list", 2},
	{"reopen", 1},
}

// history draws calls.
func history(rng *rand.Rand, length int, reopens bool) []call {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	calls := []call{{kind: "configure", a: 0, d: time.Hour}, {kind: "configure", a: 1, n: 2}, {kind: "configure", a: 2, n: 1, flag: true}}
	for len(calls) < length {
		pick, i := rng.IntN(total), 0
		for pick >= kinds[i].weight {
			pick -= kinds[i].weight
			i++
		}
		if kinds[i].kind == "reopen" && !reopens {
			continue
		}
		c := call{
			kind: kinds[i].kind, a: rng.IntN(8), b: rng.IntN(1000), n: rng.IntN(4), flag: rng.IntN(4) == 0,
			d: time.Duration(rng.IntN(60)*rng.IntN(60)) * 100 * time.Millisecond,
		}
		if rng.IntN(3) == 0 {
			c.d = 0
		}
		c.draws = make([]int, 1+rng.IntN(1+rng.IntN(12)))
		for j := range c.draws {
			c.draws[j] = rng.IntN(1 << 20)
		}
		calls = append(calls, c)
	}
	return calls
}

// ending looks at everything that is left.
func ending() []call {
	calls := []call{{kind: "queues"}, {kind: "list", b: 0}}
	for range 3 {
		for q := range 3 {
			calls = append(calls, call{kind: "stats", a: q}, call{kind: "claim", a: q, n: 10_000, d: time.Minute},
				call{kind: "move", a: q, b: 1, n: 10_000}, call{kind: "sweep", a: q})
		}
		calls = append(calls, call{kind: "advance", d: 24 * time.Hour})
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
	revision map[store.QueueID]uint64
	created  store.QueueID
	sent     uint64
	receipts []receipt
	pending  store.QueueID // the queue of the claim that is running
}

func newHistoryWorld(ctx context.Context, clock *Clock) *historyWorld {
	return &historyWorld{ctx: ctx, clock: clock, revision: make(map[store.QueueID]uint64)}
}

// learn remembers the deliveries of a claim that both stores answered alike.
func (w *historyWorld) learn(s *side) {
	for _, m := range s.claimed {
		w.receipts = append(w.receipts, receipt{w.pending, m.Seq, len(s.tokens) - 1})
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

// prepare resolves a call to what both stores are told, and returns its text and how to carry it out on one of them.
// The answer is text, too, without what a backend is free to choose.
func (w *historyWorld) prepare(c call) (string, func(*side) string) {
	do := func(s *side, what func() (any, error)) string {
		s.claimed = nil
		got, err := what()
		if err != nil {
			return kindOf(err)
		}
		return fmt.Sprintf("%+v", got)
	}
	q := w.queue(c.a)
	switch c.kind {
	case "send", "once":
		p := w.sendParams(c, q)
		return describeSend(p), func(s *side) string {
			return do(s, func() (any, error) {
				r, err := s.store.Send(w.ctx, p)
				r.SentAt = r.SentAt.UTC()
				return r, err
			})
		}
	case "claim":
		p := store.ClaimParams{Queue: q, Revision: w.revision[q], Max: 1 + c.n*len(c.draws), MaxBytes: 1 << 30, Visibility: c.d, Consumer: "c"}
		if c.n > 100 {
			p.Max = c.n
		}
		if c.flag {
			p.MaxBytes = int64(c.b)
		}
		w.pending = q
		return fmt.Sprintf("Claim%+v", p), func(s *side) string { return do(s, func() (any, error) { return s.claim(w.ctx, p) }) }
	case "settle":
		return w.prepareSettle(c, do)
	case "advance":
		w.clock.Advance(c.d)
		return fmt.Sprintf("Advance(%v)", c.d), func(s *side) string { return do(s, func() (any, error) { return "", nil }) }
	case "stats":
		return fmt.Sprintf("Stats(%x)", uint64(q)), func(s *side) string {
			return do(s, func() (any, error) { return s.store.Stats(w.ctx, q) })
		}
	case "move":
		p := store.MoveParams{Source: q, Target: w.queue(c.a + 1 + c.b%2), Limit: 1 + c.n, Label: fmt.Sprint("label", c.b)}
		if p.Source == p.Target {
			p.Target = 404
		}
		return fmt.Sprintf("Move%+v", p), func(s *side) string {
			return do(s, func() (any, error) { return s.store.Move(w.ctx, p) })
		}
	case "sweep":
		return fmt.Sprintf("Sweep(%x)", uint64(q)), func(s *side) string {
			return do(s, func() (any, error) { return s.store.Sweep(w.ctx, q) })
		}
	case "configure":
		return w.prepareConfigure(c, do)
	case "drop":
		return w.prepareDrop(c, q, do)
	case "stale":
		return fmt.Sprintf("Claim(%x) at another revision", uint64(q)), func(s *side) string {
			return do(s, func() (any, error) {
				return s.store.Claim(w.ctx, store.ClaimParams{Queue: q, Revision: w.revision[q] + 1, Max: 1})
			})
		}
	case "queues":
		return "Queues(0, 100)", func(s *side) string {
			return do(s, func() (any, error) { return s.store.Queues(w.ctx, 0, 100) })
		}
	case "reopen":
		return "reopen", func(s *side) string { return do(s, func() (any, error) { s.reopen(); return "", nil }) }
	}
	return w.prepareKV(c, do)
}

func (w *historyWorld) sendParams(c call, q store.QueueID) store.SendParams {
	p := store.SendParams{Queue: q, Revision: w.revision[q]}
	for _, draw := range c.draws {
		w.sent++
		e := store.Entry{Payload: payloadOf(w.sent, draw%7*(draw%7)*(draw%41))}
		e.Size = uint32(len(e.Payload))
		switch draw % 5 {
		case 0:
			e.Delay = c.d
		case 1:
			e.NotBefore = w.clock.Now().Add(c.d - time.Minute)
		}
		p.Entries = append(p.Entries, e)
	}
	if c.kind == "once" {
		p.Once = onceKey(fmt.Sprint(c.b%20), fmt.Sprint(c.n%2), c.d+time.Second)
	}
	return p
}

// payloadOf is the payload of the n-th message of a test: different for each, and all of it follows from its number.
func payloadOf(n uint64, size int) []byte {
	b := binary.BigEndian.AppendUint64(nil, n)
	for i := range size {
		b = append(b, byte(n)*31+byte(i)*7)
	}
	return b
}

func describeSend(p store.SendParams) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Send{Queue:%x Revision:%d Once:%+v", uint64(p.Queue), p.Revision, p.Once)
	for _, e := range p.Entries {
		fmt.Fprintf(&b, " [%x.. %d bytes delay %v not before %v]", e.Payload[:8], len(e.Payload), e.Delay, e.NotBefore)
	}
	return b.String() + "}"
}

// claim returns the answer as far as backends agree.
func (s *side) claim(ctx context.Context, p store.ClaimParams) (any, error) {
	r, err := s.store.Claim(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(r.Messages) > 0 {
		s.claimed = r.Messages
		s.tokens = append(s.tokens, r.Token)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "deadline %v died %d ready %v next due %v", r.Deadline.UTC(), r.Died, r.Ready, r.NextDue)
	for _, m := range r.Messages {
		fmt.Fprintf(&b, " [%d: %s size %d sent %v receives %d entered %d", m.Seq, brief(m.Payload), m.Size, m.SentAt.UTC(), m.Receives, m.Entered)
		if o := m.Origin; o != nil {
			fmt.Fprintf(&b, " origin %x %d %v %d %q %q %v", uint64(o.Queue), o.Seq, o.SentAt.UTC(), o.Receives, o.Label, o.Reason, o.MovedAt.UTC())
		}
		b.WriteString("]")
	}
	return b.String(), nil
}

// brief tells payloads apart without printing all of them.
func brief(b []byte) string {
	return fmt.Sprintf("%x.. %d bytes, checksum %x", b[:min(len(b), 8)], len(b), crc32.ChecksumIEEE(b))
}

type doer func(s *side, what func() (any, error)) string

func (w *historyWorld) prepareSettle(c call, do doer) (string, func(*side) string) {
	if len(w.receipts) == 0 {
		return "Settle(nothing)", func(*side) string { return "" }
	}
	// All items of a call are of one queue: that of the first.
	first := w.receipts[len(w.receipts)-1-c.b%len(w.receipts)]
	p := store.SettleParams{Queue: first.queue, Revision: w.revision[first.queue], Strict: c.flag}
	var claims []int
	for _, draw := range c.draws {
		r := w.receipts[draw%len(w.receipts)]
		if r.queue != first.queue {
			r = first
		}
		i := store.SettleItem{Seq: r.seq, Target: store.Target(1 + draw>>8%4), After: time.Duration(draw>>12%3) * c.d}
		i.Uncount = i.Target == store.Ready && draw>>16%4 == 0
		if draw>>10%2 == 0 {
			i.Reason = fmt.Sprint("reason ", draw%5)
		}
		p.Items = append(p.Items, i)
		claims = append(claims, r.claim)
	}
	return fmt.Sprintf("Settle%+v by claims %v", p, claims), func(s *side) string {
		mine := p
		mine.Items = append([]store.SettleItem{}, p.Items...)
		for i := range mine.Items {
			mine.Items[i].Token = s.tokens[claims[i]]
		}
		return do(s, func() (any, error) { return s.store.Settle(w.ctx, mine) })
	}
}

func (w *historyWorld) prepareConfigure(c call, do doer) (string, func(*side) string) {
	if len(w.queues) < 3 {
		w.created++
		w.queues = append(w.queues, w.created*0x9E3779B97F4A7C15)
	}
	q := w.queue(c.a)
	if c.b%8 != 7 {
		w.revision[q]++ // else it is a repeat
	}
	p := store.Settings{Revision: w.revision[q], MaxReceives: uint32(c.n), Lazy: c.flag}
	if c.b%3 == 0 {
		p.Retention = 10 * c.d
	}
	return fmt.Sprintf("Configure(%x, %+v)", uint64(q), p), func(s *side) string {
		return do(s, func() (any, error) { return "", s.store.Configure(w.ctx, q, p) })
	}
}

func (w *historyWorld) prepareDrop(c call, q store.QueueID, do doer) (string, func(*side) string) {
	if len(w.queues) > 0 {
		i := c.a % len(w.queues)
		w.queues = append(w.queues[:i:i], w.queues[i+1:]...)
	}
	return fmt.Sprintf("Drop(%x)", uint64(q)), func(s *side) string {
		return do(s, func() (any, error) { return "", s.store.Drop(w.ctx, q) })
	}
}

func (w *historyWorld) prepareKV(c call, do doer) (string, func(*side) string) {
	key := fmt.Sprint("key/", c.b%10)
	prev := func(s *side) store.Revision {
		if c.n == 0 || len(s.revisions) == 0 {
			return []store.Revision{0, store.AnyRevision}[c.draws[0]%2]
		}
		return s.revisions[len(s.revisions)-1-c.draws[0]%min(len(s.revisions), 10)]
	}
	switch c.kind {
	case "put":
		value := payloadOf(uint64(c.b), c.b)
		return fmt.Sprintf("Put(%q, %d bytes)", key, len(value)), func(s *side) string {
			return do(s, func() (any, error) {
				r, err := s.store.Put(w.ctx, key, value, prev(s))
				if err == nil {
					s.revisions = append(s.revisions, r)
				}
				return "", err
			})
		}
	case "delete":
		return fmt.Sprintf("Delete(%q)", key), func(s *side) string {
			return do(s, func() (any, error) { return "", s.store.Delete(w.ctx, key, prev(s)) })
		}
	case "get":
		return fmt.Sprintf("Get(%q)", key), func(s *side) string {
			return do(s, func() (any, error) {
				p, err := s.store.Get(w.ctx, key)
				return brief(p.Value), err
			})
		}
	case "list":
		return fmt.Sprintf("List(%q, %q, %d)", "key/", key, 1+c.n), func(s *side) string {
			return do(s, func() (any, error) {
				list, err := s.store.List(w.ctx, "key/", key, 1+c.n)
				var b strings.Builder
				for _, p := range list {
					fmt.Fprintf(&b, "[%s: %s] ", p.Key, brief(p.Value))
				}
				return b.String(), err
			})
		}
	}
	panic("storetest: unknown call " + c.kind)
}

// kindOf names the sentinel of an error.
func kindOf(err error) string {
	for _, kind := range []error{
		store.ErrGone, store.ErrStaleConfig, store.ErrKeyReused, store.ErrNotFound, store.ErrConflict, store.ErrTooLarge,
		store.ErrFull, store.ErrUnknown, store.ErrClosed, store.ErrCorrupt,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
