package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// RunNodes runs the tests of several nodes against a kind of store that may be opened more than once at a time, each
// opening of which is told of what all do.
func RunNodes(t *testing.T, newStore NewStore) {
	t.Helper()
	for name, test := range nodeTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{T: t}
				c.open = newStore(t, time.Now)
				test(c)
			})
		})
	}
}

// nodeTests are those of several nodes, by name.
var nodeTests = map[string]func(*cluster){
	"WaiterIsWokenByTheOtherNode":            waiterIsWokenByTheOtherNode,
	"WaiterIsWokenByTimeOfTheOtherNode":      waiterIsWokenByTimeOfTheOtherNode,
	"WaiterIsWokenByResumeOnTheOtherNode":    waiterIsWokenByResumeOnTheOtherNode,
	"WaiterIsToldOfADeletionOnTheOtherNode":  waiterIsToldOfADeletionOnTheOtherNode,
	"BlockedSendIsWokenByTheOtherNode":       blockedSendIsWokenByTheOtherNode,
	"ChangesAreSeenAtOnce":                   changesAreSeenAtOnce,
	"TopicsAreSeenAtOnce":                    topicsAreSeenAtOnce,
	"WaitersOutliveAnOutage":                 waitersOutliveAnOutage,
	"ReceiptsHoldOnAllNodes":                 receiptsHoldOnAllNodes,
	"LostNodesQueuesAreLookedAfter":          lostNodesQueuesAreLookedAfter,
	"LostNodesTimersAreTakenOver":            lostNodesTimersAreTakenOver,
	"LostNodesTasksGoOn":                     lostNodesTasksGoOn,
	"LostNodesSchedulesGoOn":                 lostNodesSchedulesGoOn,
	"NodesStartWithoutRoom":                  nodesStartWithoutRoom,
	"DeadLettersFindAQueueOfTheOtherNode":    deadLettersFindAQueueOfTheOtherNode,
	"DeadLettersFindTheSourceOfTheOtherNode": deadLettersFindTheSourceOfTheOtherNode,
	"DeleteLosesNoMessageOfTheOtherNode":     deleteLosesNoMessageOfTheOtherNode,
	"HalfADeletionIsTakenBack":               halfADeletionIsTakenBack,
	"DeletionSeesFeedersOfTheOtherNode":      deletionSeesFeedersOfTheOtherNode,
	"NodesThatAreBackWorkOn":                 nodesThatAreBackWorkOn,
	"AStoreThatWasAwayCostsNobodyHisWork":    aStoreThatWasAwayCostsNobodyHisWork,
	"SchedulesFireOnceWhoeverSends":          schedulesFireOnceWhoeverSends,
	"LostAnnouncementsAreMadeUpFor":          lostAnnouncementsAreMadeUpFor,
	"OffsetsOfANewTopicSurviveAStart":        offsetsOfANewTopicSurviveAStart,
	"ANodeWithoutRoomTakesOver":              aNodeWithoutRoomTakesOver,
	"ANodeStartsWhileAPartIsAway":            aNodeStartsWhileAPartIsAway,
	"AStoreThatWasEmptiedWorksOn":            aStoreThatWasEmptiedWorksOn,
	"NothingIsConfirmedThatIsGone":           nothingIsConfirmedThatIsGone,
	"NothingIsConfirmedOfATopicThatIsGone":   nothingIsConfirmedOfATopicThatIsGone,
	"WhatWasMadeAgainIsServedAtOnce":         whatWasMadeAgainIsServedAtOnce,
	"ConfigurationsAreComparedAsTheyAre":     configurationsAreComparedAsTheyAre,
	"DeletionsAreNoticedWithinASecond":       deletionsAreNoticedWithinASecond,
	"MessagesCostNoLookAtTheCatalog":         messagesCostNoLookAtTheCatalog,
}

// cluster is several engines on one store.
type cluster struct {
	*testing.T
	open OpenStore
	used int
	// through, if set, is between the store and the nodes that start from now on.
	through func(store.Store) store.Store
	// events are those of the nodes that start from now on.
	events engine.Events
}

