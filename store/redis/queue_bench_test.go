package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// BenchmarkQueue lets 32 callers send a batch, receive one and acknowledge it, and does the same with the commands that
// Redis has for streams: XADD, XREADGROUP and XACK.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("batch %d", n), func(b *testing.B) { benchQueue(b, n) })
		b.Run(fmt.Sprintf("batch %d with stream commands", n), func(b *testing.B) { benchStream(b, n) })
	}
}

func benchQueue(b *testing.B, n int) {
	b.Helper()
	s := benchStore(b)
	if err := s.Configure(b.Context(), 1, store.Settings{Revision: 1}); err != nil {
		b.Fatal(err)
	}
	list := make([]store.Entry, n)
	for i := range list {
		list[i] = store.Entry{Payload: body, Size: uint32(len(body))}
	}
	parallel(b, n, func() error { return roundTrip(b.Context(), s, list) })
}

// roundTrip sends messages, takes as many that are there, and acknowledges them.
func roundTrip(ctx context.Context, s *Store, list []store.Entry) error {
	if _, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: list}); err != nil {
		return err
	}
	r, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: len(list), MaxBytes: 1 << 40, Visibility: time.Minute})
	if err != nil {
		return err
	}
	items := make([]store.SettleItem, len(r.Messages))
	for i, m := range r.Messages {
		items[i] = store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done}
	}
	_, err = s.Settle(ctx, store.SettleParams{Queue: 1, Revision: 1, Items: items})
	return err
}

func benchStream(b *testing.B, n int) {
	b.Helper()
	c := benchStore(b).client
	if err := c.XGroupCreateMkStream(b.Context(), "stream", "group", "0").Err(); err != nil {
		b.Fatal(err)
	}
	parallel(b, n, func() error { return streamRoundTrip(b.Context(), c, n) })
}

// streamRoundTrip does the same as roundTrip, as far as it is not more than a consumer group can do.
func streamRoundTrip(ctx context.Context, c redis.UniversalClient, n int) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range n {
			p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []any{"body", body}})
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: "group", Consumer: "consumer", Streams: []string{"stream", ">"}, Count: int64(n), Block: -1,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil // another caller took them
	}
	if err != nil {
		return err
	}
	ids := make([]string, len(got[0].Messages))
	for i, m := range got[0].Messages {
		ids[i] = m.ID
	}
	return c.XAck(ctx, "stream", "group", ids...).Err()
}
