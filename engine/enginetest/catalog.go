package enginetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

func changeOfConfigurationDisturbsNoCall(b *bundle) {
	b.put(ref)
	var finished atomic.Bool
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for !finished.Load() {
				b.send(ref, "m")
				for _, d := range b.receive(ref, 10).Messages {
					b.ack(ref, d.Receipt)
				}
			}
		})
	}
	for i := range 200 {
		b.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Hour + time.Duration(i)*time.Second })
	}
	finished.Store(true)
	done.Wait()
	for _, d := range b.receive(ref, 1000).Messages {
		b.ack(ref, d.Receipt)
	}
	b.wantCounts(ref, engine.Counts{})
}

// eachCallFollowsAChange has the configuration change while a call is on its way to the store.
func eachCallFollowsAChange(b *bundle) {
	b.put(ref)
	n := time.Hour
	change := func() error {
		n += time.Second
		b.put(ref, func(c *engine.QueueConfig) { c.Visibility = n })
		return nil
	}
	b.store.beforeSend.set(change)
	b.send(ref, "acked", "nacked", "undone")
	b.store.beforeClaim.set(change)
	acked := b.one(ref)
	if got := time.Until(acked.Lease.ExpiresAt); got != n {
		b.Errorf("lease taken during the change lasts %v, want the new %v", got, n)
	}
	b.store.beforeSettle.set(change)
	b.ack(ref, acked.Receipt)
	nacked := b.one(ref)
	b.store.beforeSettle.set(change)
	b.nack(ref, nacked.Receipt, time.Minute)
	got := b.receive(ref, 1)
	b.store.beforeSettle.set(change)
	b.extend(ref, got.Messages[0].Receipt, time.Minute)
	b.store.beforeSettle.set(change)
	if err := got.Undo(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1, Delayed: 1})
}

// deleteLosesNoAcceptedMessage sends to a queue that someone keeps trying to delete. What was accepted must be there
// to be received, since a queue with messages is not deleted.
func deleteLosesNoAcceptedMessage(b *bundle) {
	b.put(ref)
	var finished atomic.Bool
	var deleted atomic.Int64
	var done sync.WaitGroup
	done.Go(func() {
		for !finished.Load() {
			if b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, false) == nil {
				deleted.Add(1)
				b.put(ref)
			}
		}
	})
	for deleted.Load() < 50 {
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
		if err != nil {
			if code := engine.ErrorOf(err).Code; code != engine.CodeNotFound && code != engine.CodeUnavailable {
				b.Fatalf("send: %v", err)
			}
			continue
		}
		b.ack(ref, b.one(ref).Receipt)
	}
	finished.Store(true)
	done.Wait()
}

func settingsThatDidNotArriveAreRepeated(b *bundle) {
	failure := func() error { return errors.New("some failure") }
	b.store.beforeConfig.set(failure)
	_, _, err := b.engine.PutQueue(b.Context(), ref, engine.DefaultConfig(), engine.Condition{})
	if err == nil || engine.ErrorOf(err).Outcome != engine.Unknown {
		b.Errorf("put whose second half failed: got %v, want an unknown outcome", err)
	}
	b.send(ref, "m")

	// A change, and then a restart before anybody notices.
	b.store.beforeConfig.set(failure)
	_, _, err = b.engine.PutQueue(b.Context(), ref, configWith(deadLetters("", 1)), engine.Condition{})
	b.wantCode(err, engine.CodeUnavailable)
	b.restart()
	b.nack(ref, b.one(ref).Receipt, 0)
	b.wantCounts(ref, engine.Counts{Dead: 1})
}

// aChangeThatCannotBeShownIsApplied has the counts fail that are the answer to a change.
func aChangeThatCannotBeShownIsApplied(b *bundle) {
	changes := map[string]func() error{
		"put": func() error {
			_, _, err := b.engine.PutQueue(b.Context(), ref, engine.DefaultConfig(), engine.Condition{})
			return err
		},
		"pause": func() error {
			_, err := b.engine.PauseQueue(b.Context(), ref, true, false, time.Time{})
			return err
		},
	}
	for _, name := range []string{"put", "pause"} {
		b.store.beforeStats.set(func() error { return fmt.Errorf("some failure: %w", store.ErrClosed) })
		if err := changes[name](); err == nil || engine.ErrorOf(err).Outcome != engine.Applied {
			b.Errorf("%s whose counts fail: got %v, want applied", name, err)
		}
	}
	got, err := b.engine.Queue(b.Context(), ref)
	if err != nil || !got.Paused.Produce {
		b.Errorf("the queue after that: got %v, %v, want it paused for sends", got.Paused, err)
	}
}