// node starts an engine with a store of its own on the common data.
func (c *cluster) node() *node {
	c.Helper()
	s, release := c.open()
	c.used++
	if c.through != nil {
		s = c.through(s)
	}
	cable := &cable{Store: s}
	n := &node{bundle: &bundle{T: c.T, store: &meddler{Store: cable}, release: release}, cable: cable}
	e, err := engine.Open(c.Context(), n.store, engine.Options{
		Now: time.Now, Rand: rand.Reader, Node: "node-" + strconv.Itoa(c.used), Events: c.events,
	})
	if err != nil {
		c.Fatalf("open a node: %v", err)
	}
	n.engine = e
	c.Cleanup(n.end)
	synctest.Wait()
	return n
}

// two nodes.
func (c *cluster) two() (a, b *node) { c.Helper(); return c.node(), c.node() }

// node is one of several.
type node struct {
	*bundle
	cable *cable
	ended bool
}

// lose ends a node as a crash does: nothing that it does from now on reaches the store.
func (n *node) lose() {
	n.Helper()
	n.cable.cut.Store(true)
	n.end()
}

func (n *node) end() {
	if n.ended {
		return
	}
	n.ended = true
	if err := n.engine.Close(context.WithoutCancel(n.Context())); err != nil {
		n.Errorf("close a node: %v", err)
	}
	n.release()
}

// cable leads to the store, and may be cut. What only looks does not need it in these tests.
type cable struct {
	store.Store
	cut atomic.Bool
	// deaf loses all announcements.
	deaf atomic.Bool
}

func (c *cable) Watch(notify func(store.QueueID)) {
	c.Store.Watch(func(q store.QueueID) {
		if !c.deaf.Load() {
			notify(q)
		}
	})
}

func (c *cable) WatchLogs(notify func(store.LogID, uint32)) {
	c.Store.WatchLogs(func(l store.LogID, partition uint32) {
		if !c.deaf.Load() {
			notify(l, partition)
		}
	})
}

func (c *cable) torn() error {
	if c.cut.Load() {
		return fmt.Errorf("the cable is cut: %w", store.ErrUnavailable)
	}
	return nil
}

func (c *cable) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	if err := c.torn(); err != nil {
		return store.SendResult{}, err
	}
	return c.Store.Send(ctx, p)
}

func (c *cable) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	if err := c.torn(); err != nil {
		return store.ClaimResult{}, err
	}
	return c.Store.Claim(ctx, p)
}

func (c *cable) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if err := c.torn(); err != nil {
		return store.SettleResult{}, err
	}
	return c.Store.Settle(ctx, p)
}

func (c *cable) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	if err := c.torn(); err != nil {
		return store.MoveResult{}, err
	}
	return c.Store.Move(ctx, p)
}

func (c *cable) Fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, error) {
	if err := c.torn(); err != nil {
		return store.FetchResult{}, err
	}
	return c.Store.Fetch(ctx, p)
}

func (c *cable) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	if err := c.torn(); err != nil {
		return store.SweepResult{}, err
	}
	return c.Store.Sweep(ctx, q)
}

func (c *cable) SweepLog(ctx context.Context, l store.LogID) (store.LogSweepResult, error) {
	if err := c.torn(); err != nil {
		return store.LogSweepResult{}, err
	}
	return c.Store.SweepLog(ctx, l)
}

func (c *cable) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	if err := c.torn(); err != nil {
		return err
	}
	return c.Store.Configure(ctx, q, s)
}

func (c *cable) Drop(ctx context.Context, q store.QueueID) error {
	if err := c.torn(); err != nil {
		return err
	}
	return c.Store.Drop(ctx, q)
}

func (c *cable) Get(ctx context.Context, key string) (store.Pair, error) {
	if err := c.torn(); err != nil {
		return store.Pair{}, err
	}
	return c.Store.Get(ctx, key)
}

func (c *cable) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if err := c.torn(); err != nil {
		return 0, err
	}
	return c.Store.Put(ctx, key, value, prev)
}

func (c *cable) Delete(ctx context.Context, key string, prev store.Revision) error {
	if err := c.torn(); err != nil {
		return err
	}
	return c.Store.Delete(ctx, key, prev)
}

func (c *cable) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	if err := c.torn(); err != nil {
		return nil, err
	}
	return c.Store.List(ctx, prefix, after, limit)
}

func waiterIsWokenByTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref)
	w := b.wait(ref, time.Minute)
	a.advance(7 * time.Second)
	a.send(ref, "m")
	w.want(7*time.Second, "m")
}

// The node that leased or delayed a message knows when that ends; the one where a receive waits learns of it then.
func waiterIsWokenByTimeOfTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref, func(c *engine.QueueConfig) { c.Visibility = 10 * time.Second })
	w := b.wait(ref, time.Minute)
	delay := 5 * time.Second
	if _, err := a.engine.Send(a.Context(), ref, engine.SendRequest{Messages: []engine.Message{{Body: []byte("m"), Delay: &delay}}}); err != nil {
		c.Fatal(err)
	}
	w.want(5*time.Second, "m")
	w = a.wait(ref, time.Minute)
	w.want(10*time.Second, "m")
	w = b.wait(ref, time.Minute)
	w.want(10*time.Second, "m")
}

func waiterIsWokenByResumeOnTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref)
	b.send(ref, "m", "m")
	if _, err := a.engine.PauseQueue(a.Context(), ref, false, true, time.Time{}); err != nil {
		c.Fatal(err)
	}
	first, second := b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	a.advance(3 * time.Second)
	if _, err := a.engine.ResumeQueue(a.Context(), ref, false, true); err != nil {
		c.Fatal(err)
	}
	first.want(3*time.Second, "m")
	second.want(3*time.Second, "m")
}

func waiterIsToldOfADeletionOnTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref)
	w, v := b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	a.advance(time.Second)
	if err := a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, false); err != nil {
		c.Fatal(err)
	}
	for _, w := range []*waiter{w, v} {
		<-w.done
		b.wantCode(w.err, engine.CodeNotFound)
		if w.took != time.Second {
			c.Errorf("a receive was told of the deletion after %v, want 1s", w.took)
		}
	}
}

func blockedSendIsWokenByTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref, func(c *engine.QueueConfig) {
		c.Limits.MaxMessages, c.Limits.Overflow = 1, engine.OverflowBlock
	})
	a.send(ref, "m")
	held := a.one(ref)
	begun, sent := time.Now(), make(chan time.Duration)
	go func() {
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
		if err != nil {
			b.Errorf("a send that waits for room: %v", err)
		}
		sent <- time.Since(begun)
	}()
	a.advance(5010 * time.Millisecond)
	a.ack(ref, held.Receipt)
	if took := <-sent; took != 5010*time.Millisecond {
		c.Errorf("a send that waited for room was let in after %v, want 5.01s", took)
	}
}

// changesAreSeenAtOnce looks at a queue on the node that did not change it, in each way that trusts a copy.
func changesAreSeenAtOnce(c *cluster) {
	a, b := c.two()
	a.put(ref, func(c *engine.QueueConfig) { c.MaxMessageBytes = 10 })
	b.send(ref, "0123456789")
	a.put(ref, func(c *engine.QueueConfig) { c.MaxMessageBytes = 20; c.Visibility = time.Hour })
	b.send(ref, "01234567890")
	changed := a.put(ref, func(c *engine.QueueConfig) { c.MaxMessageBytes = 30; c.Visibility = time.Hour })
	shown, err := b.engine.Queue(b.Context(), ref)
	if err != nil || shown.ETag != changed.ETag || shown.Config.MaxMessageBytes != 30 {
		c.Errorf("the other node shows ETag %s and at most %d bytes (%v), want %s and 30", shown.ETag, shown.Config.MaxMessageBytes, err, changed.ETag)
	}
	changed = a.put(ref, func(c *engine.QueueConfig) { c.Visibility = 2 * time.Hour })
	for what, list := range map[string]func() ([]engine.Queue, error){
		"list":        func() ([]engine.Queue, error) { return b.engine.Queues(b.Context(), tenant, "", "", 10, nil) },
		"list of all": func() ([]engine.Queue, error) { return b.wantAll(1), nil },
	} {
		if all, err := list(); err != nil || len(all) != 1 || all[0].ETag != changed.ETag {
			c.Errorf("the other node's %s has %+v (%v), want ETag %s", what, all, err, changed.ETag)
		}
	}
	if until := b.one(ref).Lease.ExpiresAt; time.Until(until) < time.Hour {
		c.Errorf("a receive on the other node has a lease of %v, want 2h", time.Until(until))
	}
	if err := a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, true); err != nil {
		c.Fatal(err)
	}
	_, err = b.engine.Queue(b.Context(), ref)
	b.wantCode(err, engine.CodeNotFound)
	_, err = b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
	b.wantCode(err, engine.CodeNotFound)
	a.put(ref)
	b.send(ref, "m")
	a.wantCounts(ref, engine.Counts{Ready: 1})
}

