package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// noMessageIsLostOrDoubledAmongManyReceivers has receivers that wait, hang up at random and ack what they get. Leases
// do not end meanwhile, so each message must be acked once, in its first counted delivery.
func noMessageIsLostOrDoubledAmongManyReceivers(b *bundle) {
	const messages, receivers = 2000, 8
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	seed := rand.Uint64()
	b.Logf("seed %d", seed)

	var mu sync.Mutex
	acked := make(map[engine.MessageID]int)
	all, finish := context.WithCancel(b.Context())
	defer finish()
	var done sync.WaitGroup
	for i := range receivers {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		done.Go(func() {
			for all.Err() == nil {
				ctx, cancel := context.WithTimeout(all, time.Duration(rnd.IntN(20))*time.Millisecond)
				wait := time.Duration(rnd.IntN(30)) * time.Millisecond
				got, err := b.engine.Receive(ctx, ref, engine.ReceiveRequest{Max: 1 + rnd.IntN(3), Wait: &wait})
				cancel()
				if err != nil {
					continue
				}
				if rnd.IntN(5) == 0 {
					if err := got.Undo(b.Context()); err != nil {
						b.Errorf("undo: %v", err)
					}
					continue
				}
				for _, d := range got.Messages {
					b.ack(ref, d.Receipt)
					mu.Lock()
					acked[d.ID]++
					if d.Receives != 1 {
						b.Errorf("message %s: receives is %d, want 1", d.ID, d.Receives)
					}
					if len(acked) == messages {
						finish()
					}
					mu.Unlock()
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, receivers))
	for n := 0; n < messages; {
		batch := make([]string, min(1+rnd.IntN(5), messages-n))
		b.send(ref, batch...)
		n += len(batch)
		if rnd.IntN(10) == 0 {
			b.advance(time.Millisecond)
		}
	}
	done.Wait()
	for id, n := range acked {
		if n != 1 {
			b.Errorf("message %s was acked %d times", id, n)
		}
	}
	b.wantCounts(ref, engine.Counts{})
}

func oneRetryCountsOneReceive(b *bundle) {
	b.put(ref, deadLetters("", 0), func(c *engine.QueueConfig) { c.Visibility = time.Second })
	b.send(ref, "m")
	for want := uint32(1); want <= 6; want++ {
		d := b.one(ref)
		if d.Receives != want {
			b.Fatalf("receives: got %d, want %d", d.Receives, want)
		}
		if want%2 == 0 {
			b.nack(ref, d.Receipt, 0)
		} else {
			b.advance(time.Second)
		}
	}
}

func maxReceivesIsExact(b *bundle) {
	for _, when := range []engine.When{engine.Eager, engine.Lazy} {
		for limit := uint32(1); limit <= 3; limit++ {
			for _, how := range []string{"nack", "lease end"} {
				q := named(fmt.Sprintf("%s-%d-%.5s", when, limit, how))
				b.put(q, deadLetters("", limit), func(c *engine.QueueConfig) {
					c.Visibility, c.DeadLetter.When = time.Second, when
				})
				b.send(q, "m")
				got := uint32(0)
				for ; ; got++ {
					r := b.receive(q, 1)
					if len(r.Messages) == 0 {
						break
					}
					if how == "nack" {
						b.nack(q, r.Messages[0].Receipt, 0)
					} else {
						b.advance(time.Second)
					}
				}
				if got != limit {
					b.Errorf("%s, max_receives %d, by %s: %d deliveries", when, limit, how, got)
				}
				b.wantCounts(q, engine.Counts{Dead: 1})
			}
		}
	}
}

func deadLettersDyingDuringAMoveAreMoved(b *bundle) {
	const messages = 3000
	b.put(ref, deadLetters("grave", 1), func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	for range messages / 100 {
		b.send(ref, make([]string, 100)...)
	}
	// Half of them wait for the dead-letter queue, the others die while those are moved.
	for range messages / 200 {
		b.reject(ref, 100)
	}
	var done sync.WaitGroup
	for range 3 {
		done.Go(func() {
			for range messages / 600 {
				b.reject(ref, 100)
			}
		})
	}
	b.put(named("grave"))
	done.Wait()
	b.advance(time.Second)
	b.wantCounts(ref, engine.Counts{})
	b.wantCounts(named("grave"), engine.Counts{Ready: messages})
}

// parkedMessagesAllMove has more of them than one move takes.
func parkedMessagesAllMove(b *bundle) {
	b.put(ref, deadLetters("grave", 1))
	b.send(ref, make([]string, engine.MaxBatch)...)
	b.reject(ref, engine.MaxBatch)
	b.wantCounts(ref, engine.Counts{Dead: engine.MaxBatch})
	b.put(named("grave"))
	synctest.Wait()
	b.wantCounts(ref, engine.Counts{})
	b.wantCounts(named("grave"), engine.Counts{Ready: engine.MaxBatch})
}

// manyMessagesExpireWithoutPause has more of them than one sweep removes.
func manyMessagesExpireWithoutPause(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Retention = time.Minute })
	for range 5 {
		b.send(ref, make([]string, engine.MaxBatch)...)
	}
	b.advance(time.Minute + 2*store.Tick)
	b.wantCounts(ref, engine.Counts{})
}

// reject receives messages and calls them dead.
func (b *bundle) reject(q engine.Ref, n int) {
	b.Helper()
	var items []engine.NackItem
	for _, d := range b.receive(q, n).Messages {
		items = append(items, engine.NackItem{Receipt: d.Receipt, Dead: true})
	}
	b.settled(b.engine.Nack(b.Context(), q, items, ""))
}

func ackedDeadLettersDoNotReturn(b *bundle) {
	grave := named("grave")
	b.put(grave)
	b.put(ref, deadLetters("grave", 1))
	b.send(ref, "m")
	b.nack(ref, b.one(ref).Receipt, 0)
	b.ack(grave, b.one(grave).Receipt)
	b.restart()
	b.advance(time.Hour)
	b.wantCounts(ref, engine.Counts{})
	b.wantCounts(grave, engine.Counts{})
}

func leasesWithOneDeadlineAllEnd(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = 10 * time.Second })
	const n = 100
	b.send(ref, make([]string, n)...)
	for range n / 2 {
		b.one(ref)
	}
	b.receive(ref, n)
	b.wantCounts(ref, engine.Counts{Leased: n})
	b.advance(10 * time.Second)
	b.wantCounts(ref, engine.Counts{Ready: n})
	if got := len(b.receive(ref, n).Messages); got != n {
		b.Errorf("after all leases ended at once %d messages were received, want %d", got, n)
	}
}