func generationsNobodyKnowsAreDropped(b *bundle) {
	b.put(ref)
	b.put(named("other"))
	b.store.beforeDrop.set(func() error { return errors.New("some failure") })
	err := b.engine.DeleteQueue(b.Context(), ref, engine.Condition{}, true)
	if err == nil || engine.ErrorOf(err).Outcome != engine.Applied {
		b.Errorf("delete whose second half failed: got %v, want applied", err)
	}
	_, err = b.engine.Queue(b.Context(), ref)
	b.wantCode(err, engine.CodeNotFound)
	b.wantGenerations(2)
	b.restart()
	b.wantGenerations(1)
	b.send(named("other"), "m")
}

func (b *bundle) wantGenerations(want int) {
	b.Helper()
	ids, err := b.store.Queues(b.Context(), 0, 10)
	if err != nil || len(ids) != want {
		b.Errorf("generations in the store: got %v, %v, want %d", ids, err, want)
	}
}

func eTagGuardsChanges(b *bundle) {
	old := b.put(ref)
	same := b.put(ref)
	if same.ETag != old.ETag {
		b.Errorf("putting the same configuration changed the ETag from %s to %s", old.ETag, same.ETag)
	}
	change := func(c engine.QueueConfig) (engine.QueueConfig, error) {
		c.Delay += time.Second
		return c, nil
	}
	changed, err := b.engine.ChangeQueue(b.Context(), ref, engine.Condition{Match: old.ETag}, change)
	if err != nil || changed.ETag == old.ETag || changed.Config.Delay != time.Second {
		b.Fatalf("change with the present ETag: got %+v, %v", changed, err)
	}
	_, err = b.engine.ChangeQueue(b.Context(), ref, engine.Condition{Match: old.ETag}, change)
	b.wantCode(err, engine.CodeConflict)
	_, _, err = b.engine.PutQueue(b.Context(), ref, engine.DefaultConfig(), engine.Condition{Match: old.ETag})
	b.wantCode(err, engine.CodeConflict)

	mine := errors.New("my own")
	_, err = b.engine.ChangeQueue(b.Context(), ref, engine.Condition{}, func(c engine.QueueConfig) (engine.QueueConfig, error) { return c, mine })
	if !errors.Is(err, mine) {
		b.Errorf("error of the change function: got %v, want it as it is", err)
	}

	// The configuration shown is a copy.
	tagged := b.put(ref, func(c *engine.QueueConfig) { c.Tags = map[string]string{"k": "v"} })
	tagged.Config.Tags["k"] = "changed"
	shown, err := b.engine.Queue(b.Context(), ref)
	if err != nil || shown.Config.Tags["k"] != "v" {
		b.Errorf("tags after their copy was changed: got %v, %v", shown.Config.Tags, err)
	}
}

