package engine

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// forgetful is a store that loses parts of what it was told, as a failover of one of several servers does: parts of it are
// of an earlier time than others.
type forgetful struct {
	store.Store

	mu sync.Mutex
	// earlier are pairs as they are read, although they were changed since.
	earlier map[string]store.Pair
	// dropped are generations that remember only that they were dropped.
	dropped map[store.QueueID]bool
	logs    map[store.LogID]bool
}

func (f *forgetful) Get(ctx context.Context, key string) (store.Pair, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.earlier[key]; ok {
		return p, nil
	}
	return f.Store.Get(ctx, key)
}

func (f *forgetful) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pairs, err := f.Store.List(ctx, prefix, after, limit)
	for i := range pairs {
		if p, ok := f.earlier[pairs[i].Key]; ok {
			pairs[i] = p
		}
	}
	return pairs, err
}

func (f *forgetful) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.earlier[key]; ok && p.Revision == prev {
		delete(f.earlier, key)
		prev = store.AnyRevision
	}
	return f.Store.Put(ctx, key, value, prev)
}

func (f *forgetful) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped[q] {
		return store.ErrGone
	}
	return f.Store.Configure(ctx, q, s)
}

func (f *forgetful) ConfigureLog(ctx context.Context, l store.LogID, s store.LogSettings) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs[l] {
		return store.ErrGone
	}
	return f.Store.ConfigureLog(ctx, l, s)
}

// losing is one node on a forgetful store.
type losing struct {
	*testing.T
	*Engine
	store  *forgetful
	failed int // how often work in the background did
}

// lose runs a test in a bubble.
func lose(t *testing.T, test func(*losing)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(&losing{T: t, store: &forgetful{
			Store: memory.New(memory.Options{Now: time.Now}), earlier: map[string]store.Pair{},
			dropped: map[store.QueueID]bool{}, logs: map[store.LogID]bool{},
		}})
	})
}

// start begins an engine, again if there was one.
func (l *losing) start() {
	l.Helper()
	l.stop()
	var err error
	l.Engine, err = Open(l.Context(), unwatched{l.store}, Options{
		Now: time.Now, Rand: rand.Reader, Node: "n", Events: Events{JanitorFailed: func(Ref, error) { l.failed++ }},
	})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(l.stop)
}

func (l *losing) stop() {
	if l.Engine == nil {
		return
	}
	if err := l.Close(context.WithoutCancel(l.Context())); err != nil {
		l.Error(err)
	}
	l.Engine = nil
}

// unwatched may be opened again.
type unwatched struct{ store.Store }

func (unwatched) Watch(func(store.QueueID))           {}
func (unwatched) WatchLogs(func(store.LogID, uint32)) {}

func (l *losing) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var (
	lostRef  = Ref{"t", "q"}
	graveRef = Ref{"t", "grave"}
)

func (l *losing) put(ref Ref, change func(*QueueConfig)) (created bool) {
	l.Helper()
	c := DefaultConfig()
	if change != nil {
		change(&c)
	}
	_, created, err := l.PutQueue(l.Context(), ref, c, Condition{})
	if err != nil {
		l.Fatal(err)
	}
	return created
}

func (l *losing) putTopic(change func(*TopicConfig)) (created bool) {
	l.Helper()
	c := DefaultTopicConfig()
	if change != nil {
		change(&c)
	}
	_, created, err := l.PutTopic(l.Context(), lostRef, c, Condition{})
	if err != nil {
		l.Fatal(err)
	}
	return created
}

// send and produce give the code of their error, empty if there was none.
func (l *losing) send() Code {
	return codeOf(l.Send(l.Context(), lostRef, SendRequest{Messages: make([]Message, 1)}))
}

func (l *losing) produce() Code {
	return codeOf(l.Produce(l.Context(), lostRef, ProduceRequest{Records: make([]Record, 1)}))
}

func codeOf[T any](_ T, err error) Code {
	if err == nil {
		return ""
	}
	return ErrorOf(err).Code
}

func (l *losing) want(what string, got, want Code) {
	l.Helper()
	if got != want {
		l.Errorf("%s: got code %q, want %q", what, got, want)
	}
}

