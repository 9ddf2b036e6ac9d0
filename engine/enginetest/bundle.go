package enginetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// ref is the queue most tests use.
var ref = engine.Ref{Tenant: tenant, Name: "work"}

// named is another queue of the same tenant.
func named(name string) engine.Ref { return engine.Ref{Tenant: tenant, Name: name} }

// put creates or replaces a queue with the default configuration, changed by the given functions.
func (b *bundle) put(q engine.Ref, changes ...func(*engine.QueueConfig)) engine.Queue {
	b.Helper()
	shown, _, err := b.engine.PutQueue(b.Context(), q, configWith(changes...), engine.Condition{})
	if err != nil {
		b.Fatalf("put %s: %v", q, err)
	}
	return shown
}

// configWith is the default configuration with changes.
func configWith(changes ...func(*engine.QueueConfig)) engine.QueueConfig {
	cfg := engine.DefaultConfig()
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

// deadLetters makes messages die after so many deliveries and go to a queue.
func deadLetters(to string, maxReceives uint32) func(*engine.QueueConfig) {
	return func(c *engine.QueueConfig) {
		c.Retry = engine.Retry{Policy: engine.RetryNone, Jitter: engine.JitterNone, MaxReceives: maxReceives}
		c.DeadLetter.Queue = to
	}
}

func (b *bundle) send(q engine.Ref, bodies ...string) []engine.MessageID {
	b.Helper()
	var req engine.SendRequest
	for _, body := range bodies {
		req.Messages = append(req.Messages, engine.Message{Body: []byte(body)})
	}
	answer, err := b.engine.Send(b.Context(), q, req)
	if err != nil {
		b.Fatalf("send %q to %s: %v", bodies, q, err)
	}
	var ids []engine.MessageID
	for i, o := range answer.Outcomes {
		if o.Err != nil {
			b.Fatalf("send %q to %s: %v", bodies[i], q, o.Err)
		}
		ids = append(ids, o.ID)
	}
	return ids
}

// receive takes up to most messages and does not wait.
func (b *bundle) receive(q engine.Ref, most int) *engine.Received {
	b.Helper()
	got, err := b.engine.Receive(b.Context(), q, engine.ReceiveRequest{Max: most, Wait: new(time.Duration)})
	if err != nil {
		b.Fatalf("receive from %s: %v", q, err)
	}
	return got
}

// one receives exactly one message.
func (b *bundle) one(q engine.Ref) engine.Delivery {
	b.Helper()
	got := b.receive(q, 1)
	if len(got.Messages) != 1 {
		b.Fatalf("receive from %s: got nothing, want a message", q)
	}
	return got.Messages[0]
}

func (b *bundle) ack(q engine.Ref, receipts ...string) {
	b.Helper()
	b.settled(b.engine.Ack(b.Context(), q, receipts, ""))
}

// nack gives a delivery back after a delay, or as the retry policy says if it is negative.
func (b *bundle) nack(q engine.Ref, receipt string, delay time.Duration) {
	b.Helper()
	item := engine.NackItem{Receipt: receipt, Delay: &delay}
	if delay < 0 {
		item.Delay = nil
	}
	b.settled(b.engine.Nack(b.Context(), q, []engine.NackItem{item}, ""))
}

func (b *bundle) extend(q engine.Ref, receipt string, visibility time.Duration) {
	b.Helper()
	b.settled(b.engine.Extend(b.Context(), q, []engine.ExtendItem{{Receipt: receipt, Visibility: visibility}}, ""))
}

func (b *bundle) settled(all []engine.ItemResult, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	for i, r := range all {
		if r.Err != nil {
			b.Fatalf("item %d: %v", i, r.Err)
		}
	}
}

// counts are shown without the bytes.
func (b *bundle) counts(q engine.Ref) engine.Counts {
	b.Helper()
	shown, err := b.engine.Queue(b.Context(), q)
	if err != nil {
		b.Fatalf("count %s: %v", q, err)
	}
	shown.Counts.Bytes = 0
	return shown.Counts
}

func (b *bundle) wantCounts(q engine.Ref, want engine.Counts) {
	b.Helper()
	if got := b.counts(q); got != want {
		b.Errorf("counts of %s: got %+v, want %+v", q, got, want)
	}
}

// waiter is a receive in the background.
type waiter struct {
	b      *bundle
	hangUp context.CancelFunc
	begun  time.Time
	done   chan struct{}

	// Set before done is closed.
	messages []engine.Delivery
	err      error
	took     time.Duration
}

// wait starts a receive of one message that waits so long, and returns when it does wait.
func (b *bundle) wait(q engine.Ref, d time.Duration) *waiter {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	w := &waiter{b: b, hangUp: cancel, begun: time.Now(), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		got, err := b.engine.Receive(ctx, q, engine.ReceiveRequest{Wait: &d})
		w.took, w.err = time.Since(w.begun), err
		if err == nil {
			w.messages = got.Messages
		}
	}()
	b.Cleanup(cancel)
	synctest.Wait()
	return w
}

// want waits for the answer and checks its bodies and how long it took.
func (w *waiter) want(took time.Duration, bodies ...string) {
	w.b.Helper()
	w.wantWithin(took, took, bodies...)
}

// wantWithin is want where the time depends on when the engine happens to look again by itself.
func (w *waiter) wantWithin(least, most time.Duration, bodies ...string) {
	w.b.Helper()
	<-w.done
	if w.err != nil {
		w.b.Fatalf("waiting receive: %v", w.err)
	}
	got := make([]string, len(w.messages))
	for i := range w.messages {
		got[i] = string(w.messages[i].Body)
	}
	if a, b := strings.Join(got, ","), strings.Join(bodies, ","); a != b || w.took < least || w.took > most {
		w.b.Errorf("waiting receive: got %q after %v, want %q after %v to %v", a, w.took, b, least, most)
	}
}

// wantEach waits for all answers and checks that each has one of the bodies, whichever has which, and how long it took.
func wantEach(took time.Duration, bodies []string, waiters ...*waiter) {
	var got []string
	for _, w := range waiters {
		w.b.Helper()
		<-w.done
		if w.err != nil || w.took != took {
			w.b.Errorf("waiting receive: got %v after %v, want success after %v", w.err, w.took, took)
		}
		for i := range w.messages {
			got = append(got, string(w.messages[i].Body))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, bodies) {
		waiters[0].b.Errorf("waiting receives: got %q, want %q", got, bodies)
	}
}

// byAnswer gives waiters in the order in which they entered the line or, on a store that is [Echoing], in which they were
// answered.
func (b *bundle) byAnswer(all ...*waiter) []*waiter {
	if !b.echoing {
		return all
	}
	for _, w := range all {
		<-w.done
	}
	slices.SortStableFunc(all, func(x, y *waiter) int { return cmp.Compare(x.took, y.took) })
	return all
}

// wantCode checks that an error has a code.
func (b *bundle) wantCode(err error, want engine.Code) {
	b.Helper()
	if err == nil || engine.ErrorOf(err).Code != want {
		b.Errorf("got error %v, want code %s", err, want)
	}
}
