package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// watcher is the one subscription of this process, and whom it tells. Scripts publish what they did in the channel of
// their tag: "q" and a queue's generation, "c" and the same when its settings were replaced (whoever waits then learns of
// them), or "l", a log's generation, ":" and the number of a partition. What a process changed itself comes the same way.
// News that are lost with a connection are made up for by telling of everything.
type watcher struct {
	queues atomic.Pointer[func(store.QueueID)]
	logs   atomic.Pointer[func(store.LogID, uint32)]
	begin  sync.Once
	late   atomic.Bool     // Watch returned before the subscription was confirmed
	life   context.Context //nolint:containedctx // the subscription lives as long as the store
	end    context.CancelFunc
	work   sync.WaitGroup
}

const (
	// patience is how long Watch waits for the subscription to be confirmed.
	patience = time.Second
	// silence is after how long a subscription is asked whether it still works, and for how long it may not answer.
	silence = 5 * time.Second
	// againAfter is when a subscription that failed is tried again.
	againAfter = 100 * time.Millisecond
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

// subscribe starts to listen, once, and waits until the server has confirmed it, or for a moment if it does not answer.
func (s *Store) subscribe() {
	s.begin.Do(func() {
		confirmed := make(chan struct{})
		s.work.Go(func() { s.listen(confirmed) })
		select {
		case <-confirmed:
		case <-time.After(patience):
			s.late.Store(true)
		}
	})
}

// listen passes on what is published until the store is closed. It closes confirmed when the first subscription is there.
func (s *Store) listen(confirmed chan<- struct{}) {
	first := true
	for s.life.Err() == nil {
		s.hear(func() {
			if first {
				close(confirmed)
			}
			if !first || s.late.Load() {
				s.tellAll(s.life)
			}
			first = false
		})
		select {
		case <-s.life.Done():
		case <-time.After(againAfter):
		}
	}
}

// hear passes on what comes over one subscription until it fails, and calls ready when all channels are heard.
func (s *Store) hear(ready func()) {
	sub := s.client.SSubscribe(s.life)
	defer sub.Close() //nolint:errcheck // nothing is sent over it
	stop := context.AfterFunc(s.life, func() { _ = sub.Close() })
	defer stop()
	for i := range uint64(tags) {
		if sub.SSubscribe(s.life, s.news(i)) != nil { // one by one: they are in different slots
			return
		}
	}
	asked := false
	for {
		message, err := sub.ReceiveTimeout(s.life, silence)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && !asked && sub.Ping(s.life) == nil {
			asked = true
			continue
		}
		if err != nil {
			return
		}
		asked = false
		switch m := message.(type) {
		case *redis.Message:
			s.tell(m.Payload)
		case *redis.Subscription: // one for each channel
			if m.Count == tags {
				ready()
			}
		}
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

// tellAll announces every queue and every partition: what was published while the connection was lost is not known.
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

// stop ends the subscription and waits for it.
func (s *Store) stop() {
	s.end()
	s.work.Wait()
}
