package enginetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

func waiterIsWokenBySend(b *bundle) {
	b.put(ref)
	w := b.wait(ref, time.Minute)
	b.advance(7 * time.Second)
	b.send(ref, "m")
	w.want(7*time.Second, "m")
}

func waiterIsWokenByEndOfDelay(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Delay = 10 * time.Second })
	b.send(ref, "before")
	first := b.wait(ref, time.Minute)
	second := b.wait(ref, time.Minute)
	b.advance(5 * time.Second)
	b.send(ref, "after")
	order := b.byAnswer(first, second)
	order[0].want(10*time.Second, "before")
	order[1].want(15*time.Second, "after")
}

func waiterIsWokenByEndOfLease(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = 10 * time.Second })
	b.send(ref, "m")
	b.one(ref)
	first := b.wait(ref, time.Minute)
	second := b.wait(ref, time.Minute)
	order := b.byAnswer(first, second)
	order[0].want(10*time.Second, "m")
	order[1].want(20*time.Second, "m") // the lease of the first
}

func waiterIsWokenByNack(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	d := b.one(ref)
	w := b.wait(ref, time.Minute)
	b.advance(3 * time.Second)
	b.nack(ref, d.Receipt, 0)
	w.want(3*time.Second, "m")
}

func waiterIsWokenByEndOfBackoff(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) {
		c.Retry = engine.Retry{Policy: engine.RetryFixed, Base: 4 * time.Second, Jitter: engine.JitterNone}
	})
	b.send(ref, "m")
	d := b.one(ref)
	w := b.wait(ref, time.Minute)
	b.nack(ref, d.Receipt, -1)
	w.want(4*time.Second, "m")
}

func waiterIsWokenByVisibilityZero(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	d := b.one(ref)
	w := b.wait(ref, time.Minute)
	b.advance(3 * time.Second)
	b.extend(ref, d.Receipt, 0)
	w.want(3*time.Second, "m")
}

func waiterIsWokenByDeliveryWithoutLease(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = 0 })
	first, second := b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	b.send(ref, "m")
	first.want(0, "m")
	second.want(0, "m")
}

func waiterIsWokenByShorterLease(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	d := b.one(ref)
	w := b.wait(ref, time.Minute)
	b.extend(ref, d.Receipt, 2*time.Second)
	w.want(2*time.Second, "m")
}

func waiterIsWokenByDeadLetter(b *bundle) {
	grave := named("grave")
	b.put(grave)
	b.put(ref, deadLetters("grave", 1), func(c *engine.QueueConfig) { c.Visibility = 10 * time.Second })
	b.send(ref, "nacked")
	d := b.one(ref)
	w := b.wait(grave, time.Minute)
	b.advance(time.Second)
	b.nack(ref, d.Receipt, 0)
	w.want(time.Second, "nacked")

	// Nobody receives from the queue whose lease ends.
	b.send(ref, "slow")
	b.one(ref)
	b.wait(grave, time.Minute).want(10*time.Second, "slow")
}

func waiterIsWokenByUndo(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	got := b.receive(ref, 1)
	w := b.wait(ref, time.Minute)
	if err := got.Undo(b.Context()); err != nil {
		b.Fatal(err)
	}
	w.want(0, "m")
	if n := w.messages[0].Receives; n != 1 {
		b.Errorf("receives after an undone delivery: got %d, want 1", n)
	}
}

func waitersAreServedOldestFirst(b *bundle) {
	b.put(ref)
	first, second, third := b.wait(ref, time.Minute), b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	b.send(ref, "a")
	first.want(0, "a")
	b.send(ref, "b", "c")
	if b.echoing {
		wantEach(0, []string{"b", "c"}, second, third)
		return
	}
	second.want(0, "b")
	third.want(0, "c")
}

func wakeOfOneThatHangsUpIsHandedOn(b *bundle) {
	b.put(ref)
	first, second := b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	// The first is woken, and its client goes away while it asks the store.
	b.store.afterClaim.set(func() error { first.hangUp(); return nil })
	b.send(ref, "m")
	second.want(0, "m")
	<-first.done
	b.wantCode(first.err, engine.CodeUnavailable)
	if n := second.messages[0].Receives; n != 1 {
		b.Errorf("receives: got %d, want 1, since the first client got nothing", n)
	}
}