func (l *losing) generation(ref Ref) store.QueueID {
	l.Helper()
	q, ok := l.catalog.byName(ref)
	if !ok {
		l.Fatalf("%s is not known", ref)
	}
	return q.id
}

func (l *losing) log() store.LogID {
	l.Helper()
	t, ok := l.topics.byName(lostRef)
	if !ok {
		l.Fatal("the topic is not known")
	}
	return t.id
}

// forget loses all changes of a key since a pair was read.
func (l *losing) forget(p store.Pair) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.store.earlier[p.Key] = p
}

func (l *losing) pair(key string) store.Pair {
	l.Helper()
	p, err := l.store.Get(l.Context(), key)
	if err != nil {
		l.Fatal(err)
	}
	return p
}

func (l *losing) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func TestAQueueThatTheStoreLostIsMadeAgain(t *testing.T) {
	lose(t, func(l *losing) {
		l.start()
		l.put(graveRef, nil)
		l.put(lostRef, func(c *QueueConfig) {
			c.Retry.MaxReceives, c.DeadLetter.Queue = 1, graveRef.Name
		})
		l.putTopic(nil)
		l.must(l.store.Drop(l.Context(), l.generation(lostRef)))
		l.must(l.store.DropLog(l.Context(), l.log()))
		l.want("send", l.send(), "")
		l.want("produce", l.produce(), "")
		l.must(l.store.Drop(l.Context(), l.generation(lostRef)))
		if _, err := l.Queue(l.Context(), lostRef); err != nil {
			l.Errorf("show a queue that the store lost: %v", err)
		}

		// A dead-letter queue that nobody calls.
		l.want("send", l.send(), "")
		got, err := l.Receive(l.Context(), lostRef, ReceiveRequest{})
		if err != nil || len(got.Messages) != 1 {
			l.Fatalf("receive: %v, %v", got, err)
		}
		l.must(l.store.Drop(l.Context(), l.generation(graveRef)))
		if _, err := l.Nack(l.Context(), lostRef, []NackItem{{Receipt: got.Messages[0].Receipt}}, ""); err != nil {
			l.Fatal(err)
		}
		l.pass(5 * time.Second)
		if stats, err := l.store.Stats(l.Context(), l.generation(graveRef)); err != nil || stats.Ready != 1 {
			l.Errorf("the dead-letter queue that was lost has %+v, %v, want one message", stats, err)
		}
	})
}

func TestACatalogThatLostAChangeConverges(t *testing.T) {
	for name, restarted := range map[string]bool{"known": false, "unknown": true} {
		t.Run(name, func(t *testing.T) {
			lose(t, func(l *losing) {
				l.start()
				l.put(lostRef, nil)
				l.putTopic(nil)
				queue, topic := l.pair(catalogKey(lostRef)), l.pair(topicKey(lostRef))
				l.put(lostRef, func(c *QueueConfig) { c.Visibility = time.Hour })
				l.putTopic(func(c *TopicConfig) { c.RetentionAge = time.Hour })
				l.forget(queue)
				l.forget(topic)
				begun := time.Now()
				if restarted { // it has never seen what was lost
					l.start()
				} else {
					l.pass(11 * time.Second) // it looks for changes of others
					begun = time.Now()
				}
				for l.send() != "" || l.produce() != "" {
					if !restarted || time.Since(begun) > 10*time.Second {
						l.Fatalf("%v after the loss calls are refused", time.Since(begun))
					}
					l.pass(time.Second)
				}
				shown, err := l.Queue(l.Context(), lostRef)
				if err != nil || shown.Config.Visibility != DefaultConfig().Visibility {
					l.Errorf("the queue is shown as %+v, %v, want that of before the change", shown, err)
				}
				log, err := l.Topic(l.Context(), lostRef)
				if err != nil || log.Config.RetentionAge != DefaultTopicConfig().RetentionAge {
					l.Errorf("the topic is shown as %+v, %v, want that of before the change", log, err)
				}
				if p := l.pair(catalogKey(lostRef)); shown.ETag != etag(p.Revision) || p.Revision <= queue.Revision {
					l.Errorf("ETag %s, revision in the catalog %d", shown.ETag, p.Revision)
				}
				stats, err := l.store.Stats(l.Context(), l.generation(lostRef))
				if err != nil || etag(store.Revision(stats.Revision)) != shown.ETag {
					l.Errorf("the store has revision %d (%v), the ETag is %s", stats.Revision, err, shown.ETag)
				}
			})
		})
	}
}

