package redistest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// put writes a key, waits until at least so many replicas have it, if that is said, and returns how many have it within a moment.
func put(t *testing.T, s *Server, key, value string, least ...int) (copies int64) {
	t.Helper()
	err := s.within(patience, func(ctx context.Context, c *redis.Client) error {
		conn := c.Conn()
		defer conn.Close() //nolint:errcheck // nothing is left to say
		if err := conn.Set(ctx, key, value, 0).Err(); err != nil {
			return err
		}
		for _, n := range least {
			if err := conn.Wait(ctx, n, patience/2).Err(); err != nil { // a busy machine may take long
				return err
			}
		}
		var err error
		copies, err = conn.Wait(ctx, 2, 300*time.Millisecond).Result()
		return err
	})
	if err != nil {
		t.Fatalf("write %s: %v", key, err)
	}
	return copies
}

// read is a value, or "" if there is none.
func read(t *testing.T, s *Server, key string) string {
	t.Helper()
	var value string
	err := s.within(patience, func(ctx context.Context, c *redis.Client) (err error) {
		value, err = c.Get(ctx, key).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("read %s: %v", key, err)
	}
	return value
}

// took says how long something was.
func took(t *testing.T, what string, begun time.Time) {
	t.Helper()
	t.Logf("%s after %v", what, time.Since(begun).Round(time.Millisecond))
}

func TestReplicated(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	r := StartReplicated(t, 2)
	took(t, "in sync", begun)
	if n := put(t, r.Master, "k", "v", 2); n != 2 {
		t.Errorf("a write is on %d replicas, want 2", n)
	}
	r.Replicas[0].Freeze(t)
	if n := put(t, r.Master, "k", "w", 1); n != 1 {
		t.Errorf("a write is on %d replicas while one is frozen, want 1", n)
	}
	r.Replicas[0].Thaw(t)
	r.Replicas[1].Kill()
	r.AwaitSync(t)
	r.Replicas[1].Restart(t)
	r.AwaitSync(t)
	if got := read(t, r.Replicas[1], "k"); got != "w" {
		t.Errorf("a replica that was started again has %q, want w", got)
	}
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	s := StartSentinel(t)
	took(t, "whole", begun)
	old := s.Master(t)
	if old != s.Servers[0] {
		t.Errorf("the master is %s, want %s", old.Name, s.Servers[0].Name)
	}
	if n := put(t, old, "k", "v", 2); n != 2 {
		t.Errorf("a write is on %d replicas, want 2", n)
	}
	begun = time.Now()
	old.Kill()
	master := s.AwaitFailover(t, old)
	took(t, "another master", begun)
	if got := read(t, master, "k"); got != "v" {
		t.Errorf("the new master has %q, want v", got)
	}
	begun = time.Now()
	old.Restart(t)
	s.AwaitWhole(t)
	took(t, "whole again", begun)
	begun = time.Now()
	old = s.Master(t)
	if old != master {
		t.Errorf("the master is %s, want %s", old.Name, master.Name)
	}
	old.Freeze(t)
	master = s.AwaitFailover(t, old)
	put(t, master, "k", "w")
	took(t, "another master than the frozen one", begun)
	begun = time.Now()
	old.Thaw(t)
	s.Sentinels[0].Kill()
	s.Sentinels[0].Restart(t)
	s.AwaitWhole(t)
	took(t, "whole again", begun)
	if got := read(t, old, "k"); got != "w" {
		t.Errorf("the old master has %q, want w", got)
	}
}

// Both sides of a network that is parted accept writes, and those of the smaller side are lost when it is whole again.
func TestSentinelParted(t *testing.T) {
	t.Parallel()
	n := NewNet(t)
	s := StartSentinelOn(t, n)
	old := s.Master(t)
	if n := put(t, old, "before", "v", 2); n != 2 {
		t.Errorf("a write is on %d replicas, want 2", n)
	}
	n.Join("test", os.Getpid())
	hears := func(s *Server) error {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second})
		defer c.Close() //nolint:errcheck // only asked
		return c.Ping(t.Context()).Err()
	}
	begun := time.Now()
	n.Isolate(old.Name, "test")
	if n := put(t, old, "lost", "v"); n != 0 {
		t.Errorf("a write is on %d replicas of a server that is alone, want 0", n)
	}
	master := s.AwaitFailover(t, old)
	took(t, "another master", begun)
	if err := hears(old); err != nil {
		t.Errorf("who is on the side of the old master does not reach it: %v", err)
	}
	if hears(master) == nil || hears(s.Sentinels[0]) == nil {
		t.Error("who is on the side of the old master reaches the other side")
	}
	put(t, master, "kept", "v")
	put(t, old, "lost too", "v")
	begun = time.Now()
	n.Heal()
	s.AwaitWhole(t)
	took(t, "whole again", begun)
	for key, want := range map[string]string{"before": "v", "kept": "v", "lost": "", "lost too": ""} {
		for _, server := range s.Servers {
			if got := read(t, server, key); got != want {
				t.Errorf("%s has %q for %s, want %q", server.Name, got, key, want)
			}
		}
	}
	if got := s.Master(t); got != master {
		t.Errorf("the master is %s, want %s", got.Name, master.Name)
	}
}

