package sqs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/sqs"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// fullStore has no room for another key.
type fullStore struct {
	*memory.Store
	full bool
}

func (s *fullStore) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if s.full && prev != store.AnyRevision {
		return 0, fmt.Errorf("put %s: %w", key, store.ErrFull)
	}
	return s.Store.Put(ctx, key, value, prev)
}

// TestAFullDiskCanBeEmptied: purging and deleting make room, so they do not need any.
func TestAFullDiskCanBeEmptied(t *testing.T) {
	t.Parallel()
	disk := &fullStore{Store: memory.New(memory.Options{Now: time.Now})}
	s := start(t, func(c *sqs.Config) {
		e, err := engine.Open(t.Context(), disk, engine.Options{Now: time.Now, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		c.Engine = e
	})
	url := s.queue("q", nil)
	disk.full = true
	s.do("PurgeQueue", params{"QueueUrl": url}).ok()
	s.do("DeleteQueue", params{"QueueUrl": url}).ok()
}
