package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// sampleKeepsAShare sends to a full queue that samples: of the messages one in ten is kept, which is random, so the
// bounds are six times the standard deviation.
func sampleKeepsAShare(b *bundle) {
	const room, messages = 5, 2000
	var sent, shed atomic.Int64
	b.events = engine.Events{
		Sent: func(_ engine.Ref, n int, _ int64) { sent.Add(int64(n)) },
		Shed: func(_ engine.Ref, n int) { shed.Add(int64(n)) },
	}
	b.restart()
	b.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow = room, engine.OverflowSample
	})
	b.send(ref, make([]string, room)...)
	kept, dropped := 0, 0
	for range messages / 100 {
		answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: make([]engine.Message, 100)})
		if err != nil {
			b.Fatal(err)
		}
		for i, o := range answer.Outcomes {
			switch {
			case o.Err != nil:
				b.Fatalf("message %d: %v", i, o.Err)
			case o.Dropped && o.ID != (engine.MessageID{}):
				b.Fatalf("message %d was dropped and has the id %s", i, o.ID)
			case o.Dropped:
				dropped++
			default:
				kept++
			}
		}
	}
	if kept < 120 || kept > 280 {
		b.Errorf("kept %d of %d messages, want about 200", kept, messages)
	}
	b.wantCounts(ref, engine.Counts{Ready: room})
	// Each message that was kept has taken the place of an older one.
	if s, d := sent.Load(), shed.Load(); s != int64(room+kept) || d != int64(dropped+kept) {
		b.Errorf("events tell of %d sent and %d shed, want %d and %d", s, d, room+kept, dropped+kept)
	}
}

func fatesAreTold(b *bundle) {
	var mu sync.Mutex
	got := make(map[string]int)
	note := func(what string) func(engine.Ref, int) {
		return func(_ engine.Ref, n int) {
			mu.Lock()
			defer mu.Unlock()
			got[what] += n
		}
	}
	b.events = engine.Events{
		Sent:         func(_ engine.Ref, n int, bytes int64) { note("sent")(ref, n); note("bytes")(ref, int(bytes)) },
		Deduplicated: note("deduplicated"), Shed: note("shed"), Refused: note("refused"),
	}
	b.restart()
	b.put(ref, func(c *engine.QueueConfig) { c.Limits.MaxMessages = 2; c.Dedup.ContentBased = true })
	answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{
		{Body: []byte("a")}, {Body: []byte("a")}, {Body: []byte("bb")}, {Body: []byte("ccc")},
	}})
	if err != nil {
		b.Fatal(err)
	}
	o := answer.Outcomes
	if o[0].ID != o[1].ID || o[0].Duplicate || !o[1].Duplicate || o[2].Err != nil || o[3].Err == nil || o[3].Err.Code != engine.CodeQueueFull {
		b.Errorf("outcomes: got %+v, want a message, its duplicate, a message and queue_full", o)
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "map[bytes:3 deduplicated:1 refused:1 sent:2]" {
		b.Errorf("events: got %v", got)
	}
}

// blockedSendersAllGetIn has many wait for the room that one receiver makes. No time passes, so each of them was woken.
func blockedSendersAllGetIn(b *bundle) {
	const senders = 200
	b.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow = 2, engine.OverflowBlock
	})
	begun := time.Now()
	var done sync.WaitGroup
	failed := make(chan error, senders)
	for i := range senders {
		done.Go(func() {
			m := engine.Message{Body: fmt.Append(nil, i)}
			answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{m}})
			if err == nil && answer.Outcomes[0].Err != nil {
				err = answer.Outcomes[0].Err
			}
			if err != nil {
				failed <- err
			}
		})
	}
	seen := make(map[string]bool)
	for len(seen) < senders {
		got := b.wait(ref, time.Minute)
		<-got.done
		if got.err != nil || len(got.messages) == 0 {
			b.Fatalf("after %d messages: got %v, %v", len(seen), got.messages, got.err)
		}
		seen[string(got.messages[0].Body)] = true
		b.ack(ref, got.messages[0].Receipt)
	}
	done.Wait()
	close(failed)
	for err := range failed {
		b.Errorf("a send that waited for room: %v", err)
	}
	if took := time.Since(begun); took != 0 {
		b.Errorf("the senders took %v of time, want none: each is woken when there is room", took)
	}
}

func blockedSendFollowsTheQueue(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow = 1, engine.OverflowBlock
	})
	b.send(ref, "full")
	blocked := func() <-chan error {
		done := make(chan error, 1)
		go func() {
			answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
			if err == nil && answer.Outcomes[0].Err != nil {
				err = answer.Outcomes[0].Err
			}
			done <- err
		}()
		synctest.Wait()
		return done
	}
	done := blocked()
	b.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow = 2, engine.OverflowBlock
	})
	b.advance(time.Second) // nobody acked, so it looks by itself
	if err := <-done; err != nil {
		b.Errorf("send to a queue that was made larger: %v", err)
	}
	done = blocked()
	if err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, true); err != nil {
		b.Fatal(err)
	}
	b.wantCode(<-done, engine.CodeNotFound)
}

