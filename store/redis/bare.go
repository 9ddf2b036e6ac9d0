package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// Bare is what a [Store] is measured against. It does no more than it must: each call is one EVALSHA of a client with a
// pool, with the same scripts, for a queue of its own; or it is XADD, XREADGROUP and XACK on a stream of its own. Nothing
// is fenced, acknowledged by replicas, or shared by calls.
type Bare struct {
	store  *Store
	client redis.UniversalClient
	queue  store.QueueID
	body   []byte
}

const (
	bareGroup = "group"
	// bareVisibility is long enough for what was received to be acknowledged.
	bareVisibility = time.Minute
	bareMaxBytes   = 1 << 40
)

// OpenBare connects with a connection for each of so many callers. Messages have bodies of size bytes. The prefix of the
// options should be one that nothing else has.
func OpenBare(ctx context.Context, o Options, callers, size int) (*Bare, error) {
	s, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	own := s.endpoint.plainly()
	own.PoolSize = callers
	client := redis.NewUniversalClient(own)
	b := &Bare{store: s, client: client, body: make([]byte, size)}
	for i := range b.body {
		b.body[i] = 'x'
	}
	for _, sc := range []*script{queueSend, queueClaim, queueSettle} {
		if err := b.load(ctx, sc); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

func (b *Bare) load(ctx context.Context, sc *script) error {
	load := func(ctx context.Context, c *redis.Client) error { return c.ScriptLoad(ctx, sc.text).Err() }
	switch c := b.client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, load)
	case *redis.Client:
		return load(ctx, c)
	default:
		return fmt.Errorf("no way to load scripts with a %T", c)
	}
}

// Close leaves what is kept: see [Erase].
func (b *Bare) Close() error { return errors.Join(b.client.Close(), b.store.Close()) }

// Promise says in a few words how the server keeps what it is given.
func (b *Bare) Promise(ctx context.Context) string {
	got, err := b.client.ConfigGet(ctx, "append*").Result()
	if err != nil {
		return "unknown"
	}
	if got["appendonly"] != "yes" {
		return "no append-only file"
	}
	return "appendfsync " + got["appendfsync"]
}

// Renew makes an empty queue and an empty stream, and removes those before. No other call may be under way.
func (b *Bare) Renew(ctx context.Context) error {
	if b.queue != 0 {
		if err := errors.Join(b.store.Drop(ctx, b.queue), b.client.Unlink(ctx, b.stream()).Err()); err != nil {
			return err
		}
	}
	b.queue++
	err := b.store.Configure(ctx, b.queue, store.Settings{Revision: 1})
	return errors.Join(err, b.client.XGroupCreateMkStream(ctx, b.stream(), bareGroup, "0").Err())
}

// stream is the key of the stream, in the slot of the queue.
func (b *Bare) stream() string { return b.store.keys('q', uint64(b.queue), "stream")[0] }

// Send appends n messages to the queue.
func (b *Bare) Send(ctx context.Context, n int) error {
	p := store.SendParams{Entries: slices.Repeat([]store.Entry{{Payload: b.body, Size: uint32(len(b.body))}}, n)}
	r, now, err := b.run(ctx, queueSend, sendArgs(p)...)
	if err != nil {
		return err
	}
	_, _, err = r.sent(now, n)
	return err
}

// Receive claims up to n messages and settles them as done. It returns how many there were.
func (b *Bare) Receive(ctx context.Context, n int) (int, error) {
	r, now, err := b.run(ctx, queueClaim, "", 0, n, bareMaxBytes, bareVisibility.Milliseconds(), "")
	if err != nil {
		return 0, err
	}
	list, _ := r.claimed(now)
	if err := r.done(); err != nil || len(list) != 1 || len(list[0].result.Messages) == 0 {
		return 0, err
	}
	got := list[0].result
	p := store.SettleParams{Items: make([]store.SettleItem, len(got.Messages))}
	for i, m := range got.Messages {
		p.Items[i] = store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done}
	}
	r, now, err = b.run(ctx, queueSettle, settleArgs(p)...)
	if err != nil {
		return 0, err
	}
	_, err = r.settled(now, false)
	return len(p.Items), err
}

// run runs a script of the queue as [part.queue] does.
func (b *Bare) run(ctx context.Context, sc *script, args ...any) (*reply, int64, error) {
	s := b.store.whole()
	at := &timeOf{store: b.store}
	var err error
	if at.server, err = b.store.topology.route(ctx, s.keysOf(b.queue)[0]); err != nil {
		return nil, 0, err
	}
	all := append([]any{at, "0 0", s.name(b.queue), "1"}, args...)
	for {
		list, err := b.client.EvalSha(ctx, sc.sum, s.keysOf(b.queue), all...).Slice()
		if err != nil {
			return nil, 0, err
		}
		r := newReply(sc, list)
		now := r.int()
		switch status := r.int(); status {
		case done:
			r.commit = r.int()
			return r, now, nil
		case again:
		default:
			return nil, 0, fmt.Errorf("script %s returned status %d", sc.name, status)
		}
	}
}

// StreamSend appends n messages to the stream, with an XADD for each in one pipeline.
func (b *Bare) StreamSend(ctx context.Context, n int) error {
	_, err := b.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range n {
			p.XAdd(ctx, &redis.XAddArgs{Stream: b.stream(), Values: []any{"body", b.body}})
		}
		return nil
	})
	return err
}

// StreamReceive reads up to n messages of the stream for the group and acknowledges them. It returns how many there were.
func (b *Bare) StreamReceive(ctx context.Context, n int) (int, error) {
	got, err := b.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: bareGroup, Consumer: "consumer", Streams: []string{b.stream(), ">"}, Count: int64(n), Block: -1,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(got[0].Messages))
	for i, m := range got[0].Messages {
		ids[i] = m.ID
	}
	return len(ids), b.client.XAck(ctx, b.stream(), bareGroup, ids...).Err()
}