func TestClusterFailover(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	c := StartCluster(t, 3, 3)
	took(t, "whole", begun)
	old := c.MasterOf(t, "k")
	if n := put(t, old, "k", "v", 1); n != 1 {
		t.Errorf("a write is on %d replicas, want 1", n)
	}
	replicas := c.ReplicasOf(t, old)
	begun = time.Now()
	old.Kill()
	master := c.AwaitFailover(t, "k", old)
	took(t, "another master", begun)
	if len(replicas) != 1 || replicas[0] != master {
		t.Errorf("the replicas of the master were %v, the new master is %v", replicas, master)
	}
	if got := read(t, master, "k"); got != "v" {
		t.Errorf("the new master has %q, want v", got)
	}
	begun = time.Now()
	old.Restart(t)
	c.AwaitWhole(t)
	took(t, "whole again", begun)
	begun = time.Now()
	master.Freeze(t)
	if again := c.AwaitFailover(t, "k", master); again != old {
		t.Errorf("the master after that is %s, want %s", again.Name, old.Name)
	}
	took(t, "another master than the frozen one", begun)
	master.Thaw(t)
	c.AwaitWhole(t)
}

func TestClusterParted(t *testing.T) {
	t.Parallel()
	n := NewNet(t)
	c := StartClusterOn(t, n, 3, 3)
	old := c.MasterOf(t, "k")
	if n := put(t, old, "k", "v", 1); n != 1 {
		t.Errorf("a write is on %d replicas, want 1", n)
	}
	begun := time.Now()
	n.Isolate(old.Name)
	put(t, old, "k", "lost")
	master := c.AwaitFailover(t, "k", old)
	took(t, "another master", begun)
	begun = time.Now()
	n.Heal()
	c.AwaitWhole(t)
	took(t, "whole again", begun)
	if got := read(t, master, "k"); got != "v" {
		t.Errorf("after all the value is %q, want v", got)
	}
	// What is on its way to a replica when its master dies is lost with the connection.
	n.Between([]string{master.Name}, []string{old.Name})
	if n := put(t, master, "k", "late"); n != 0 {
		t.Errorf("a write is on %d replicas that do not reach the master, want 0", n)
	}
	if c.MasterOf(t, "k") != master {
		t.Error("a master was replaced that only its replica does not reach")
	}
	master.Kill()
	n.Sever()
	master = c.AwaitFailover(t, "k", master)
	if got := read(t, master, "k"); got != "v" {
		t.Errorf("the replica has %q, want v", got)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := StartProxy(t, s)
	o, err := redis.ParseURL(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries, o.ReadTimeout = -1, 1, 300*time.Millisecond
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // only asked
	set := func(value string) error { return c.Set(t.Context(), "k", value, 0).Err() }
	if err := set("through"); err != nil {
		t.Fatal(err)
	}
	p.Stall(ToClient)
	if err := set("unanswered"); err == nil {
		t.Error("an answer came through")
	}
	if got := read(t, s, "k"); got != "unanswered" {
		t.Errorf("the server has %q, want what was not answered", got)
	}
	p.Heal()
	if err := set("healed"); err != nil {
		t.Error(err)
	}
	p.Stall(ToServer)
	if err := set("late"); err == nil {
		t.Error("a request came through")
	}
	if got := read(t, s, "k"); got != "healed" {
		t.Errorf("the server has %q, want healed", got)
	}
	p.Heal()
	Until(t, "what was kept back to arrive", func() error {
		if got := read(t, s, "k"); got != "late" {
			return errors.New(got)
		}
		return nil
	})
	p.Cut()
	if err := set("cut"); err == nil {
		t.Error("a connection that was cut gave an answer")
	}
	p.Heal()
	if err := set("again"); err != nil {
		t.Error(err)
	}
}
