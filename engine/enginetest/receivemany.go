package enginetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// receive-many queue… [weights=2:1] [as receive]: messages of several queues.
func (s *session) receiveMany(c command) string {
	return s.receivedMany(s.engine.ReceiveMany(s.Context(), s.receiveManyRequest(c)))
}

// wait-many queue… as=name […as receive-many]: the same in the background.
func (s *session) waitMany(c command) string {
	req := s.receiveManyRequest(c)
	s.background(c.value("as"), func(ctx context.Context) func() string {
		got, err := s.engine.ReceiveMany(ctx, req)
		return func() string { return s.receivedMany(got, err) }
	})
	return ""
}

func (s *session) receiveManyRequest(c command) engine.ReceiveManyRequest {
	req := engine.ReceiveManyRequest{ReceiveRequest: s.receiveRequest(c)}
	for i := range c.words {
		one := c
		one.words = c.words[i:]
		req.Queues = append(req.Queues, s.ref(one))
	}
	for text := range strings.SplitSeq(c.value("weights"), ":") {
		if n, err := strconv.Atoi(text); err == nil {
			req.Weights = append(req.Weights, n)
		}
	}
	return req
}

func (s *session) receivedMany(got *engine.ReceivedMany, err error) string {
	if err != nil {
		return problem(err)
	}
	s.lastMany = got
	if len(got.Parts) == 0 {
		return "nothing"
	}
	var out strings.Builder
	for _, part := range got.Parts {
		fmt.Fprintf(&out, "of %s:\n%s", part.Ref().Name, s.received(part, nil))
	}
	return out.String()
}

// undo-many: the client of the last receive-many did not get its answer.
func (s *session) undoMany(command) string {
	if err := s.lastMany.Undo(s.Context()); err != nil {
		return problem(err)
	}
	return ""
}

// another is a second engine on the same store, as another node would be.
func (b *bundle) another() *engine.Engine {
	b.Helper()
	e, err := engine.Open(b.Context(), deaf{b.store}, engine.Options{Now: b.now, Rand: rand.Reader})
	if err != nil {
		b.Fatalf("open another engine: %v", err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Errorf("close another engine: %v", err)
		}
	})
	return e
}

// manyWaiter is a receive from several queues in the background.
type manyWaiter struct {
	*waiter
	// from are the queues of the messages.
	from []string
}

// waitMany starts a receive of one message of any of the queues, and returns when it waits.
func (b *bundle) waitMany(d time.Duration, queues ...engine.Ref) *manyWaiter {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	w := &manyWaiter{waiter: &waiter{b: b, hangUp: cancel, begun: time.Now(), done: make(chan struct{})}}
	go func() {
		defer close(w.done)
		got, err := b.engine.ReceiveMany(ctx, engine.ReceiveManyRequest{
			Queues: queues, ReceiveRequest: engine.ReceiveRequest{Wait: &d},
		})
		w.took, w.err = time.Since(w.begun), err
		if err != nil {
			return
		}
		for _, part := range got.Parts {
			w.from = append(w.from, part.Ref().Name)
			w.messages = append(w.messages, part.Messages...)
		}
	}()
	b.Cleanup(cancel)
	synctest.Wait()
	return w
}

// three makes queues.
func (b *bundle) three() (x, y, z engine.Ref) {
	x, y, z = named("x"), named("y"), named("z")
	for _, q := range []engine.Ref{x, y, z} {
		b.put(q)
	}
	return x, y, z
}

func manyAreWokenByAnyQueue(b *bundle) {
	x, y, z := b.three()
	for _, q := range []engine.Ref{x, y, z} {
		w := b.waitMany(time.Minute, x, y, z)
		b.advance(3 * time.Second)
		b.send(q, "m")
		w.want(3*time.Second, "m")
		if len(w.from) != 1 || w.from[0] != q.Name {
			b.Errorf("message sent to %s came from %v", q.Name, w.from)
		}
		b.ack(q, w.messages[0].Receipt)
	}
	w := b.waitMany(time.Minute, x, y, z)
	w.want(time.Minute)
}

func manyAreWokenByTime(b *bundle) {
	x, y, z := b.three()
	in := 20 * time.Second
	if _, err := b.engine.Send(b.Context(), y, engine.SendRequest{Messages: []engine.Message{{Delay: &in}}}); err != nil {
		b.Fatal(err)
	}
	b.send(z, "leased")
	b.one(z)
	first, second := b.waitMany(time.Minute, x, y, z), b.waitMany(time.Minute, z, y, x)
	order := b.byAnswer(first.waiter, second.waiter)
	order[0].want(20*time.Second, "")
	order[1].want(30*time.Second, "leased")
}

