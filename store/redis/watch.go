package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// watcher is the subscriptions of this process, one for each server, and whom they tell. Scripts publish what they did in
// the channel of their tag: "q" and a queue's generation, "c" and the same when its settings were replaced (whoever waits
// then learns of them), or "l", a log's generation, ":" and the number of a partition. What a process changed itself comes
// the same way. News that are lost with a connection are made up for by telling of everything.
type watcher struct {
	queues atomic.Pointer[func(store.QueueID)]
	logs   atomic.Pointer[func(store.LogID, uint32)]
	begin  sync.Once
}

const (
	// patience is how long Watch waits for the subscriptions to be confirmed.
	patience = time.Second
	// silence is after how long a subscription is asked whether it still works, and for how long it may not answer.
	silence = 5 * time.Second
	// againAfter is when a subscription that failed is tried again.
	againAfter = 100 * time.Millisecond
	// regroupEvery is how often it is looked whether channels are on other servers by now.
	regroupEvery = 5 * time.Second
)

// Watch implements [store.Store].
func (s *Store) Watch(notify func(store.QueueID)) {
	s.queues.Store(&notify)
	s.subscribe()
}

// WatchLogs implements [store.LogAdmin].
func (s *Store) WatchLogs(notify func(store.LogID, uint32)) {
	s.logs.Store(&notify)
	s.subscribe()
}

// subscribe starts to listen, once, and waits until the servers have confirmed it, or for a moment if they do not answer.
func (s *Store) subscribe() {
	if s.enter() != nil {
		return // nothing is announced after Close
	}
	defer s.calls.Done()
	s.begin.Do(func() {
		l := &listener{store: s, heard: make(map[*server]*hearing), ended: make(chan struct{}, 1), all: make(chan struct{}), left: tags}
		s.work.Go(l.run)
		select {
		case <-l.all:
		case <-time.After(patience):
			l.mu.Lock()
			defer l.mu.Unlock()
			l.late = true
		}
	})
}

// listener has a subscription on each server, for the channels of the tags that are there.
type listener struct {
	store *Store
	heard map[*server]*hearing
	// ended has a signal when one of them has ended.
	ended chan struct{}

	mu        sync.Mutex
	confirmed [tags]bool // at least once
	left      int        // how many are not
	all       chan struct{}
	late      bool // Watch returned before they were
}

// hearing is one subscription.
type hearing struct {
	tags []int
	stop context.CancelFunc
	done chan struct{}
}

// run keeps the subscriptions as the tags are spread, until the store is closed.
func (l *listener) run() {
	life := l.store.life
	for life.Err() == nil {
		l.arrange(life)
		again := time.After(regroupEvery)
		select {
		case <-life.Done():
		case <-again:
		case <-l.ended:
			select { // not at once
			case <-life.Done():
			case <-time.After(againAfter):
			}
		}
	}
	for _, h := range l.heard {
		h.stop()
		<-h.done
	}
}

// arrange ends the subscriptions that are not as they should be, and begins those that are missing.
func (l *listener) arrange(ctx context.Context) {
	want := make(map[*server][]int)
	for tag := range tags {
		v, err := l.store.topology.route(ctx, l.store.news(uint64(tag)))
		if err != nil { // the others are heard all the same
			l.store.topology.failed()
			continue
		}
		want[v] = append(want[v], tag)
	}
	for v, h := range l.heard {
		ended := false
		select {
		case <-h.done:
			ended = true
		default:
		}
		if ended || !slices.Equal(h.tags, want[v]) {
			h.stop()
			<-h.done
			delete(l.heard, v)
		}
	}
	for v, list := range want {
		if l.heard[v] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		h := &hearing{list, stop, make(chan struct{})}
		l.heard[v] = h
		l.store.work.Go(func() {
			defer close(h.done)
			l.hear(own, v, list)
			l.store.topology.failed()
			select {
			case l.ended <- struct{}{}:
			default:
			}
		})
	}
}

// hear passes on what comes over one subscription until it fails.
func (l *listener) hear(ctx context.Context, v *server, list []int) {
	sub := v.client.SSubscribe(ctx)
	defer sub.Close() //nolint:errcheck // nothing is sent over it
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	for _, tag := range list {
		if sub.SSubscribe(ctx, l.store.news(uint64(tag))) != nil { // one by one: they are in different slots
			return
		}
	}
	asked := false
	for {
		message, err := sub.ReceiveTimeout(ctx, silence)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && !asked && sub.Ping(ctx) == nil {
			asked = true
			continue
		}
		if err != nil {
			return
		}
		asked = false
		switch m := message.(type) {
		case *redis.Message:
			l.store.tell(m.Payload)
		case *redis.Subscription: // one for each channel, and one when its slot goes to another server
			if m.Kind == "sunsubscribe" {
				return
			}
			if m.Count == len(list) {
				l.ready(ctx, list)
			}
		}
	}
}

// ready notes that some tags are heard. What was missed since they were heard last is made up for.
func (l *listener) ready(ctx context.Context, list []int) {
	l.mu.Lock()
	again := l.late
	for _, tag := range list {
		if l.confirmed[tag] {
			again = true
			continue
		}
		l.confirmed[tag] = true
		if l.left--; l.left == 0 {
			close(l.all)
		}
	}
	l.mu.Unlock()
	if again {
		l.store.tellAll(ctx)
	}
}

// tell passes on one announcement.
func (s *Store) tell(news string) {
	kind, rest := news[:min(len(news), 1)], news[min(len(news), 1):]
	generation, partition, _ := strings.Cut(rest, ":")
	id, err := strconv.ParseUint(generation, 10, 64)
	switch {
	case err != nil:
	case kind == "q", kind == "c":
		s.tellQueue(store.QueueID(id))
	case kind == "l":
		if p, err := strconv.ParseUint(partition, 10, 32); err == nil {
			s.tellLog(store.LogID(id), uint32(p))
		}
	}
}

func (s *Store) tellQueue(id store.QueueID) {
	if notify := s.queues.Load(); notify != nil {
		(*notify)(id)
	}
}

func (s *Store) tellLog(id store.LogID, partition uint32) {
	if notify := s.logs.Load(); notify != nil {
		(*notify)(id, partition)
	}
}

// tellAll announces every queue and every partition: what was published while some channels were not heard is not known.
func (s *Store) tellAll(ctx context.Context) {
	queues, err := s.enrolled(ctx, 'q', 0, math.MaxInt, "c")
	for _, id := range queues {
		s.tellQueue(store.QueueID(id))
	}
	logs, err2 := s.enrolled(ctx, 'l', 0, math.MaxInt, "c")
	for _, id := range logs {
		n, err := s.partitions(ctx, store.LogID(id))
		for p := range n {
			s.tellLog(store.LogID(id), p)
		}
		if err != nil {
			err2 = err
		}
	}
	for _, err := range []error{err, err2} {
		if err != nil && ctx.Err() == nil {
			s.o.Warning(fmt.Sprintf("After a lost connection to Redis those who wait could not be told: %v. They will look again by themselves.", err))
		}
	}
}