func topicsAreSeenAtOnce(c *cluster) {
	a, b := c.two()
	config := engine.DefaultTopicConfig()
	config.Partitions = 1
	put := func(n *node) engine.Topic {
		n.Helper()
		shown, _, err := n.engine.PutTopic(n.Context(), ref, config, engine.Condition{})
		if err != nil {
			n.Fatal(err)
		}
		return shown
	}
	put(a)
	if _, err := b.engine.Topic(b.Context(), ref); err != nil {
		c.Fatal(err)
	}
	config.Partitions = 3
	changed := put(a)
	if shown, err := b.engine.Topic(b.Context(), ref); err != nil || shown.ETag != changed.ETag || shown.Config.Partitions != 3 {
		c.Errorf("the other node shows %+v (%v), want ETag %s", shown, err, changed.ETag)
	}
	config.MaxRecordBytes = 2 << 20
	put(a)
	if _, err := b.engine.Produce(b.Context(), ref, engine.ProduceRequest{
		Records: []engine.Record{{Value: make([]byte, 3<<19)}},
	}); err != nil {
		c.Errorf("produce what the other node has just allowed: %v", err)
	}
}

// waitersOutliveAnOutage cuts a node off while receives and a read wait there.
func waitersOutliveAnOutage(c *cluster) {
	a, b := c.two()
	a.put(ref)
	if _, _, err := a.engine.PutTopic(a.Context(), ref, engine.DefaultTopicConfig(), engine.Condition{}); err != nil {
		c.Fatal(err)
	}
	a.put(named("other"))
	first, second, short := b.wait(ref, time.Minute), b.wait(ref, time.Minute), b.wait(named("other"), 2*time.Second)
	read := make(chan int)
	go func() {
		got, err := b.engine.Read(b.Context(), ref, engine.ReadRequest{Wait: time.Minute, Start: engine.Start{Kind: engine.AtEarliest}})
		if err != nil {
			b.Errorf("a read that waits: %v", err)
		}
		read <- len(got.Records)
	}()
	synctest.Wait()
	b.cable.cut.Store(true)
	a.send(ref, "m", "m")
	a.send(named("other"), "m")
	if _, err := a.engine.Produce(a.Context(), ref, engine.ProduceRequest{Records: []engine.Record{{}}}); err != nil {
		c.Fatal(err)
	}
	<-short.done
	b.wantCode(short.err, engine.CodeUnavailable)
	a.advance(500 * time.Millisecond)
	b.cable.cut.Store(false)
	for _, w := range []*waiter{first, second} {
		w.wantWithin(2500*time.Millisecond, 3*time.Second, "m")
	}
	if n := <-read; n != 1 {
		c.Errorf("a read that waited through an outage got %d records, want 1", n)
	}
}

func receiptsHoldOnAllNodes(c *cluster) {
	a, b := c.two()
	a.put(ref)
	a.send(ref, "m", "n")
	b.ack(ref, a.one(ref).Receipt)
	d := b.one(ref)
	a.extend(ref, d.Receipt, time.Hour)
	a.nack(ref, d.Receipt, 0)
	b.ack(ref, a.one(ref).Receipt)
	a.wantCounts(ref, engine.Counts{})
}

// takeOver is how long it takes at most until the work of a lost node is done by others.
const takeOver = 9 * time.Second