// manyKeepTheirPlace has one line wake a receive for nothing. In the other line it stays before those who came later, and
// behind those who came earlier.
func manyKeepTheirPlace(b *bundle) {
	x, y, _ := b.three()
	earlier := b.wait(y, time.Minute)
	many := b.waitMany(time.Minute, x, y)
	later := b.wait(y, time.Minute)
	for i := range 3 {
		b.put(x, func(c *engine.QueueConfig) { c.Visibility = time.Duration(i+1) * time.Hour }) // a signal without a message
		synctest.Wait()
	}
	b.send(y, "a")
	earlier.want(0, "a")
	b.send(y, "b")
	many.want(0, "b")
	b.send(y, "c")
	later.want(0, "c")
}

// wakeOfTheOtherQueueIsHandedOn has a receive woken by one queue while it takes the message of another.
func wakeOfTheOtherQueueIsHandedOn(b *bundle) {
	x, y, _ := b.three()
	many := b.waitMany(time.Minute, x, y)
	other := b.wait(y, time.Minute)
	b.store.beforeClaim.set(func() error { b.send(y, "b"); return nil })
	b.send(x, "a")
	many.want(0, "a")
	other.want(0, "b")
}

func wakeOfManyThatFailIsHandedOn(b *bundle) {
	x, y, _ := b.three()
	many := b.waitMany(time.Minute, x, y)
	other := b.wait(y, time.Minute)
	b.store.beforeClaim.set(func() error { return errors.New("some failure") })
	b.send(y, "m")
	other.want(0, "m")
	<-many.done
	b.wantCode(many.err, engine.CodeUnavailable)
}

func manyThatHangUpLeaseNothing(b *bundle) {
	x, y, z := b.three()
	many := b.waitMany(time.Minute, x, y, z)
	other := b.wait(z, time.Minute)
	// It is woken, and its client goes away while it asks the store.
	b.store.afterClaim.set(func() error { many.hangUp(); return nil })
	b.send(z, "m")
	other.want(0, "m")
	<-many.done
	if !errors.Is(many.err, context.Canceled) || other.messages[0].Receives != 1 {
		b.Errorf("hung up: got %v, then receives %d, want context.Canceled and 1", many.err, other.messages[0].Receives)
	}
	idle := b.waitMany(time.Minute, x, y, z)
	idle.hangUp()
	<-idle.done
	b.send(x, "n")
	synctest.Wait()
	b.wantCounts(x, engine.Counts{Ready: 1})
}