func TestAQueueThatTheCatalogLostIsDroppedInTime(t *testing.T) {
	lose(t, func(l *losing) {
		l.start()
		l.put(graveRef, nil)
		l.put(lostRef, nil)
		l.putTopic(nil)
		queue, log := l.generation(lostRef), l.log()
		l.must(l.store.Delete(l.Context(), catalogKey(lostRef), store.AnyRevision))
		l.must(l.store.Delete(l.Context(), topicKey(lostRef), store.AnyRevision))
		l.pass(11 * time.Second)
		l.want("send", l.send(), CodeNotFound)
		l.want("produce", l.produce(), CodeNotFound)
		l.start() // which is no reason to hurry
		l.pass(9 * time.Minute)
		if _, err := l.store.Stats(l.Context(), queue); err != nil {
			l.Errorf("after 9 minutes: %v", err)
		}
		l.pass(12 * time.Minute)
		if _, err := l.store.Stats(l.Context(), queue); err == nil {
			l.Error("after 21 minutes the queue is still in the store")
		}
		if _, err := l.store.Bounds(l.Context(), log); err == nil {
			l.Error("after 21 minutes the topic is still in the store")
		}
		if _, err := l.store.Stats(l.Context(), l.generation(graveRef)); err != nil {
			l.Errorf("another queue: %v", err)
		}
	})
}

func TestALostCatalogCostsNoMessages(t *testing.T) {
	lose(t, func(l *losing) {
		l.start()
		for i := range mostOrphans + 1 {
			ref := Ref{"t", string(rune('a' + i))}
			l.put(ref, nil)
			l.must(l.store.Delete(l.Context(), catalogKey(ref), store.AnyRevision))
		}
		l.pass(time.Hour)
		ids, err := l.store.Queues(l.Context(), 0, 100)
		if err != nil || len(ids) != mostOrphans+1 {
			l.Errorf("queues in the store: %d, %v, want all %d", len(ids), err, mostOrphans+1)
		}
		if l.failed == 0 {
			l.Error("nobody was told")
		}
	})
}

// TestADeletionThatTheCatalogLostIsMadeUpFor has generations that the store knows to be dropped in the catalog again.
func TestADeletionThatTheCatalogLostIsMadeUpFor(t *testing.T) {
	dropped := func(l *losing) {
		l.Helper()
		q, log := l.generation(lostRef), l.log()
		l.must(l.store.Drop(l.Context(), q))
		l.must(l.store.DropLog(l.Context(), log))
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		l.store.dropped[q], l.store.logs[log] = true, true
	}
	lose(t, func(l *losing) {
		l.start()
		for _, found := range []func(){
			func() {
				l.want("send", l.send(), CodeNotFound)
				l.want("produce", l.produce(), CodeNotFound)
				if !l.put(lostRef, nil) || !l.putTopic(nil) {
					l.Error("the deletion was not made up for")
				}
			},
			func() {
				if !l.put(lostRef, nil) || !l.putTopic(nil) {
					l.Error("put changed something that was dropped, instead of making another")
				}
			},
			func() {
				l.must(l.DeleteQueue(l.Context(), lostRef, Condition{}, false))
				l.must(l.DeleteTopic(l.Context(), lostRef, Condition{}))
				l.put(lostRef, nil)
				l.putTopic(nil)
			},
			func() {
				l.start()
				l.want("send", l.send(), CodeNotFound)
				l.want("produce", l.produce(), CodeNotFound)
				l.put(lostRef, nil)
				l.putTopic(nil)
			},
		} {
			l.put(lostRef, nil)
			l.putTopic(nil)
			dropped(l)
			found()
			l.want("send", l.send(), "")
			l.want("produce", l.produce(), "")
		}
	})
}