func messagesOfOneMillisecondHaveDifferentIDs(b *bundle) {
	b.put(ref)
	b.put(named("other"))
	seen := make(map[engine.MessageID]bool)
	for range 10 {
		for _, q := range []engine.Ref{ref, named("other")} {
			for _, id := range b.send(q, make([]string, 100)...) {
				if seen[id] {
					b.Fatalf("id %s was given twice", id)
				}
				seen[id] = true
			}
		}
	}
}

func messageKeepsAllItSays(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Priorities = 10 })
	ttl := time.Hour
	m := engine.Message{
		Group: "g", DedupID: "d", Priority: 7, TTL: &ttl,
		Body: []byte{0, 0xff, '\n'}, ContentType: "image/jpeg",
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Attributes: []engine.Attribute{
			{Name: "z", Value: []byte("first")},
			{Name: "a", Type: "Number.int", Value: []byte("2")},
			{Name: "b", Type: "Binary", Value: []byte{0xfe}},
		},
	}
	sentAt := time.Now()
	answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{m}})
	if err != nil {
		b.Fatal(err)
	}
	b.advance(time.Minute)
	got := b.one(ref)
	want := engine.Delivery{
		ID: answer.Outcomes[0].ID, Receipt: got.Receipt,
		Body: m.Body, ContentType: m.ContentType, Attributes: m.Attributes, TraceParent: m.TraceParent,
		Receives: 1, SentAt: sentAt, Group: m.Group, DedupID: m.DedupID, Priority: m.Priority,
		ExpiresAt: sentAt.Add(ttl), WaitedFor: time.Minute,
		Lease: engine.Lease{Token: got.Lease.Token, ExpiresAt: time.Now().Add(30 * time.Second)},
	}
	near := cmp.Comparer(func(x, y time.Time) bool { return x.Sub(y).Abs() < time.Millisecond })
	// The store knows in ticks when a message became available.
	ticks := cmp.Comparer(func(x, y time.Duration) bool { return (x - y).Abs() <= store.Tick })
	if diff := cmp.Diff(want, got, near, ticks); diff != "" {
		b.Errorf("delivery (-want +got):\n%s", diff)
	}
	if got.Lease.Token == 0 {
		b.Error("the lease has no token")
	}
}

func answerIsBoundedInBytes(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.MaxMessageBytes = engine.MaxMessageBytesLimit })
	const megabyte = 1 << 20
	for range 20 {
		b.send(ref, string(make([]byte, megabyte)))
	}
	if got := len(b.receive(ref, 100).Messages); got != engine.MaxAnswerBytes/megabyte {
		b.Errorf("received %d messages of 1 MiB, want %d", got, engine.MaxAnswerBytes/megabyte)
	}
	big := named("big")
	b.put(big, func(c *engine.QueueConfig) { c.MaxMessageBytes = engine.MaxMessageBytesLimit })
	b.send(big, string(make([]byte, engine.MaxAnswerBytes+1)))
	if got := len(b.receive(big, 100).Messages); got != 1 {
		b.Errorf("received %d messages, want the one that is larger than an answer", got)
	}
}

func concurrentRepeatsSendOnce(b *bundle) {
	b.put(ref)
	req := engine.SendRequest{
		Messages: []engine.Message{{Body: []byte("m")}},
		Key:      &engine.IdempotencyKey{Principal: "someone", Path: "/p", Key: "k"},
	}
	var mu sync.Mutex
	ids, first := make(map[engine.MessageID]int), 0
	var done sync.WaitGroup
	for range 32 {
		done.Go(func() {
			answer, err := b.engine.Send(b.Context(), ref, req)
			if err != nil {
				b.Errorf("send: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[answer.Outcomes[0].ID]++
			if !answer.Duplicate {
				first++
			}
		})
	}
	done.Wait()
	if len(ids) != 1 || first != 1 {
		b.Errorf("32 repeats at once: %d ids and %d first answers, want 1 and 1", len(ids), first)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
}