func manyUndoAllTheirQueues(b *bundle) {
	x, y, z := b.three()
	b.send(x, "a")
	b.send(z, "b", "c")
	got, err := b.engine.ReceiveMany(b.Context(), engine.ReceiveManyRequest{
		Queues: []engine.Ref{x, y, z}, ReceiveRequest: engine.ReceiveRequest{Max: 10},
	})
	if err != nil || len(got.Parts) != 2 {
		b.Fatalf("receive from three: got %+v, %v, want two parts", got, err)
	}
	if err := got.Undo(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.wantCounts(x, engine.Counts{Ready: 1})
	b.wantCounts(z, engine.Counts{Ready: 2})
	if n := b.one(z).Receives; n != 1 {
		b.Errorf("receives after an undone delivery: got %d, want 1", n)
	}
}

func manyAreToldOfADeletedQueue(b *bundle) {
	x, y, _ := b.three()
	w := b.waitMany(time.Minute, x, y)
	if err := b.engine.DeleteQueue(b.Context(), y, engine.Condition{}, false); err != nil {
		b.Fatal(err)
	}
	<-w.done
	b.wantCode(w.err, engine.CodeNotFound)
	if field := engine.ErrorOf(w.err).Field; field != "queues[1]" {
		b.Errorf("field of the refusal: got %q, want queues[1]", field)
	}
}

func manyFollowAQueueThatIsMadeAgain(b *bundle) {
	x, y, _ := b.three()
	w := b.waitMany(time.Minute, x, y)
	// It tries again after the deletion, and finds the queue made again by then.
	b.store.beforeClaim.set(func() error { b.put(y); return nil })
	if err := b.engine.DeleteQueue(b.Context(), y, engine.Condition{}, false); err != nil {
		b.Fatal(err)
	}
	b.advance(time.Second)
	b.send(y, "m")
	w.want(time.Second, "m")
}

func drainAnswersMany(b *bundle) {
	x, y, z := b.three()
	w := b.waitMany(time.Minute, x, y, z)
	b.advance(time.Second)
	b.engine.Drain()
	w.want(time.Second)
	b.waitMany(time.Minute, x, y).want(0)
}

func manyWaitAsLongAsTheirQueues(b *bundle) {
	x, y, _ := b.three()
	b.put(y, func(c *engine.QueueConfig) { c.Wait = 20 * time.Second })
	begun := time.Now()
	got, err := b.engine.ReceiveMany(b.Context(), engine.ReceiveManyRequest{Queues: []engine.Ref{x, y}})
	if took := time.Since(begun); err != nil || len(got.Parts) != 0 || took != 20*time.Second {
		b.Errorf("receive without a wait of its own: got %+v, %v after %v, want nothing after 20s", got, err, took)
	}
}

func manyAnswersAreBoundedInBytes(b *bundle) {
	x, y, z := b.three()
	large := func(c *engine.QueueConfig) { c.MaxMessageBytes = engine.MaxAnswerBytes }
	b.put(x, large)
	b.put(y, large)
	b.send(x, strings.Repeat("x", 1<<20))
	b.send(y, strings.Repeat("y", engine.MaxAnswerBytes))
	b.send(z, "z")
	got, err := b.engine.ReceiveMany(b.Context(), engine.ReceiveManyRequest{
		Queues: []engine.Ref{x, y, z}, ReceiveRequest: engine.ReceiveRequest{Max: 10},
	})
	if err != nil || len(got.Parts) != 1 || got.Parts[0].Ref() != x {
		b.Errorf("receive with room for x alone: got %d parts, %v, want that of x", len(got.Parts), err)
	}
}

// failureOfALaterQueueLosesNothing has the second queue fail when the first has given messages.
func failureOfALaterQueueLosesNothing(b *bundle) {
	x, y, _ := b.three()
	b.send(x, "a")
	b.send(y, "b")
	b.store.afterClaim.set(func() error { b.store.beforeClaim.set(func() error { return errors.New("some failure") }); return nil })
	got, err := b.engine.ReceiveMany(b.Context(), engine.ReceiveManyRequest{
		Queues: []engine.Ref{x, y}, ReceiveRequest: engine.ReceiveRequest{Max: 10},
	})
	if err != nil || len(got.Parts) != 1 || string(got.Parts[0].Messages[0].Body) != "a" {
		b.Errorf("receive with a second queue that fails: got %+v, %v, want the message of the first", got, err)
	}
	b.wantCounts(y, engine.Counts{Ready: 1})
}

// noSignalIsLostInSeveralLines has receivers with one queue and with several, some of which hang up, and a sender that
// sends one message after the other. The clock stands still as long as anyone can go on, so a signal that was lost shows
// in the time that passes until the message is delivered all the same.
func noSignalIsLostInSeveralLines(b *bundle) {
	const queues, receivers, messages = 4, 12, 1500
	seed := mathrand.Uint64()
	b.Logf("seed %d", seed)
	var all []engine.Ref
	for i := range queues {
		q := named(fmt.Sprint("q", i))
		all = append(all, q)
		b.put(q)
	}
	ctx, stop := context.WithCancel(b.Context())
	taken := make(chan engine.Ref)
	var busy sync.WaitGroup
	var hungUp atomic.Int64
	for i := range receivers {
		rnd := mathrand.New(mathrand.NewPCG(seed, uint64(i)))
		busy.Go(func() {
			for ctx.Err() == nil {
				order := rnd.Perm(queues)
				if i > 2 { // the first ones see to it that there is someone for each queue
					order = order[:1+rnd.IntN(queues)]
				}
				req := engine.ReceiveManyRequest{ReceiveRequest: engine.ReceiveRequest{Wait: new(time.Hour)}}
				for _, n := range order {
					req.Queues = append(req.Queues, all[n])
				}
				mine, hangUp := context.WithCancel(ctx)
				if rnd.IntN(2) == 0 {
					moments := rnd.IntN(50)
					busy.Go(func() { // now or a moment later, beside what the sender does
						for range moments {
							runtime.Gosched()
						}
						hangUp()
						hungUp.Add(1)
					})
				}
				got, err := b.engine.ReceiveMany(mine, req)
				hangUp()
				if err != nil {
					continue
				}
				for _, part := range got.Parts {
					for j := range part.Messages {
						b.ack(part.Ref(), part.Messages[j].Receipt)
						taken <- part.Ref()
					}
				}
			}
		})
	}
	rnd := mathrand.New(mathrand.NewPCG(seed, receivers))
	begun := time.Now()
	for n := range messages {
		q := all[rnd.IntN(queues)]
		b.send(q, "m")
		if got := <-taken; got != q {
			b.Fatalf("message %d was sent to %s and taken from %s", n, q, got)
		}
		if took := time.Since(begun); took != 0 {
			b.Fatalf("message %d, sent to %s, was taken after %v only", n, q, took)
		}
	}
	stop()
	busy.Wait()
	b.Logf("%d receives were hung up on", hungUp.Load())
}
