package enginetest

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
)

// fifo is a FIFO queue.
var fifo = named("work.fifo")

func isFIFO(c *engine.QueueConfig) { c.FIFO = true }

// sendMany sends so many messages of one group.
func (b *bundle) sendMany(q engine.Ref, group string, n int) {
	b.Helper()
	for sent := 0; sent < n; {
		var req engine.SendRequest
		for ; sent < n && len(req.Messages) < engine.MaxBatch; sent++ {
			req.Messages = append(req.Messages, engine.Message{Body: fmt.Appendf(nil, "%d", sent), Group: group})
		}
		answer, err := b.engine.Send(b.Context(), q, req)
		if err != nil {
			b.Fatalf("send to %s: %v", q, err)
		}
		for _, o := range answer.Outcomes {
			if o.Err != nil {
				b.Fatalf("send to %s: %v", q, o.Err)
			}
		}
	}
}

func browseStopsWhenTimeIsUp(b *bundle) {
	b.put(ref)
	b.sendMany(ref, "", 1000)
	b.store.beforeScan.set(func() error {
		b.advance(engine.MaxBrowseTime)
		return nil
	})
	req := engine.BrowseRequest{Filter: engine.Filter{Contains: "none"}, Limit: 1}
	got, err := b.engine.Browse(b.Context(), ref, req)
	if err != nil || len(got.Views) != 0 || got.Scanned == 0 || got.Scanned >= 1000 || got.Next == "" {
		b.Fatalf("browse that takes too long = %d views, %d scanned, next %q, %v; want none, some, a place", len(got.Views), got.Scanned, got.Next, err)
	}
	req.From = got.Next
	rest, err := b.engine.Browse(b.Context(), ref, req)
	if err != nil || got.Scanned+rest.Scanned != 1000 || rest.Next != "" {
		b.Errorf("going on = %d scanned, next %q, %v; want the other %d and the end", rest.Scanned, rest.Next, err, 1000-got.Scanned)
	}
}

func cursorsDieWithTheirQueue(b *bundle) {
	b.put(ref)
	b.send(ref, "one", "two")
	got, err := b.engine.Browse(b.Context(), ref, engine.BrowseRequest{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	if err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, true); err != nil {
		b.Fatal(err)
	}
	b.put(ref)
	b.send(ref, "three", "four")
	_, err = b.engine.Browse(b.Context(), ref, engine.BrowseRequest{Limit: 1, From: got.Next})
	b.wantCode(err, engine.CodeInvalidRequest)
}

// idsLeadToMovedMessages sends in one queue what dies there and is looked at in the other.
func idsLeadToMovedMessages(b *bundle) {
	grave := named("grave")
	b.put(grave)
	b.put(ref, deadLetters("grave", 1))
	b.send(grave, "not this")
	id := b.send(ref, "this")[0]
	b.nack(ref, b.one(ref).Receipt, -1)
	b.wantCounts(grave, engine.Counts{Ready: 2})

	_, err := b.engine.Look(b.Context(), ref, id)
	b.wantCode(err, engine.CodeNotFound)
	found, err := b.engine.Look(b.Context(), grave, id)
	if err != nil || string(found.Body) != "this" || found.ID != id {
		b.Fatalf("look in %s = %q, id %s, %v; want this, id %s", grave, found.Body, found.ID, err, id)
	}
	if _, err := b.engine.Reschedule(b.Context(), grave, id, engine.RescheduleRequest{Delay: new(time.Hour)}); err != nil {
		b.Fatal(err)
	}
	b.wantCounts(grave, engine.Counts{Ready: 1, Delayed: 1})
	if err := b.engine.Remove(b.Context(), grave, id); err != nil {
		b.Fatal(err)
	}
	b.wantCounts(grave, engine.Counts{Ready: 1})
	b.wantCode(b.engine.Remove(b.Context(), grave, id), engine.CodeNotFound)
}

// rescheduleLosesARaceForTheMessage has someone receive the message between the look at it and the change.
func rescheduleLosesARaceForTheMessage(b *bundle) {
	b.put(ref)
	id := b.send(ref, "m")[0]
	var receipt string
	b.store.afterLookup.set(func() error {
		receipt = b.one(ref).Receipt
		return nil
	})
	_, err := b.engine.Reschedule(b.Context(), ref, id, engine.RescheduleRequest{Delay: new(time.Hour)})
	b.wantCode(err, engine.CodeConflict)
	b.ack(ref, receipt)
	b.wantCounts(ref, engine.Counts{})
}

// rescheduledMessageIsGoneAtOnce has someone receive and ack the message between its becoming ready and the last look.
func rescheduledMessageIsGoneAtOnce(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) { c.Delay = time.Hour })
	id := b.send(ref, "m")[0]
	b.store.afterLookup.set(func() error {
		b.store.beforeLookup.set(func() error {
			b.ack(ref, b.one(ref).Receipt)
			return nil
		})
		return nil
	})
	found, err := b.engine.Reschedule(b.Context(), ref, id, engine.RescheduleRequest{})
	if err != nil || found.ID != id || found.State != engine.StateRemoved {
		b.Errorf("reschedule = %s %s, %v; want %s removed", found.ID, found.State, err, id)
	}
}

