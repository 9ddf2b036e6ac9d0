package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store"
)

// A queue with shards is kept as several queues, of which each has keys of its own, in slots of its own: the package's
// section on shards says where. What callers see of it are the sums and the sequences in which the shard is written above
// its own.
//
// How many shards a generation has is in the settings of its first one, and never changes. Who has not been told yet calls the
// first shard as if it were the whole queue, and is refused with that number: so queues without shards cost nothing.

const (
	// maxShards is [store.Info.Shards].
	maxShards = 64
	// shardShift is where the number of a shard begins in a sequence; those within a shard stay below that.
	shardShift = 47
	// shardsAbreast is how many shards one call asks at once.
	shardsAbreast = 16
)

// part is one shard of a queue, or all of one that has no shards.
type part struct {
	*Store
	// shard is its number, of is how many there are; 0 if the queue has no shards.
	shard, of uint32
}

// whole is a queue that has no shards as far as is known.
func (s *Store) whole() part { return part{Store: s} }

// name is how scripts call it.
func (s part) name(id store.QueueID) string {
	if s.of == 0 {
		return decimal(uint64(id))
	}
	return fmt.Sprintf("%d:%d", id, s.shard)
}

// keysOf are KEYS of the scripts of a queue.
func (s part) keysOf(id store.QueueID) []string {
	if s.shard == 0 {
		return append(s.keys('q', uint64(id), queueKeys...), s.news(uint64(id)))
	}
	tag := shardTag(id, s.shard, s.of)
	base := fmt.Sprintf("%s{%02x}q%d.%d:", s.o.Prefix, tag, id, s.shard)
	list := make([]string, len(queueKeys), len(queueKeys)+1)
	for i, name := range queueKeys {
		list[i] = base + name
	}
	return append(list, s.news(uint64(tag)))
}

// outer is the sequence that callers know a message of this shard by, or 0.
func (s part) outer(seq store.Seq) store.Seq {
	if seq == 0 {
		return 0
	}
	return store.Seq(s.shard)<<shardShift | seq
}

// inner takes a sequence that callers know apart. There may be no such shard.
func inner(seq store.Seq) (shard uint64, own store.Seq) {
	return uint64(seq >> shardShift), seq & (1<<shardShift - 1)
}

// shardedQueue is a queue with shards, as long as this process knows of it.
type shardedQueue struct {
	*Store
	id    store.QueueID
	parts []part
	// sends and claims count calls: each begins with another shard.
	sends, claims atomic.Uint32
}

// turn is the number of the next shard.
func (q *shardedQueue) turn(calls *atomic.Uint32) int {
	return int((calls.Add(1) - 1) % uint32(len(q.parts)))
}

// shardMemory is which queues have shards, as far as this process was told.
type shardMemory struct{ known sync.Map } // store.QueueID -> *shardedQueue

func (m *shardMemory) of(id store.QueueID) *shardedQueue {
	q, ok := m.known.Load(id)
	if !ok {
		return nil
	}
	return q.(*shardedQueue)
}

// sharded remembers how many shards a queue has.
func (s *Store) sharded(id store.QueueID, n uint32) *shardedQueue {
	q, _ := s.shards.known.LoadOrStore(id, s.shardsOf(id, n))
	return q.(*shardedQueue)
}

func (s *Store) shardsOf(id store.QueueID, n uint32) *shardedQueue {
	q := &shardedQueue{Store: s, id: id, parts: make([]part, n)}
	for i := range q.parts {
		q.parts[i] = part{s, uint32(i), n}
	}
	return q
}

// shardedError refuses a call on a queue as a whole.
type shardedError struct{ shards uint32 }

func (e *shardedError) Error() string { return fmt.Sprintf("the queue has %d shards", e.shards) }

// learned is the queue if that is what an error says, else nil.
func (s *Store) learned(id store.QueueID, err error) *shardedQueue {
	if e, ok := errors.AsType[*shardedError](err); ok {
		return s.sharded(id, e.shards)
	}
	return nil
}

// spread makes a call on a queue, or on its shards if it has some.
func spread[P, R any](ctx context.Context, s *Store, id store.QueueID, p P,
	whole func(part, context.Context, P) (R, error), over func(*shardedQueue, context.Context, P) (R, error),
) (R, error) {
	if q := s.shards.of(id); q != nil {
		return over(q, ctx, p)
	}
	res, err := whole(s.whole(), ctx, p)
	if q := s.learned(id, err); q != nil {
		return over(q, ctx, p)
	}
	return res, err
}

// partsOf are the shards of a queue, or the queue itself. It may ask the server.
func (s *Store) partsOf(ctx context.Context, id store.QueueID) ([]part, error) {
	return spread(ctx, s, id, id, func(p part, ctx context.Context, id store.QueueID) ([]part, error) {
		_, err := p.stats(ctx, id)
		return []part{p}, err
	}, func(q *shardedQueue, _ context.Context, _ store.QueueID) ([]part, error) { return q.parts, nil })
}

// abreast calls do with each part, several at once, and returns what each returns.
func abreast[R any](parts []part, do func(i int, p part) (R, error)) ([]R, []error) {
	results, errs := make([]R, len(parts)), make([]error, len(parts))
	if len(parts) == 1 {
		results[0], errs[0] = do(0, parts[0])
		return results, errs
	}
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(len(parts), shardsAbreast) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				results[i], errs[i] = do(i, parts[i])
			}
		})
	}
	work.Wait()
	return results, errs
}

// united is the error of a call that several shards have had a part in. It is [store.ErrUnknown] when some of them have
// made a change and others not.
func united(errs []error) error {
	failed := firstOf(errs)
	if failed == nil || !slices.Contains(errs, nil) {
		return failed
	}
	return partly(failed)
}

// partly is the error of a call that has made a part of its changes when it failed.
func partly(err error) error {
	if errors.Is(err, store.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: other shards of the queue have made their part: %v", store.ErrUnknown, err) //nolint:errorlint // it is none of the others
}

// firstOf is an error, one that leaves the outcome open before others.
func firstOf(errs []error) error {
	var first error
	for _, err := range errs {
		if first == nil || errors.Is(err, store.ErrUnknown) && !errors.Is(first, store.ErrUnknown) {
			first = err
		}
	}
	return first
}

// mayTryOther says that a call may be tried in another shard instead: this one has no server or no room now, and nothing
// was changed.
func mayTryOther(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull)
}