func lostNodesQueuesAreLookedAfter(c *cluster) {
	a, b := c.two()
	a.put(ref, func(c *engine.QueueConfig) { c.Retention = 20 * time.Second })
	a.send(ref, "m")
	a.lose()
	b.advance(19 * time.Second)
	if got, err := b.store.Stats(b.Context(), b.generation(ref)); err != nil || got.Ready != 1 {
		c.Fatalf("%+v, %v, want one ready message", got, err)
	}
	b.advance(2 * time.Second)
	if got, err := b.store.Stats(b.Context(), b.generation(ref)); err != nil || got.Ready != 0 {
		c.Errorf("past its retention a message of a lost node is still there: %+v, %v", got, err)
	}
}

// generation of a queue, without asking the engine, which would look after it.
func (n *node) generation(ref engine.Ref) store.QueueID {
	n.Helper()
	ids, err := n.store.Queues(n.Context(), 0, 10)
	if err != nil || len(ids) != 1 {
		n.Fatalf("queues %v, %v, want one", ids, err)
	}
	return ids[0]
}

func lostNodesTimersAreTakenOver(c *cluster) {
	a, b := c.two()
	a.put(ref, func(c *engine.QueueConfig) { c.Visibility = time.Minute })
	a.send(ref, "m")
	w := b.wait(ref, 10*time.Minute)
	w.want(0, "m")
	w = b.wait(ref, 10*time.Minute)
	a.lose()
	w.want(time.Minute, "m")

	// A lease that only the lost node knew of.
	a = c.node()
	w = b.wait(ref, 10*time.Minute)
	w.want(time.Minute, "m")
	b.advance(time.Minute)
	a.one(ref)
	w = b.wait(ref, 10*time.Minute)
	a.lose()
	w.want(time.Minute, "m")
}

func lostNodesTasksGoOn(c *cluster) {
	a, b := c.two()
	a.put(ref)
	a.put(named("to"))
	a.send(ref, numbered(100)...)
	task, err := a.engine.Redrive(a.Context(), ref, engine.RedriveRequest{To: "to", Rate: 10})
	if err != nil {
		c.Fatal(err)
	}
	a.advance(3 * time.Second)
	a.lose()
	moved := b.counts(named("to")).Ready
	b.advance(takeOver)
	if now := b.counts(named("to")).Ready; now == moved {
		c.Errorf("%d messages were moved when the node was lost, and %d after %v", moved, now, takeOver)
	}
	b.advance(10 * time.Second)
	b.wantTask(task.ID, engine.TaskDone, 100)
	b.wantCounts(named("to"), engine.Counts{Ready: 100})
}

func lostNodesSchedulesGoOn(c *cluster) {
	a, b := c.two()
	a.put(ref)
	if _, _, err := a.engine.PutSchedule(a.Context(), ref, "each", engine.ScheduleSpec{Cron: "@every 1s"}); err != nil {
		c.Fatal(err)
	}
	a.advance(3500 * time.Millisecond)
	a.lose()
	b.wantCounts(ref, engine.Counts{Ready: 3})
	b.advance(20 * time.Second)
	b.wantCounts(ref, engine.Counts{Ready: 23})
}

func schedulesFireOnceWhoeverSends(c *cluster) {
	a, b := c.two()
	a.put(ref)
	if _, _, err := a.engine.PutSchedule(a.Context(), ref, "each", engine.ScheduleSpec{Cron: "@every 1s"}); err != nil {
		c.Fatal(err)
	}
	b.advance(2*time.Minute + 500*time.Millisecond) // by then both know of it
	b.wantCounts(ref, engine.Counts{Ready: 120})
}

// deadLettersFindAQueueOfTheOtherNode has messages parked on one node and the other one make the queue they are to go to.
func deadLettersFindAQueueOfTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref, deadLetters("dead", 1))
	a.send(ref, "m")
	a.nack(ref, a.one(ref).Receipt, 0)
	a.wantCounts(ref, engine.Counts{Dead: 1})
	b.put(named("dead"))
	a.advance(11 * time.Second)
	a.wantCounts(named("dead"), engine.Counts{Ready: 1})
}

// deadLettersFindTheSourceOfTheOtherNode has the dead-letter queue made by another node before any message dies.
func deadLettersFindTheSourceOfTheOtherNode(c *cluster) {
	a, b := c.two()
	b.put(named("dead"))
	a.put(ref, deadLetters("dead", 1))
	a.send(ref, "m")
	a.nack(ref, a.one(ref).Receipt, 0)
	a.wantCounts(named("dead"), engine.Counts{Ready: 1})
}

func deleteLosesNoMessageOfTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(ref)
	var finished atomic.Bool
	var deleted atomic.Int64
	var done sync.WaitGroup
	done.Go(func() {
		for !finished.Load() {
			if a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, false) == nil {
				deleted.Add(1)
				a.put(ref)
			}
		}
	})
	for deleted.Load() < 30 {
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
		if err != nil {
			if code := engine.ErrorOf(err).Code; code != engine.CodeNotFound && code != engine.CodeUnavailable {
				b.Fatalf("send: %v", err)
			}
			continue
		}
		// What is sent is taken before the next, however long fences keep it back: else no deletion finds the queue empty again.
		got := b.receiveUntilDone(ref)
		if len(got.Messages) != 1 {
			b.Fatalf("receive what was sent: %+v", got)
		}
		b.ackUntilDone(ref, got.Messages[0].Receipt)
	}
	finished.Store(true)
	done.Wait()
}

// receiveUntilDone repeats a receive that a fence keeps out.
func (n *node) receiveUntilDone(ref engine.Ref) *engine.Received {
	n.Helper()
	for {
		got, err := n.engine.Receive(n.Context(), ref, engine.ReceiveRequest{Wait: new(time.Duration)})
		if err != nil && engine.ErrorOf(err).Code == engine.CodeUnavailable {
			continue
		}
		if err != nil {
			n.Fatalf("receive: %v", err)
		}
		return got
	}
}

// ackUntilDone repeats an ack that a fence keeps out.
func (n *node) ackUntilDone(ref engine.Ref, receipt string) {
	n.Helper()
	for {
		all, err := n.engine.Ack(n.Context(), ref, []string{receipt}, "")
		if err != nil && engine.ErrorOf(err).Code == engine.CodeUnavailable {
			continue
		}
		n.settled(all, err)
		return
	}
}

// halfADeletionIsTakenBack loses a node just after it has fenced a queue.
func halfADeletionIsTakenBack(c *cluster) {
	a, b := c.two()
	a.put(ref)
	b.wantCounts(ref, engine.Counts{})
	a.store.beforeStats.set(func() error {
		a.store.beforeStats.set(func() error {
			a.cable.cut.Store(true)
			return store.ErrUnavailable
		})
		return nil
	})
	err := a.engine.DeleteQueue(a.Context(), ref, engine.Condition{}, false)
	a.wantCode(err, engine.CodeUnavailable)
	a.lose()
	begun := time.Now()
	for {
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
		if err == nil {
			break
		}
		b.wantCode(err, engine.CodeUnavailable)
		if time.Since(begun) > 10*time.Second {
			c.Fatal("10 s after half a deletion the queue takes no messages")
		}
		b.advance(time.Second)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1})
}

func deletionSeesFeedersOfTheOtherNode(c *cluster) {
	a, b := c.two()
	a.put(named("dead"))
	b.put(ref, deadLetters("dead", 1))
	err := a.engine.DeleteQueue(a.Context(), named("dead"), engine.Condition{}, false)
	a.wantCode(err, engine.CodeConflict)
	if names, err := a.engine.Feeders(a.Context(), named("dead")); err != nil || len(names) != 1 {
		c.Errorf("feeders are %v, %v, want one", names, err)
	}
}

// nodesThatAreBackWorkOn cuts a node off until the others have given it up.
func nodesThatAreBackWorkOn(c *cluster) {
	a, b := c.two()
	a.put(ref)
	a.put(named("to"))
	a.send(ref, numbered(300)...)
	task, err := a.engine.Redrive(a.Context(), ref, engine.RedriveRequest{To: "to", Rate: 10})
	if err != nil {
		c.Fatal(err)
	}
	a.advance(2 * time.Second)
	a.cable.cut.Store(true)
	a.advance(15 * time.Second)
	a.cable.cut.Store(false)
	a.advance(time.Minute)
	// How much the lost node had moved last nobody knows exactly.
	if t, err := b.engine.Task(b.Context(), tenant, task.ID); err != nil || t.State != engine.TaskDone {
		c.Errorf("the task of a node that was cut off is %s (%v), want done", t.State, err)
	}
	b.wantCounts(named("to"), engine.Counts{Ready: 300})
	w := a.wait(ref, time.Minute)
	b.send(ref, "m")
	w.want(0, "m")
}