func wakeOfOneThatFailsIsHandedOn(b *bundle) {
	b.put(ref)
	first, second := b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	b.store.beforeClaim.set(func() error { return errors.New("some failure") })
	b.send(ref, "m")
	second.want(0, "m")
	<-first.done
	b.wantCode(first.err, engine.CodeUnavailable)
}

func idleWaitersCostNothing(b *bundle) {
	const waiters, wait = 1000, 20 * time.Second
	b.put(ref)
	all := make([]*waiter, waiters)
	for i := range all {
		all[i] = b.wait(ref, wait)
	}
	claims := b.store.claims.Load()
	b.advance(wait - time.Second)
	if n := b.store.claims.Load() - claims; n != 0 {
		b.Errorf("%d idle waiters asked the store %d times, want never", waiters, n)
	}
	for _, w := range all {
		w.want(wait)
	}
}

func waiterOfDeletedQueueIsTold(b *bundle) {
	b.put(ref)
	w := b.wait(ref, time.Minute)
	if err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, false); err != nil {
		b.Fatal(err)
	}
	<-w.done
	b.wantCode(w.err, engine.CodeNotFound)
}

func waiterSurvivesChangeOfConfiguration(b *bundle) {
	b.put(ref)
	w := b.wait(ref, time.Minute)
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	b.advance(time.Second)
	b.send(ref, "m")
	w.want(time.Second, "m")
	if got := time.Until(w.messages[0].Lease.ExpiresAt); got != time.Hour {
		b.Errorf("lease taken after the change lasts %v, want 1h", got)
	}
}

func drainAnswersAllWaiters(b *bundle) {
	other := named("other")
	b.put(ref)
	b.put(other)
	ws := []*waiter{b.wait(ref, time.Minute), b.wait(ref, time.Minute), b.wait(other, time.Minute)}
	b.advance(time.Second)
	b.engine.Drain()
	for _, w := range ws {
		w.want(time.Second)
	}
	b.wait(ref, time.Minute).want(0)
	b.send(ref, "still served")
	b.wait(ref, time.Minute).want(0, "still served")
}

func hangUpWhileWaitingLeasesNothing(b *bundle) {
	b.put(ref)
	w := b.wait(ref, time.Minute)
	w.hangUp()
	<-w.done
	b.send(ref, "m")
	synctest.Wait()
	b.wantCounts(ref, engine.Counts{Ready: 1})
	if d := b.one(ref); d.Receives != 1 {
		b.Errorf("receives: got %d, want 1", d.Receives)
	}
}

func hangUpJustAfterClaimLeasesNothing(b *bundle) {
	b.put(ref, deadLetters("", 1))
	b.send(ref, "m")
	ctx, hangUp := context.WithCancel(b.Context())
	b.store.afterClaim.set(func() error { hangUp(); return nil })
	_, err := b.engine.Receive(ctx, ref, engine.ReceiveRequest{})
	if !errors.Is(err, context.Canceled) {
		b.Errorf("receive of a client that hung up: got %v, want context.Canceled", err)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
	if d := b.one(ref); d.Receives != 1 {
		b.Errorf("receives: got %d, want 1", d.Receives)
	}
}

func undoFollowsChangeOfConfiguration(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	got := b.receive(ref, 1)
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	if err := got.Undo(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
}

func undoAfterDeleteIsHarmless(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	for _, again := range []bool{false, true} {
		got := b.receive(ref, 1)
		if err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, true); err != nil {
			b.Fatal(err)
		}
		if again {
			b.put(ref)
		}
		if err := got.Undo(b.Context()); err != nil {
			b.Errorf("undo after the queue was deleted, created again %t: %v", again, err)
		}
		b.put(ref)
		b.wantCounts(ref, engine.Counts{})
		b.send(ref, "m")
	}
}

// manyDelaysAreAllServed has messages come due at many moments, some closer together than sweeps may be, while
// receivers come and go.
func manyDelaysAreAllServed(b *bundle) {
	const messages = 300
	b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	due := make([]time.Duration, messages)
	for i := range due {
		due[i] = time.Duration(rnd.IntN(2000)) * time.Millisecond
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{Delay: &due[i]}}})
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(due)
	begun := time.Now()
	for _, d := range due {
		if rnd.IntN(4) == 0 {
			b.advance(time.Duration(rnd.IntN(100)) * time.Millisecond)
		}
		want := max(d, time.Since(begun)) - time.Since(begun)
		b.wait(ref, time.Hour).want(want, "")
	}
	b.wantCounts(ref, engine.Counts{Leased: messages})
}
