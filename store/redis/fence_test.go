package redis

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	const none, other, third = "0000000000", "abcdefabcd", "1231231231"
	for _, c := range []struct {
		name string
		a, b identity
		same bool
	}{
		{"the same", identity{"run1", none}, identity{"run1", none}, true},
		{"started again", identity{"run1", none}, identity{"run2", none}, false},
		{"a replica that took over", identity{"run1", none}, identity{"run2", other}, false},
		{"was a replica in between", identity{"run1", none}, identity{"run1", other}, false},
		{"was one again", identity{"run1", other}, identity{"run1", third}, false},
		{"has forgotten whose place it took", identity{"run1", other}, identity{"run1", none}, true},
	} {
		if got := c.a.same(c.b); got != c.same {
			t.Errorf("%s: same = %t, want %t", c.name, got, c.same)
		}
	}
}

func TestKeepingUp(t *testing.T) {
	t.Parallel()
	facts := parseInfo("role:master\r\nconnected_slaves:4\r\n" +
		"slave0:ip=127.0.0.1,port=1,state=online,offset=14,lag=0\r\n" +
		"slave1:ip=127.0.0.1,port=2,state=online,offset=14,lag=2\r\n" +
		"slave2:ip=127.0.0.1,port=3,state=online,offset=14,lag=3\r\n" +
		"slave3:ip=127.0.0.1,port=4,state=wait_bgsave,offset=0,lag=0\r\n")
	if got := keepingUp(facts); got != 2 {
		t.Errorf("keepingUp = %d, want 2: one lags and one is not there yet", got)
	}
	if got := keepingUp(parseInfo("role:master\r\nconnected_slaves:0\r\n")); got != 0 {
		t.Errorf("keepingUp of a master alone = %d, want 0", got)
	}
}

// An address behind which another server stands from one connection to the next, and both go on.
func TestAnotherServerAtTheAddress(t *testing.T) {
	t.Parallel()
	one, two := ownServer(t), ownServer(t)
	q := store.QueueID(7)
	for _, at := range []running{one, two} { // as if one had been a copy of the other
		s := open(t, Options{URL: at.url})
		if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	p := newProxy(t, one.url)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: p.url(), Silence: time.Second}))
	first := sendUntil(t, s, q, "a")
	p.set(func() { p.target = two.url[len("redis://"):] })
	p.cut()
	next := sendUntil(t, s, q, "b")
	if next <= first {
		t.Errorf("on the other server a message has sequence %d, which the one before may have given out (it gave out %d)", next, first)
	}
	change, lost := seen.await(t)
	if change.Tags != allTags || lost.Sends != 1 {
		t.Errorf("reported %+v and %+v, want all tags and one message that is lost", change, lost)
	}

	// Connections to the first that are still open are not used again.
	p.set(func() { p.target = one.url[len("redis://"):] })
	p.cut()
	third := sendUntil(t, s, q, "c")
	if third <= next {
		t.Errorf("back on the first server a message has sequence %d, which the other may have given out (it gave out %d)", third, next)
	}
}

// A server that comes back without the records of who served it, because all was lost or someone removed them.
func TestAnotherServerWithoutRecords(t *testing.T) {
	t.Parallel()
	one, two := ownServer(t), ownServer(t)
	q := store.QueueID(7)
	for _, at := range []running{one, two} {
		s := open(t, Options{URL: at.url})
		if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	client := redistest.Client(t, two.url)
	records, err := client.Keys(t.Context(), "*fence").Result()
	if err != nil || len(records) != allTags {
		t.Fatalf("there are %d records, %v; want %d", len(records), err, allTags)
	}
	if err := client.Del(t.Context(), records...).Err(); err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, one.url)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: p.url(), Silence: time.Second}))
	first := sendUntil(t, s, q, "a")
	p.set(func() { p.target = two.url[len("redis://"):] })
	p.cut()
	if next := sendUntil(t, s, q, "b"); next <= first {
		t.Errorf("on the other server a message has sequence %d, which the one before may have given out (it gave out %d)", next, first)
	}
	change, lost := seen.await(t)
	if change.Tags != allTags || lost.Sends != 1 {
		t.Errorf("reported %+v and %+v, want all tags and one message that is lost", change, lost)
	}
}