func onReceiveFollowsAChange(b *bundle) {
	atMostOnce := func(c *engine.QueueConfig) { c.Ack = engine.AckOnReceive }
	b.put(ref, atMostOnce)
	b.send(ref, "m")
	b.store.beforeSettle.set(func() error {
		b.put(ref, atMostOnce, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
		return nil
	})
	b.one(ref)
	b.wantCounts(ref, engine.Counts{})
}

// onReceiveDeliversNothingItCouldNotAck has the ack fail: nobody has seen the message, so it may be delivered later.
func onReceiveDeliversNothingItCouldNotAck(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Ack, c.Visibility = engine.AckOnReceive, 0 })
	b.send(ref, "m")
	b.store.beforeSettle.set(func() error { return errors.New("some failure") })
	if got, err := b.engine.Receive(b.Context(), ref, engine.ReceiveRequest{}); err == nil {
		b.Errorf("receive whose ack failed: got %d messages, want an error", len(got.Messages))
	}
	b.advance(time.Minute)
	if d := b.one(ref); d.Receives != 2 {
		b.Errorf("receives: got %d, want 2", d.Receives)
	}
}

func onReceiveHangUpJustAfterClaimTakesNothing(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Ack = engine.AckOnReceive })
	b.send(ref, "m")
	ctx, hangUp := context.WithCancel(b.Context())
	b.store.afterClaim.set(func() error { hangUp(); return nil })
	if _, err := b.engine.Receive(ctx, ref, engine.ReceiveRequest{}); !errors.Is(err, context.Canceled) {
		b.Errorf("receive of a client that hung up: got %v, want context.Canceled", err)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
	if d := b.one(ref); d.Receives != 1 {
		b.Errorf("receives: got %d, want 1", d.Receives)
	}
}

// fifoKeepsTheOrderAmongManyReceivers has receivers take, give back, lose and ack messages of several groups at once.
// Whoever acks a message has seen all those before it acked.
func fifoKeepsTheOrderAmongManyReceivers(b *bundle) {
	const groups, each, receivers = 7, 40, 8
	q := named("work.fifo")
	b.put(q, func(c *engine.QueueConfig) {
		c.FIFO, c.Visibility = true, time.Second
		c.Retry = engine.Retry{Policy: engine.RetryFixed, Base: 100 * time.Millisecond, Jitter: engine.JitterFull}
	})
	for i := range each {
		var req engine.SendRequest
		for g := range groups {
			req.Messages = append(req.Messages, engine.Message{Group: fmt.Sprint(g), Body: []byte{byte(i)}})
		}
		if _, err := b.engine.Send(b.Context(), q, req); err != nil {
			b.Fatal(err)
		}
	}
	var mu sync.Mutex
	acked := make(map[string]int) // the number of the next message, by group
	var left atomic.Int64
	left.Store(groups * each)
	var done sync.WaitGroup
	for r := range receivers {
		done.Go(func() {
			for n := r; left.Load() > 0; n++ {
				wait := time.Second
				got, err := b.engine.Receive(b.Context(), q, engine.ReceiveRequest{Max: 1 + n%3, Wait: &wait})
				if err != nil {
					b.Errorf("receive: %v", err)
					return
				}
				late := false // the leases of this receive have ended
				for i, d := range got.Messages {
					if (n+i)%5 == 0 {
						nack(b, q, d.Receipt)
						break // what follows in the group must wait for it
					}
					if (n+i)%7 == 0 {
						late = true
						time.Sleep(2 * time.Second)
					}
					mu.Lock() // over the ack, too: the next message may be received as soon as it is done
					results, err := b.engine.Ack(b.Context(), q, []string{d.Receipt}, "")
					if err != nil {
						mu.Unlock()
						b.Errorf("ack: %v", err)
						return
					}
					number, next := int(d.Body[0]), acked[d.Group]
					switch {
					case results[0].Err != nil:
					case late && number >= next:
						b.Errorf("group %s: message %d was acked although its lease had ended", d.Group, number)
					case late: // another one has acked it since
					case number != next:
						b.Errorf("group %s: acked message %d, want %d first", d.Group, number, next)
					default:
						acked[d.Group]++
						left.Add(-1)
					}
					mu.Unlock()
					if results[0].Err != nil {
						break
					}
				}
			}
		})
	}
	done.Wait()
	b.wantCounts(q, engine.Counts{})
}

func nack(b *bundle, q engine.Ref, receipt string) {
	if _, err := b.engine.Nack(b.Context(), q, []engine.NackItem{{Receipt: receipt}}, ""); err != nil {
		b.Errorf("nack: %v", err)
	}
}
