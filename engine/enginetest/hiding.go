package enginetest

import (
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// hide changes the visibility of one message, which must be possible.
func (b *bundle) hide(q engine.Ref, receipt string, visibility time.Duration) {
	b.Helper()
	b.settled(b.engine.ChangeVisibility(b.Context(), q, []engine.ExtendItem{{Receipt: receipt, Visibility: visibility}}, 12*time.Hour))
}

// hidingFollowsTheMessage has someone else receive the message between the look at it and the change.
func hidingFollowsTheMessage(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	old := b.one(ref).Receipt
	b.advance(30 * time.Second)
	var taken engine.Delivery
	b.store.beforeSettle.set(func() error {
		taken = b.one(ref)
		return nil
	})
	b.hide(ref, old, time.Hour)
	if taken.Receives != 2 {
		b.Fatalf("the message was received %d times, want twice", taken.Receives)
	}
	b.advance(time.Hour - time.Millisecond)
	b.wantCounts(ref, engine.Counts{Leased: 1})
	b.advance(time.Millisecond)
	b.wantCounts(ref, engine.Counts{Ready: 1})
}

// hidingGivesUp has the message change hands each time.
func hidingGivesUp(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	last := b.one(ref).Receipt
	receives := 1
	var takeAgain func() error
	takeAgain = func() error {
		b.hide(ref, last, 0)
		last = b.one(ref).Receipt
		receives++
		b.store.beforeSettle.set(takeAgain)
		return nil
	}
	b.store.beforeSettle.set(takeAgain)
	results, err := b.engine.ChangeVisibility(b.Context(), ref, []engine.ExtendItem{{Receipt: last, Visibility: time.Hour}}, 12*time.Hour)
	b.store.beforeSettle.Store(nil)
	if err != nil || results[0].Err == nil || results[0].Err.Code != engine.CodeLeaseLost {
		b.Errorf("change of a message that changes hands all the time: got %v, %v, want lease_lost", results, err)
	}
	if receives < 3 || receives > 10 {
		b.Errorf("it was looked for while it was received %d times, want a few times", receives)
	}
}

// hidingFollowsAChange has the configuration change, and then the queue be made again, between look and change.
func hidingFollowsAChange(b *bundle) {
	b.put(ref)
	b.send(ref, "m")
	d := b.one(ref)
	b.store.beforeSettle.set(func() error {
		b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
		return nil
	})
	b.hide(ref, d.Receipt, time.Minute)
	b.advance(time.Minute)
	b.wantCounts(ref, engine.Counts{Ready: 1})

	d = b.one(ref)
	b.store.beforeSettle.set(func() error {
		if err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, true); err != nil {
			return err
		}
		b.put(ref)
		return nil
	})
	results, err := b.engine.ChangeVisibility(b.Context(), ref, []engine.ExtendItem{{Receipt: d.Receipt}}, time.Hour)
	if err != nil || results[0].Err == nil || results[0].Err.Code != engine.CodeReceiptInvalid {
		b.Errorf("change in a queue that was made again: got %v, %v, want receipt_invalid", results, err)
	}
}

// hidingOfManyIsOneChange has more bytes than one look reads, and items of every kind.
func hidingOfManyIsOneChange(b *bundle) {
	var told, lost int
	b.events = engine.Events{
		Extended:  func(_ engine.Ref, n int) { told += n },
		LeaseLost: func(_ engine.Ref, n int) { lost += n },
	}
	b.restart()
	b.put(ref)
	const messages = 12
	for range messages {
		b.send(ref, string(make([]byte, 1<<20)))
	}
	var items []engine.ExtendItem
	for range messages {
		items = append(items, engine.ExtendItem{Receipt: b.one(ref).Receipt, Visibility: time.Hour})
	}
	b.ack(ref, items[3].Receipt)
	items[5].Refused = &engine.Error{Code: engine.CodeUnknownField}
	items[7].Visibility = 13 * time.Hour
	results, err := b.engine.ChangeVisibility(b.Context(), ref, items, 12*time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	want := map[int]engine.Code{3: engine.CodeLeaseLost, 5: engine.CodeUnknownField, 7: engine.CodeInvalidRequest}
	for i, r := range results {
		code := engine.Code("")
		if r.Err != nil {
			code = r.Err.Code
		}
		if code != want[i] {
			b.Errorf("item %d: got %q, want %q", i, code, want[i])
		}
	}
	if told != messages-3 || lost != 1 {
		b.Errorf("told of %d changes and %d lost leases, want %d and 1", told, lost, messages-3)
	}
	b.advance(30 * time.Second)
	b.wantCounts(ref, engine.Counts{Ready: 2, Leased: messages - 3})
	for _, n := range []int{0, engine.MaxBatch + 1} {
		_, err := b.engine.ChangeVisibility(b.Context(), ref, make([]engine.ExtendItem, n), time.Hour)
		b.wantCode(err, engine.CodeInvalidRequest)
	}
}