func eventsTellWhatHappened(b *bundle) {
	var mu sync.Mutex
	got := make(map[string]int)
	note := func(what string) func(engine.Ref, int) {
		return func(q engine.Ref, n int) {
			mu.Lock()
			defer mu.Unlock()
			got[what+" "+q.Name] += n
		}
	}
	sized := func(what string) func(engine.Ref, int, int64) {
		return func(q engine.Ref, n int, bytes int64) {
			note(what)(q, n)
			note(what+" bytes")(q, int(bytes))
		}
	}
	once := func(what string) func(engine.Ref) { return func(q engine.Ref) { note(what)(q, 1) } }
	b.events = engine.Events{
		Sent: sized("sent"), Received: sized("received"), Duplicate: once("duplicate"), Undone: note("undone"),
		Acked: note("acked"), Nacked: note("nacked"), Extended: note("extended"), LeaseLost: note("lost"),
		Died: note("died"), Expired: note("expired"), Configured: once("configured"), Deleted: once("deleted"),
		DeadLettered: func(q, to engine.Ref, n int) { note("to "+to.Name+" from")(q, n) },
		Waiting:      func(delta int) { note("waiting")(engine.Ref{}, delta) },
	}
	b.restart()

	grave := named("grave")
	b.put(grave, func(c *engine.QueueConfig) { c.Retention = time.Minute })
	b.put(ref, deadLetters("grave", 1))
	b.send(ref, "acked", "nacked", "undone")
	req := engine.SendRequest{Messages: []engine.Message{{Body: []byte("once")}}, Key: &engine.IdempotencyKey{Key: "k"}}
	for range 2 {
		if _, err := b.engine.Send(b.Context(), ref, req); err != nil {
			b.Fatal(err)
		}
	}
	b.ack(ref, b.one(ref).Receipt)
	d := b.one(ref)
	b.extend(ref, d.Receipt, time.Hour)
	b.nack(ref, d.Receipt, 0)
	if _, err := b.engine.Ack(b.Context(), ref, []string{d.Receipt}, ""); err != nil {
		b.Fatal(err)
	}
	if _, err := b.engine.Extend(b.Context(), ref, []engine.ExtendItem{{Receipt: d.Receipt}}, ""); err != nil {
		b.Fatal(err)
	}
	if err := b.receive(ref, 1).Undo(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.wait(grave, time.Second).want(0, "nacked")
	w := b.wait(grave, time.Second)
	mu.Lock()
	if got["waiting "] != 1 {
		b.Errorf("one waits, the events say %d", got["waiting "])
	}
	mu.Unlock()
	w.want(time.Second)
	b.advance(2 * time.Minute)
	if err := b.engine.DeleteQueue(b.Context(), grave, engine.Condition{}, true); err != nil {
		b.Fatal(err)
	}
	synctest.Wait()

	want := map[string]int{
		"configured work": 1, "configured grave": 1, "deleted grave": 1,
		"sent work": 4, "sent bytes work": len("ackednackedundoneonce"), "duplicate work": 1,
		"received work": 3, "received bytes work": len("ackednackedundone"),
		"received grave": 1, "received bytes grave": len("nacked"),
		"acked work": 1, "nacked work": 1, "extended work": 1, "lost work": 2, "undone work": 1,
		"died work": 1, "to grave from work": 1, "expired grave": 1, "waiting ": 0,
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("events (-want +got):\n%s", diff)
	}
}

// janitorTriesAgain has the move of a dead message and the sweep after it fail.
func janitorTriesAgain(b *bundle) {
	var failed atomic.Int64
	b.events = engine.Events{JanitorFailed: func(engine.Ref, error) { failed.Add(1) }}
	b.restart()
	b.put(named("grave"))
	b.put(ref, deadLetters("grave", 1))
	b.send(ref, "m")
	synctest.Wait() // for the janitor's visit to the new queues
	failure := func() error { return errors.New("some failure") }
	b.store.beforeMove.set(failure)
	b.store.beforeSweep.set(failure)
	b.nack(ref, b.one(ref).Receipt, 0)
	b.wantCounts(ref, engine.Counts{Dead: 1})
	b.advance(2 * time.Second)
	b.wantCounts(ref, engine.Counts{})
	b.wantCounts(named("grave"), engine.Counts{Ready: 1})
	if n := failed.Load(); n != 2 {
		b.Errorf("%d failures were told of, want 2", n)
	}
}

func tenantsDoNotMix(b *bundle) {
	tenants := []string{"a", "a/b", "a%2Fb", "b"}
	for _, t := range tenants {
		q := engine.Ref{Tenant: t, Name: "q"}
		b.put(q)
		b.send(q, t)
	}
	b.restart()
	for _, t := range tenants {
		page, err := b.engine.Queues(b.Context(), t, "", "", 10, nil)
		if err != nil || len(page) != 1 || page[0].Ref.Tenant != t {
			b.Errorf("queues of tenant %q: got %v, %v", t, page, err)
		}
		d := b.one(engine.Ref{Tenant: t, Name: "q"})
		if got := string(d.Body); got != t {
			b.Errorf("tenant %q received the message of %q", t, got)
		}
		for _, other := range tenants {
			if other == t {
				continue
			}
			res, err := b.engine.Ack(b.Context(), engine.Ref{Tenant: other, Name: "q"}, []string{d.Receipt}, "")
			if err != nil {
				b.Fatal(err)
			}
			if res[0].Err == nil || res[0].Err.Code != engine.CodeReceiptInvalid {
				b.Errorf("tenant %q acked with the receipt of %q: got %v", other, t, res[0].Err)
			}
		}
	}
	b.wantAll(len(tenants))
}

// manyQueuesOpen has more of them than one page of a listing.
func manyQueuesOpen(b *bundle) {
	const queues, workers = 1500, 30
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := w; i < queues; i += workers {
				b.put(named(fmt.Sprintf("q%04d", i)), deadLetters("grave", 3))
			}
		})
	}
	done.Wait()
	b.restart()
	page, err := b.engine.Queues(b.Context(), tenant, "q", "q1489", 100, nil)
	if err != nil || len(page) != 10 {
		b.Errorf("last page of %d queues: got %d queues, %v, want 10", queues, len(page), err)
	}
	b.wantAll(queues)
	b.send(named("q0750"), "m")
}
