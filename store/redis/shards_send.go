package redis

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// Send implements [store.Queues].
func (s *Store) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	res, err := spread(ctx, s, p.Queue, p, part.send, (*shardedQueue).send)
	return s.ahead().Sent(res), err
}

// send chooses a shard: with Once, or for a deduplication key, always the same one, else each in turn, and one that can take
// the messages if others cannot.
func (q *shardedQueue) send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	homes := q.homes(p)
	if homes != nil {
		return q.sendHome(ctx, p, homes)
	}
	first := q.turn(&q.sends)
	for i := 0; ; i++ {
		res, err := q.parts[(first+i)%len(q.parts)].sendHere(ctx, p)
		if err == nil || !mayTryOther(err) || i == len(q.parts)-1 {
			return res, err
		}
	}
}

// homes is the shard of each entry, nil if it does not matter. Entries without a deduplication key go where the call is
// remembered, or with the first one that has a key.
func (q *shardedQueue) homes(p store.SendParams) []int {
	first := slices.IndexFunc(p.Entries, func(e store.Entry) bool { return e.Dedup != (store.DedupKey{}) })
	if p.Once == nil && first < 0 {
		return nil
	}
	common := 0
	if p.Once != nil {
		common = q.home(p.Once.Key)
	} else {
		common = q.home(p.Entries[first].Dedup)
	}
	homes := make([]int, len(p.Entries))
	for i := range p.Entries {
		homes[i] = common
		if key := p.Entries[i].Dedup; key != (store.DedupKey{}) {
			homes[i] = q.home(key)
		}
	}
	return homes
}

// home is the shard where a key is remembered. Keys are hashes.
func (q *shardedQueue) home(key [16]byte) int {
	return int(binary.LittleEndian.Uint64(key[8:]) % uint64(len(q.parts)))
}

// sendHome sends each entry to its shard. When these are several, each is a call of its own, one after the other.
func (q *shardedQueue) sendHome(ctx context.Context, p store.SendParams, homes []int) (store.SendResult, error) {
	if !slices.ContainsFunc(homes, func(h int) bool { return h != homes[0] }) {
		return q.parts[homes[0]].sendHere(ctx, p)
	}
	all := store.SendResult{NextDue: store.NoDue, Fates: make([]store.Fate, len(p.Entries))}
	for shard := range q.parts {
		mine := p
		mine.Entries = nil
		for i, h := range homes {
			if h == shard {
				mine.Entries = append(mine.Entries, p.Entries[i])
			}
		}
		if mine.Entries == nil {
			continue
		}
		res, err := q.parts[shard].sendHere(ctx, mine)
		if err != nil {
			if all.SentAt.IsZero() {
				return store.SendResult{}, err
			}
			return store.SendResult{}, partly(err)
		}
		joinSent(&all, res, homes, shard)
	}
	return all, nil
}

// joinSent adds what one shard made of its entries to the result of all.
func joinSent(all *store.SendResult, res store.SendResult, homes []int, shard int) {
	n := 0
	for i, h := range homes {
		if h != shard {
			continue
		}
		if all.Fates[i] = (store.Fate{Verdict: store.Accepted, Seq: res.First + store.Seq(n)}); res.Fates != nil {
			all.Fates[i] = res.Fates[n]
		}
		n++
	}
	all.Count += res.Count
	all.Evicted += res.Evicted
	all.NextDue = min(all.NextDue, res.NextDue)
	if all.SentAt.IsZero() {
		all.SentAt = res.SentAt
	}
	if res.Duplicate {
		all.Duplicate, all.Note = true, res.Note
	}
}

// sendHere sends to one shard.
func (s part) sendHere(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	res, err := s.send(ctx, p)
	res.First = s.outer(res.First)
	for i := range res.Fates {
		res.Fates[i].Seq = s.outer(res.Fates[i].Seq)
	}
	return res, err
}