// aStoreThatWasAwayCostsNobodyHisWork cuts all nodes off for longer than it takes to be given up.
func aStoreThatWasAwayCostsNobodyHisWork(c *cluster) {
	a, b := c.two()
	a.put(ref)
	a.put(named("to"))
	a.send(ref, numbered(200)...)
	task, err := a.engine.Redrive(a.Context(), ref, engine.RedriveRequest{To: "to", Rate: 10})
	if err != nil {
		c.Fatal(err)
	}
	a.advance(2 * time.Second)
	for _, n := range []*node{a, b} {
		n.cable.cut.Store(true)
	}
	a.advance(10 * time.Second)
	for _, n := range []*node{b, a} {
		n.cable.cut.Store(false)
	}
	a.advance(20 * time.Second)
	b.wantTask(task.ID, engine.TaskDone, 200)
	b.wantCounts(named("to"), engine.Counts{Ready: 200})
}

// lostAnnouncementsAreMadeUpFor has a node that hears nothing of what becomes ready.
func lostAnnouncementsAreMadeUpFor(c *cluster) {
	a, b := c.two()
	a.put(ref)
	if _, _, err := a.engine.PutTopic(a.Context(), ref, engine.DefaultTopicConfig(), engine.Condition{}); err != nil {
		c.Fatal(err)
	}
	b.cable.deaf.Store(true)
	first, second := b.wait(ref, time.Hour), b.wait(ref, time.Hour)
	begun, read := time.Now(), make(chan time.Duration)
	for range 2 {
		go func() {
			got, err := b.engine.Read(b.Context(), ref, engine.ReadRequest{Wait: time.Hour})
			if err != nil || len(got.Records) != 1 {
				b.Errorf("a read that waits: %d records, %v, want 1", len(got.Records), err)
			}
			read <- time.Since(begun)
		}()
	}
	a.advance(time.Minute)
	a.send(ref, "m", "n")
	if _, err := a.engine.Produce(a.Context(), ref, engine.ProduceRequest{Records: []engine.Record{{}}}); err != nil {
		c.Fatal(err)
	}
	const late = time.Minute + 15*time.Second
	if x, y := <-read, <-read; max(x, y) > late || min(x, y) < time.Minute {
		c.Errorf("reads whose announcement was lost ended after %v and %v, want within %v", x, y, late)
	}
	for _, w := range []*waiter{first, second} {
		<-w.done
		if w.err != nil || len(w.messages) != 1 || w.took > late {
			c.Errorf("a receive whose announcement was lost: %d messages after %v (%v), want 1 within %v", len(w.messages), w.took, w.err, late)
		}
	}
}

// offsetsOfANewTopicSurviveAStart commits between the look at the topics and the one at the offsets of a node that starts.
func offsetsOfANewTopicSurviveAStart(c *cluster) {
	a := c.node()
	s, release := c.open()
	m := &latecomer{Store: s, meanwhile: func() {
		if _, _, err := a.engine.PutTopic(a.Context(), ref, engine.DefaultTopicConfig(), engine.Condition{}); err != nil {
			c.Error(err)
		}
		if _, err := a.engine.Commit(a.Context(), ref, "reader", engine.CommitRequest{Offsets: map[uint32]uint64{0: 0}}); err != nil {
			c.Error(err)
		}
	}}
	e, err := engine.Open(c.Context(), m, engine.Options{Now: time.Now, Rand: rand.Reader, Node: "late"})
	if err != nil {
		c.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.WithoutCancel(c.Context())); err != nil {
			c.Error(err)
		}
		release()
	}()
	if _, err := e.CommittedOffsets(c.Context(), ref, "reader"); err != nil {
		c.Errorf("the offset that was committed while a node started: %v", err)
	}
}

// latecomer lets something happen just before it lists committed offsets.
type latecomer struct {
	store.Store
	meanwhile func()
}

func (l *latecomer) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	if prefix == "o/" && l.meanwhile != nil {
		l.meanwhile()
		l.meanwhile = nil
	}
	return l.Store.List(ctx, prefix, after, limit)
}