func removeWinsARaceForTheMessage(b *bundle) {
	b.put(ref)
	id := b.send(ref, "m")[0]
	b.store.afterLookup.set(func() error {
		b.one(ref)
		return nil
	})
	if err := b.engine.Remove(b.Context(), ref, id); err != nil {
		b.Error(err)
	}
	b.wantCounts(ref, engine.Counts{})
}

// skipFollowsAChangeOfTheHead has the head acked between the look at it and its removal.
func skipFollowsAChangeOfTheHead(b *bundle) {
	b.put(fifo, isFIFO)
	b.sendMany(fifo, "g", 3)
	b.store.afterGroups.set(func() error {
		b.ack(fifo, b.one(fifo).Receipt)
		return nil
	})
	id, err := b.engine.SkipGroup(b.Context(), fifo, "g")
	if err != nil || id == nil {
		b.Fatalf("skip = %v, %v; want the second message", id, err)
	}
	if next := b.one(fifo); string(next.Body) != "2" {
		b.Errorf("next of the group = %q, want the third", next.Body)
	}
}

// purgeIsCompleteWhenItReturns chooses more than the store removes at a time.
func purgeIsCompleteWhenItReturns(b *bundle) {
	b.put(fifo, isFIFO)
	b.sendMany(fifo, "go", 2500)
	b.sendMany(fifo, "stay", 1)
	b.store.beforePurge.set(func() error {
		b.put(fifo, isFIFO, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
		return nil
	})
	n, err := b.engine.Purge(b.Context(), fifo, engine.Filter{Group: new("go")})
	if n != 2500 || err != nil {
		b.Errorf("purge = %d, %v; want 2500", n, err)
	}
	b.wantCounts(fifo, engine.Counts{Ready: 1})
	if n, err = b.engine.Purge(b.Context(), fifo, engine.Filter{}); n != 1 || err != nil {
		b.Errorf("purge of the rest = %d, %v; want 1", n, err)
	}
	b.wantCounts(fifo, engine.Counts{})
}

func purgeForgetsDeduplicationIDs(b *bundle) {
	b.put(ref)
	send := func() engine.SendOutcome {
		answer, err := b.engine.Send(b.Context(), ref, engine.SendRequest{
			Messages: []engine.Message{{Body: []byte("m"), DedupID: "once"}},
		})
		if err != nil {
			b.Fatal(err)
		}
		return answer.Outcomes[0]
	}
	first := send()
	if _, err := b.engine.Purge(b.Context(), ref, engine.Filter{States: []engine.State{engine.StateReady}}); err != nil {
		b.Fatal(err)
	}
	if again := send(); !again.Duplicate || again.ID != first.ID {
		b.Errorf("send after a purge by state = %+v, want a duplicate of %s", again, first.ID)
	}
	if _, err := b.engine.Purge(b.Context(), ref, engine.Filter{}); err != nil {
		b.Fatal(err)
	}
	if again := send(); again.Duplicate || again.Err != nil {
		b.Errorf("send after a purge of all = %+v, want it accepted", again)
	}
}

func purgeThatStopsHalfwayIsUnknown(b *bundle) {
	b.put(ref)
	b.sendMany(ref, "g", 1500)
	fail := errors.New("no more today")
	b.store.beforePurge.set(func() error {
		b.store.beforePurge.set(func() error { return fail })
		return nil
	})
	n, err := b.engine.Purge(b.Context(), ref, engine.Filter{Group: new("g")})
	if e := engine.ErrorOf(err); n != 1000 || e.Outcome != engine.Unknown || !errors.Is(err, fail) {
		b.Errorf("purge = %d, %v with outcome %s; want 1000 and unknown", n, err, e.Outcome)
	}
	if n, err = b.engine.Purge(b.Context(), ref, engine.Filter{Group: new("g")}); n != 500 || err != nil {
		b.Errorf("purge again = %d, %v; want 500", n, err)
	}
}

// releaseGivesBackEverything holds more than the store gives back at a time, and has the configuration change meanwhile.
func releaseGivesBackEverything(b *bundle) {
	b.put(ref)
	b.sendMany(ref, "", 2200)
	for range 3 {
		req := engine.ReceiveRequest{Max: engine.MaxBatch, Consumer: "worker-7", Wait: new(time.Duration)}
		if _, err := b.engine.Receive(b.Context(), ref, req); err != nil {
			b.Fatal(err)
		}
	}
	b.wantCounts(ref, engine.Counts{Leased: 2200})
	b.store.beforeSettle.set(func() error {
		b.store.beforeSettle.set(func() error {
			b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour })
			return nil
		})
		return nil
	})
	n, err := b.engine.Release(b.Context(), ref, "worker-7")
	if n != 2200 || err != nil {
		b.Errorf("release = %d, %v; want 2200", n, err)
	}
	b.wantCounts(ref, engine.Counts{Ready: 2200})
}

