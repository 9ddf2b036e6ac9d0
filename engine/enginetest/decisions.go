package enginetest

import (
	"context"
	"slices"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// decided are calls about the queue ref, by name, that must not succeed once it is gone. A receipt and the id of a message
// of it are given.
func decided(n *node, receipt string, id engine.MessageID) map[string]func() error {
	ctx, e := n.Context(), n.engine
	return map[string]func() error{
		"Config":  func() error { _, err := e.Config(ctx, ref); return err },
		"Queue":   func() error { _, err := e.Queue(ctx, ref); return err },
		"Feeders": func() error { _, err := e.Feeders(ctx, ref); return err },
		"TasksOf": func() error { _, err := e.TasksOf(ctx, ref, 10); return err },
		"ChangeQueue": func() error {
			_, err := e.ChangeQueue(ctx, ref, engine.Condition{}, func(c engine.QueueConfig) (engine.QueueConfig, error) { return c, nil })
			return err
		},
		"DeleteQueue":          func() error { return e.DeleteQueue(ctx, ref, engine.Condition{}, false) },
		"DeleteQueue by force": func() error { return e.DeleteQueue(ctx, ref, engine.Condition{}, true) },
		"PauseQueue":           func() error { _, err := e.PauseQueue(ctx, ref, true, true, time.Time{}); return err },
		"ResumeQueue":          func() error { _, err := e.ResumeQueue(ctx, ref, true, true); return err },
		"Purge":                func() error { _, err := e.Purge(ctx, ref, engine.Filter{}); return err },
		"Purge by id":          func() error { _, err := e.Purge(ctx, ref, engine.Filter{IDs: []engine.MessageID{id}}); return err },
		"PurgeGroup":           func() error { _, err := e.PurgeGroup(ctx, ref, "g"); return err },
		"Groups":               func() error { _, err := e.Groups(ctx, ref, nil, 10); return err },
		"SkipGroup":            func() error { _, err := e.SkipGroup(ctx, ref, "g"); return err },
		"DeadLetterGroup":      func() error { _, err := e.DeadLetterGroup(ctx, ref, "g", ""); return err },
		"Browse":               func() error { _, err := e.Browse(ctx, ref, engine.BrowseRequest{Limit: 1}); return err },
		"Look":                 func() error { _, err := e.Look(ctx, ref, id); return err },
		"Remove":               func() error { return e.Remove(ctx, ref, id) },
		"Reschedule":           func() error { _, err := e.Reschedule(ctx, ref, id, engine.RescheduleRequest{}); return err },
		"Release":              func() error { _, err := e.Release(ctx, ref, "c"); return err },
		"PlanRedrive":          func() error { _, err := e.PlanRedrive(ctx, ref, engine.RedriveRequest{To: "other"}); return err },
		"Redrive":              func() error { _, err := e.Redrive(ctx, ref, engine.RedriveRequest{To: "other"}); return err },
		"PlanRedrive to it": func() error {
			_, err := e.PlanRedrive(ctx, named("other"), engine.RedriveRequest{To: ref.Name})
			return err
		},
		"Redrive to it": func() error {
			_, err := e.Redrive(ctx, named("other"), engine.RedriveRequest{To: ref.Name})
			return err
		},
		"PutSchedule": func() error {
			_, _, err := e.PutSchedule(ctx, ref, "s", engine.ScheduleSpec{Cron: "@every 1h"})
			return err
		},
		"Schedule":       func() error { _, err := e.Schedule(ctx, ref, "s"); return err },
		"Schedules":      func() error { _, _, err := e.Schedules(ctx, ref, "", 10); return err },
		"DeleteSchedule": func() error { return e.DeleteSchedule(ctx, ref, "s") },
		"Send": func() error {
			_, err := e.Send(ctx, ref, engine.SendRequest{Messages: []engine.Message{{}}})
			return err
		},
		"Send of what is refused": func() error {
			_, err := e.Send(ctx, ref, engine.SendRequest{Messages: []engine.Message{{Priority: 99}}})
			return err
		},
		"Receive": func() error {
			_, err := e.Receive(ctx, ref, engine.ReceiveRequest{Wait: new(time.Duration)})
			return err
		},
		"ReceiveMany": func() error {
			_, err := e.ReceiveMany(ctx, engine.ReceiveManyRequest{
				Queues: []engine.Ref{named("other"), ref}, ReceiveRequest: engine.ReceiveRequest{Wait: new(time.Duration)},
			})
			return err
		},
		"Ack":                        func() error { _, err := e.Ack(ctx, ref, []string{receipt}, ""); return err },
		"Ack of what is no receipt":  func() error { _, err := e.Ack(ctx, ref, []string{"x"}, ""); return err },
		"AckAny":                     func() error { _, err := e.AckAny(ctx, ref, []string{"x"}); return err },
		"Nack":                       func() error { _, err := e.Nack(ctx, ref, []engine.NackItem{{Receipt: receipt}}, ""); return err },
		"Nack of what is no receipt": func() error { _, err := e.Nack(ctx, ref, []engine.NackItem{{Receipt: "x"}}, ""); return err },
		"Extend": func() error {
			_, err := e.Extend(ctx, ref, []engine.ExtendItem{{Receipt: receipt, Visibility: time.Minute}}, "")
			return err
		},
		"ChangeVisibility": func() error {
			_, err := e.ChangeVisibility(ctx, ref, []engine.ExtendItem{{Receipt: "x", Visibility: time.Minute}}, time.Hour)
			return err
		},
	}
}

// nothingIsConfirmedThatIsGone deletes a queue on one node and calls the other, which knew it, in every way there is. No
// time passes in between.
func nothingIsConfirmedThatIsGone(c *cluster) {
	a, b := c.two()
	a.put(named("other"))
	a.send(named("other"), "m")
	for _, name := range names(decided(b, "", engine.MessageID{})) {
		a.put(ref, func(c *engine.QueueConfig) { c.Fair = true })
		id := b.send(ref, "m")[0]
		receipt := b.one(ref).Receipt
		if err := a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, true); err != nil {
			c.Fatal(err)
		}
		if err := decided(b, receipt, id)[name](); err == nil || engine.ErrorOf(err).Code != engine.CodeNotFound {
			c.Errorf("%s of a queue that the other node has just deleted: got %v, want %s", name, err, engine.CodeNotFound)
		}
	}
	if got := a.receive(named("other"), 10); len(got.Messages) != 1 {
		c.Errorf("the queue beside the deleted one: got %d messages, want 1", len(got.Messages))
	}
}

