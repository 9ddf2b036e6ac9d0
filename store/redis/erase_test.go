package redis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestErase removes what a store has on all servers of a cluster, and nothing of another one's.
func TestErase(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0)
	count := func(prefix string) (keys int) {
		t.Helper()
		for _, server := range fleet.Servers {
			o, err := redis.ParseURL(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			c := redis.NewClient(o)
			got, err := c.Keys(t.Context(), prefix+"*").Result()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			keys += len(got)
		}
		return keys
	}
	for _, prefix := range []string{"mine:", "other:"} {
		s := open(t, Options{URL: fleet.URL, Prefix: prefix, Silence: time.Second})
		for q := range store.QueueID(12) { // with tags on all servers
			if err := s.Configure(t.Context(), q+1, store.Settings{Revision: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := count("other:")
	if mine := count("mine:"); mine == 0 || before == 0 {
		t.Fatalf("there are %d keys of one and %d of the other, want some", mine, before)
	}
	if err := Erase(t.Context(), Options{URL: fleet.URL, Prefix: "mine:"}); err != nil {
		t.Fatalf("Erase = %v, want nil", err)
	}
	if mine, other := count("mine:"), count("other:"); mine != 0 || other != before {
		t.Errorf("after Erase there are %d keys of its prefix and %d of the other, want 0 and %d", mine, other, before)
	}
}