// groupsThatAreFreedWakeWaiters locks a group with a message that its consumer keeps, in each way to free it.
func groupsThatAreFreedWakeWaiters(b *bundle) {
	free := map[string]func(engine.MessageID) error{
		"remove": func(id engine.MessageID) error { return b.engine.Remove(b.Context(), fifo, id) },
		"skip": func(engine.MessageID) error {
			_, err := b.engine.SkipGroup(b.Context(), fifo, "g")
			return err
		},
		"release": func(engine.MessageID) error {
			_, err := b.engine.Release(b.Context(), fifo, "keeper")
			return err
		},
		"purge": func(engine.MessageID) error {
			_, err := b.engine.Purge(b.Context(), fifo, engine.Filter{States: []engine.State{engine.StateLeased}})
			return err
		},
	}
	b.put(fifo, isFIFO)
	for name, free := range free {
		b.sendMany(fifo, "g", 2)
		req := engine.ReceiveRequest{Consumer: "keeper", Wait: new(time.Duration)}
		held, err := b.engine.Receive(b.Context(), fifo, req)
		if err != nil || len(held.Messages) != 1 {
			b.Fatalf("%s: receive = %v", name, err)
		}
		w := b.wait(fifo, time.Minute)
		b.advance(time.Second)
		if err := free(held.Messages[0].ID); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		want := "1"
		if name == "release" {
			want = "0"
		}
		w.want(time.Second, want)
		if _, err := b.engine.PurgeGroup(b.Context(), fifo, "g"); err != nil {
			b.Fatal(err)
		}
	}
}

// aLargeGroupIsDeadLettered is larger than what one call of the store makes dead or moves. A group beside it goes on.
func aLargeGroupIsDeadLettered(b *bundle) {
	grave := named("grave.fifo")
	b.put(grave, isFIFO)
	b.put(fifo, isFIFO, deadLetters(grave.Name, 0))
	b.sendMany(fifo, "large", 2500)
	b.sendMany(fifo, "small", 1)
	b.one(fifo)
	n, err := b.engine.DeadLetterGroup(b.Context(), fifo, "large", "no use")
	if n != 2500 || err != nil {
		b.Fatalf("dead-letter the group = %d, %v; want 2500", n, err)
	}
	synctest.Wait()
	b.wantCounts(fifo, engine.Counts{Ready: 1})
	b.wantCounts(grave, engine.Counts{Ready: 2500})
	groups, err := b.engine.Groups(b.Context(), grave, nil, 10)
	if err != nil || len(groups) != 1 || groups[0].Name != "large" || groups[0].Ready != 2500 {
		b.Errorf("groups of %s = %+v, %v; want large with 2500", grave, groups, err)
	}
	got := b.receive(grave, engine.MaxBatch)
	for i := range got.Messages {
		if want := fmt.Sprint(i); string(got.Messages[i].Body) != want || got.Messages[i].Origin.Reason != "no use" {
			b.Fatalf("dead letter %d = %q for %q, want %q for no use", i, got.Messages[i].Body, got.Messages[i].Origin.Reason, want)
		}
	}
}

// roomThatIsMadeLetsSendsGoOn fills a queue whose sends wait for room.
func roomThatIsMadeLetsSendsGoOn(b *bundle) {
	b.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow, c.Wait = 1, engine.OverflowBlock, time.Minute
	})
	held := b.send(ref, "first")[0]
	for _, tc := range []struct {
		how  string
		make func() error
	}{
		{"remove", func() error { return b.engine.Remove(b.Context(), ref, held) }},
		{"purge", func() error {
			_, err := b.engine.Purge(b.Context(), ref, engine.Filter{})
			return err
		}},
	} {
		begun, sent := time.Now(), make(chan struct{})
		var took time.Duration
		go func() {
			defer close(sent)
			b.send(ref, "next")
			took = time.Since(begun)
		}()
		synctest.Wait()
		if err := tc.make(); err != nil {
			b.Fatalf("%s: %v", tc.how, err)
		}
		<-sent
		if took != 0 {
			b.Errorf("the send went on %v after the %s, want at once", took, tc.how)
		}
	}
	if diff := cmp.Diff(engine.Counts{Ready: 1}, b.counts(ref)); diff != "" {
		b.Errorf("counts (-want +got):\n%s", diff)
	}
}