// nothingIsConfirmedOfATopicThatIsGone is the same for topics.
func nothingIsConfirmedOfATopicThatIsGone(c *cluster) {
	a, b := c.two()
	ctx, e := b.Context(), b.engine
	offsets := map[uint32]uint64{0: 1}
	calls := map[string]func() error{
		"Topic": func() error { _, err := e.Topic(ctx, ref); return err },
		"Commit": func() error {
			_, err := e.Commit(ctx, ref, "r", engine.CommitRequest{Offsets: offsets})
			return err
		},
		"CommittedOffsets": func() error { _, err := e.CommittedOffsets(ctx, ref, "r"); return err },
		"Produce": func() error {
			_, err := e.Produce(ctx, ref, engine.ProduceRequest{Records: []engine.Record{{Value: []byte("v")}}})
			return err
		},
		"Read": func() error { _, err := e.Read(ctx, ref, engine.ReadRequest{}); return err },
		"Read from the earliest": func() error {
			_, err := e.Read(ctx, ref, engine.ReadRequest{Start: engine.Start{Kind: engine.AtEarliest}})
			return err
		},
		"Read from a time": func() error {
			_, err := e.Read(ctx, ref, engine.ReadRequest{Start: engine.Start{Kind: engine.AtTime, Time: time.Now()}})
			return err
		},
		"TrimTopic":   func() error { _, err := e.TrimTopic(ctx, ref, 0, engine.Start{Kind: engine.AtLatest}); return err },
		"DeleteTopic": func() error { return e.DeleteTopic(ctx, ref, engine.Condition{}) },
	}
	for _, name := range names(calls) {
		a.putTopic()
		b.commit("r", 0)
		if err := a.engine.DeleteTopic(a.Context(), ref, engine.Condition{}); err != nil {
			c.Fatal(err)
		}
		if err := calls[name](); err == nil || engine.ErrorOf(err).Code != engine.CodeNotFound {
			c.Errorf("%s of a topic that the other node has just deleted: got %v, want %s", name, err, engine.CodeNotFound)
		}
	}
}

