package enginetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// inCopies makes changes of a queue wait for at least so many copies.
func inCopies(least uint32) func(*engine.QueueConfig) {
	return func(c *engine.QueueConfig) { c.Acks, c.MinInsyncReplicas = engine.AcksAll, least }
}

// copiesAreAskedFor has each call that changes messages made with each choice, in a queue and a topic of each kind.
func copiesAreAskedFor(b *bundle) {
	b.store.replicated.Store(true)
	for configured, byDefault := range map[engine.Acks]store.Acks{engine.AcksLeader: {}, engine.AcksAll: {All: true, Min: 2}} {
		b.put(ref, func(c *engine.QueueConfig) { c.Acks, c.MinInsyncReplicas = configured, 2 })
		topic := engine.DefaultTopicConfig()
		topic.Acks, topic.MinInsyncReplicas = configured, 2
		if _, _, err := b.engine.PutTopic(b.Context(), ref, topic, engine.Condition{}); err != nil {
			b.Fatal(err)
		}
		for asked, want := range map[engine.Acks]store.Acks{"": byDefault, engine.AcksLeader: {}, engine.AcksAll: {All: true, Min: 2}} {
			check := func(what string) {
				b.Helper()
				if got := b.store.lastAsked(); got != want {
					b.Errorf("%s with acks %q where the default is %q asked the store for %+v, want %+v", what, asked, configured, got, want)
				}
			}
			if _, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: make([]engine.Message, 2), Acks: asked}); err != nil {
				b.Fatal(err)
			}
			check("send")
			if _, err := b.engine.Produce(b.Context(), ref, engine.ProduceRequest{Records: make([]engine.Record, 1), Acks: asked}); err != nil {
				b.Fatal(err)
			}
			check("produce")
			held, other := b.one(ref).Receipt, b.one(ref).Receipt
			b.settled(b.engine.Extend(b.Context(), ref, []engine.ExtendItem{{Receipt: held, Visibility: time.Hour}}, asked))
			check("extend")
			b.settled(b.engine.Nack(b.Context(), ref, []engine.NackItem{{Receipt: held, Dead: true}}, asked))
			check("nack")
			b.settled(b.engine.Ack(b.Context(), ref, []string{other}, asked))
			check("ack")
		}
		b.send(ref, "m")
		b.settled(b.engine.AckAny(b.Context(), ref, []string{b.one(ref).Receipt}))
		if got := b.store.lastAsked(); got != byDefault {
			b.Errorf("an ack of any holder asked for %+v, want %+v", got, byDefault)
		}
	}
	_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: make([]engine.Message, 1), Acks: "some"})
	b.wantField(err, "acks")
	_, err = b.engine.Ack(b.Context(), ref, []string{"r"}, "some")
	b.wantField(err, "acks")
	_, err = b.engine.Produce(b.Context(), ref, engine.ProduceRequest{Records: make([]engine.Record, 1), Acks: "some"})
	b.wantField(err, "acks")
}

// wantField checks that an error refuses the request and names a field.
func (b *bundle) wantField(err error, field string) {
	b.Helper()
	b.wantCode(err, engine.CodeInvalidRequest)
	if err != nil && engine.ErrorOf(err).Field != field {
		b.Errorf("got error %v, want one about %s", err, field)
	}
}

func copiesThereCannotBeAreRefused(b *bundle) {
	if b.store.Info().Replicated {
		b.Skip("the store has replicas")
	}
	topic := engine.DefaultTopicConfig()
	topic.MinInsyncReplicas = 2
	put := func() (queue, log error) {
		_, _, queue = b.engine.PutQueue(b.Context(), ref, configWith(inCopies(2)), engine.Condition{})
		_, _, log = b.engine.PutTopic(b.Context(), ref, topic, engine.Condition{})
		return queue, log
	}
	queue, log := put()
	b.wantField(queue, "min_insync_replicas")
	b.wantField(log, "min_insync_replicas")
	b.put(ref, inCopies(1))
	b.send(ref, "all copies there are")
	b.ack(ref, b.one(ref).Receipt)
	b.store.replicated.Store(true)
	if queue, log = put(); queue != nil || log != nil {
		b.Errorf("two copies on a store with replicas: %v, %v, want no error", queue, log)
	}
	b.restart() // the configuration is kept
	if q, err := b.engine.Queue(b.Context(), ref); err != nil || q.Config.Acks != engine.AcksAll || q.Config.MinInsyncReplicas != 2 {
		b.Errorf("after a restart: acks %q of %d copies (%v), want all of 2", q.Config.Acks, q.Config.MinInsyncReplicas, err)
	}
}

// aRepeatWaitsForCopiesAgain has too few copies of a send in time, and the client repeat it.
func aRepeatWaitsForCopiesAgain(b *bundle) {
	b.store.replicated.Store(true)
	b.put(ref, inCopies(2))
	req := engine.SendRequest{
		Messages: []engine.Message{{Body: []byte("m")}},
		Key:      &engine.IdempotencyKey{Principal: "p", Path: "/", Key: "k"},
	}
	b.store.afterSend.set(func() error { return fmt.Errorf("1 of 2 copies: %w", store.ErrUnknown) })
	_, err := b.engine.Send(b.Context(), ref, req)
	b.wantCode(err, engine.CodeUnavailable)
	if e := engine.ErrorOf(err); e.Outcome != engine.Unknown || e.RetryAfter == 0 {
		b.Errorf("too few copies: outcome %q, retry after %v, want unknown and some time", e.Outcome, e.RetryAfter)
	}
	b.put(named("other"))
	b.send(named("other"), "which waits for no copies")
	answer, err := b.engine.Send(b.Context(), ref, req)
	if err != nil || !answer.Duplicate {
		b.Errorf("the repeat: %+v, %v, want a duplicate", answer, err)
	}
	if got, want := b.store.lastAsked(), (store.Acks{All: true, Min: 2}); got != want {
		b.Errorf("the repeat asked for %+v, want %+v", got, want)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
}
