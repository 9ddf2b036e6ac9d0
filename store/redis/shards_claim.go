package redis

import (
	"context"
	"errors"

	"github.com/dabba-mq/dabba/store"
)

// Claim implements [store.Queues].
func (s *Store) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	res, err := spread(ctx, s, p.Queue, p, part.claim, (*shardedQueue).claim)
	if ahead := s.ahead(); ahead != 0 && err == nil {
		res.Deadline = ahead.Show(res.Deadline)
		for i := range res.Messages {
			res.Messages[i] = ahead.Delivery(res.Messages[i])
		}
	}
	return res, err
}

// claim asks one shard after the other, each time beginning with the next one, until one gives messages: those of one call
// share a token. When the first has nothing, or nothing more, it looks into all others at once.
func (q *shardedQueue) claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	if p.Attempt != ([16]byte{}) {
		res, err := q.repeatClaim(ctx, p)
		if err != nil || res.Repeated || res.Spent {
			return res, err
		}
	}
	first := q.turn(&q.claims)
	c := claiming{ClaimResult: store.ClaimResult{NextDue: store.NoDue}}
	if !c.ask(ctx, q.parts[first], p) || c.Ready {
		return c.result()
	}
	others := make([]part, 0, len(q.parts)-1)
	others = append(append(others, q.parts[first+1:]...), q.parts[:first]...)
	looks, errs := abreast(others, func(_ int, s part) (store.Stats, error) { return s.stats(ctx, q.id) })
	for i, s := range others {
		switch {
		case errs[i] != nil:
			c.fail(errs[i])
		case looks[i].Ready == 0:
			c.NextDue = min(c.NextDue, looks[i].NextDue)
		case len(c.Messages) > 0:
			c.Ready = true
		case !c.ask(ctx, s, p):
			return c.result()
		}
	}
	return c.result()
}

// claiming is a claim that asks shards.
type claiming struct {
	store.ClaimResult
	failed error // why a shard could not be asked
}

// ask claims from a shard. It returns false when it makes no sense to ask another one.
func (c *claiming) ask(ctx context.Context, s part, p store.ClaimParams) bool {
	res, err := s.claimHere(ctx, p)
	if err != nil {
		return c.fail(err)
	}
	res.Died += c.Died
	res.Expired += c.Expired
	res.NextDue = min(res.NextDue, c.NextDue)
	c.ClaimResult = res
	return true
}

// fail keeps in mind why a shard gave nothing, and says whether another one may.
func (c *claiming) fail(err error) bool {
	mayOther := mayTryOther(err) || errors.Is(err, store.ErrUnknown)
	if c.failed == nil || !mayOther {
		c.failed = err
	}
	return mayOther
}

// result is an error only when it can hide nothing that was done.
func (c *claiming) result() (store.ClaimResult, error) {
	if c.failed == nil || len(c.Messages) > 0 {
		return c.ClaimResult, nil
	}
	if c.Died+c.Expired > 0 {
		c.NextDue = 0
		return c.ClaimResult, nil
	}
	return store.ClaimResult{}, c.failed
}

// repeatClaim looks for the shard that has given messages to this attempt before. A claim of nothing does that alone.
func (q *shardedQueue) repeatClaim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	p.Max = 0
	found, errs := abreast(q.parts, func(_ int, s part) (store.ClaimResult, error) { return s.claimHere(ctx, p) })
	for _, res := range found {
		if !res.Repeated && !res.Spent {
			continue
		}
		for _, other := range found {
			res.Ready = res.Ready || other.Ready
			res.NextDue = min(res.NextDue, other.NextDue)
		}
		return res, nil
	}
	return store.ClaimResult{}, firstOf(errs)
}

// claimHere claims from one shard.
func (s part) claimHere(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	res, err := s.claim(ctx, p)
	for i := range res.Messages {
		res.Messages[i].Seq = s.outer(res.Messages[i].Seq)
	}
	return res, err
}