func (n *node) putTopic() {
	n.Helper()
	if _, _, err := n.engine.PutTopic(n.Context(), ref, engine.DefaultTopicConfig(), engine.Condition{}); err != nil {
		n.Fatal(err)
	}
}

func (n *node) commit(name string, offset uint64) {
	n.Helper()
	if _, err := n.engine.Commit(n.Context(), ref, name, engine.CommitRequest{Offsets: map[uint32]uint64{0: offset}}); err != nil {
		n.Fatalf("commit: %v", err)
	}
}

func names(all map[string]func() error) []string {
	var list []string
	for name := range all {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// whatWasMadeAgainIsServedAtOnce makes queue and topic anew on one node; the other knows those before, whose receipts, ids
// and places mean nothing any more.
func whatWasMadeAgainIsServedAtOnce(c *cluster) {
	a, b := c.two()
	ctx := c.Context()
	a.put(ref)
	a.putTopic()
	b.send(ref, "before")
	if _, err := b.engine.Read(ctx, ref, engine.ReadRequest{}); err != nil {
		c.Fatal(err)
	}
	again := func() {
		c.Helper()
		if err := a.engine.DeleteQueue(ctx, ref, engine.Condition{}, true); err != nil {
			c.Fatal(err)
		}
		if err := a.engine.DeleteTopic(ctx, ref, engine.Condition{}); err != nil {
			c.Fatal(err)
		}
		a.put(ref, func(c *engine.QueueConfig) { c.Fair = true })
		a.putTopic()
		a.produce("v")
	}
	var id engine.MessageID
	var receipt string
	for name, call := range map[string]func() error{
		"ack": func() error {
			results, err := b.engine.Ack(ctx, ref, []string{receipt}, "")
			return itemError(results, err)
		},
		"nack": func() error {
			results, err := b.engine.Nack(ctx, ref, []engine.NackItem{{Receipt: receipt}}, "")
			return itemError(results, err)
		},
		"change of visibility": func() error {
			results, err := b.engine.ChangeVisibility(ctx, ref, []engine.ExtendItem{{Receipt: receipt, Visibility: time.Minute}}, time.Hour)
			return itemError(results, err)
		},
		"look":   func() error { _, err := b.engine.Look(ctx, ref, id); return err },
		"remove": func() error { return b.engine.Remove(ctx, ref, id) },
		"groups": func() error { _, err := b.engine.Groups(ctx, ref, nil, 10); return err },
		"read from the earliest": func() error {
			got, err := b.engine.Read(ctx, ref, engine.ReadRequest{Start: engine.Start{Kind: engine.AtEarliest}})
			return wantRecords(got, 1, err)
		},
		"read": func() error {
			got, err := b.engine.Read(ctx, ref, engine.ReadRequest{})
			return wantRecords(got, 1, err)
		},
		"trim": func() error {
			left, err := b.engine.TrimTopic(ctx, ref, 0, engine.Start{Offset: 1})
			if err == nil && left.FirstOffset != 1 {
				c.Errorf("trim: the first offset left is %d, want 1", left.FirstOffset)
			}
			return err
		},
		"commit": func() error {
			_, err := b.engine.Commit(ctx, ref, "r", engine.CommitRequest{Offsets: map[uint32]uint64{0: 1}})
			if err == nil {
				_, err = a.engine.CommittedOffsets(ctx, ref, "r")
			}
			return err
		},
	} {
		again()
		id = a.send(ref, "m")[0]
		receipt = a.one(ref).Receipt
		if err := call(); err != nil {
			c.Errorf("%s on the node that knew another one of the name: %v", name, err)
		}
	}
}

func (n *node) produce(value string) {
	n.Helper()
	_, err := n.engine.Produce(n.Context(), ref, engine.ProduceRequest{Records: []engine.Record{{Value: []byte(value)}}})
	if err != nil {
		n.Fatalf("produce: %v", err)
	}
}

func itemError(results []engine.ItemResult, err error) error {
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return err
}

type wrongRecords struct{ got engine.ReadAnswer }

func (w wrongRecords) Error() string { return "got other records than were appended" }

func wantRecords(got engine.ReadAnswer, want int, err error) error {
	if err == nil && len(got.Records) != want {
		return wrongRecords{got}
	}
	return err
}

// configurationsAreComparedAsTheyAre asks the other node for the configuration that decides whether a queue is made again.
func configurationsAreComparedAsTheyAre(c *cluster) {
	a, b := c.two()
	a.put(ref)
	for _, most := range []int64{1000, 2000} {
		if _, err := b.engine.KnownConfig(b.Context(), ref); err != nil {
			c.Fatal(err)
		}
		a.put(ref, func(c *engine.QueueConfig) { c.MaxMessageBytes = most })
		got, err := b.engine.Config(b.Context(), ref)
		if err != nil || got.MaxMessageBytes != most {
			c.Errorf("the configuration on the other node: got %+v, %v, want at most %d bytes", got, err, most)
		}
	}
}

// deletionsAreNoticedWithinASecond has a node report what another one deleted, and end a read that waits, without a call on it.
func deletionsAreNoticedWithinASecond(c *cluster) {
	a := c.node()
	var queues, topics atomic.Int64
	c.events = engine.Events{
		Deleted:      func(engine.Ref) { queues.Add(1) },
		TopicDeleted: func(engine.Ref) { topics.Add(1) },
	}
	b := c.node()
	b.cable.deaf.Store(true) // announcements of the store are no help
	a.put(ref)
	a.putTopic()
	b.wantCounts(ref, engine.Counts{})
	read := make(chan error, 1)
	go func() {
		_, err := b.engine.Read(b.Context(), ref, engine.ReadRequest{Wait: 20 * time.Second})
		read <- err
	}()
	synctest.Wait()
	if err := a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, false); err != nil {
		c.Fatal(err)
	}
	if err := a.engine.DeleteTopic(a.Context(), ref, engine.Condition{}); err != nil {
		c.Fatal(err)
	}
	a.advance(time.Second)
	if queues.Load() != 1 || topics.Load() != 1 {
		c.Errorf("a second after the deletion the other node has reported %d queues and %d topics, want 1 of each", queues.Load(), topics.Load())
	}
	select {
	case err := <-read:
		b.wantCode(err, engine.CodeNotFound)
	default:
		c.Error("a second after the deletion a read still waits on the other node")
	}
}

// messagesCostNoLookAtTheCatalog counts what is read of the catalog by calls on messages that are not refused.
func messagesCostNoLookAtTheCatalog(c *cluster) {
	a := c.node()
	a.put(ref)
	a.putTopic()
	reads := new(atomic.Int64)
	c.through = func(s store.Store) store.Store { return &readCounter{s, reads} }
	b := c.node()
	b.send(ref, "m")
	b.produce("v")
	before := reads.Load()
	for range 10 {
		b.send(ref, "m")
		b.ack(ref, b.one(ref).Receipt)
		b.produce("v")
		if _, err := b.engine.Read(b.Context(), ref, engine.ReadRequest{}); err != nil {
			c.Fatal(err)
		}
	}
	if n := reads.Load() - before; n != 0 {
		c.Errorf("10 sends, receives, acks, produces and reads have read the catalog %d times, want 0", n)
	}
}

// readCounter counts what is read of the key-value part.
type readCounter struct {
	store.Store
	reads *atomic.Int64
}

func (r *readCounter) Get(ctx context.Context, key string) (store.Pair, error) {
	r.reads.Add(1)
	return r.Store.Get(ctx, key)
}

func (r *readCounter) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	r.reads.Add(1)
	return r.Store.List(ctx, prefix, after, limit)
}
