package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Sentinel is a master with replicas and the sentinels that watch over them. A master that says nothing for a second is
// replaced; that takes about two seconds. It belongs to one goroutine.
type Sentinel struct {
	// URL names the sentinels and the master: redis-sentinel://host:port,host:port,host:port/main.
	URL string
	// Servers are the master and the replicas, whichever is which, Sentinels those that watch.
	Servers, Sentinels []*Server

	fleet *fleet
}

// masterName is what the sentinels call the master.
const masterName = "main"

// StartSentinel starts a master with two replicas and three sentinels, and waits until all know each other. Options are
// given to each Redis server as they are. All end with the test.
func StartSentinel(tb testing.TB, options ...string) *Sentinel {
	tb.Helper()
	return StartSentinelOn(tb, nil, options...)
}

// StartSentinelOn does the same on a network that can be parted.
func StartSentinelOn(tb testing.TB, n *Net, options ...string) *Sentinel {
	tb.Helper()
	const replicas, sentinels = 2, 3
	s := &Sentinel{fleet: newFleet(tb, n)}
	master, others := s.fleet.replicate(tb, replicas, options)
	s.Servers = append([]*Server{master}, others...)
	Until(tb, "replicas in sync", func() error { return inSync(master, others) })
	var addrs []string
	for i := range sentinels {
		watcher := s.fleet.add(tb, fmt.Sprintf("sentinel-%d", i+1))
		watcher.watch(tb, master)
		s.Sentinels = append(s.Sentinels, watcher)
		addrs = append(addrs, watcher.Addr)
	}
	s.URL = "redis-sentinel://" + strings.Join(addrs, ",") + "/" + masterName
	s.fleet.start(tb, s.Sentinels...)
	for _, watcher := range s.Sentinels {
		if err := watcher.hurry(); err != nil {
			tb.Fatal(err)
		}
	}
	s.AwaitWhole(tb)
	return s
}

// watch makes a server that was not started a sentinel.
func (s *Server) watch(tb testing.TB, master *Server) {
	tb.Helper()
	_, listens := split(s.listens)
	ip, port := split(s.Addr)
	_, watched := split(master.Addr)
	lines := []string{
		"port " + listens, "bind " + host, "dir " + s.dir, "logfile " + s.file("log"),
		fmt.Sprintf("sentinel monitor %s %s %s 2", masterName, host, watched),
		"sentinel down-after-milliseconds " + masterName + " 1000",
		"sentinel failover-timeout " + masterName + " 3000",
		"sentinel parallel-syncs " + masterName + " 5",
		"sentinel announce-ip " + ip, "sentinel announce-port " + port,
	}
	s.args = []string{s.file("sentinel.conf"), "--sentinel"}
	s.begun = s.hurry
	if err := os.WriteFile(s.args[0], []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// hurry makes a sentinel look and speak more often than it does by itself, so that tests take less time.
func (s *Server) hurry() error {
	return s.within(patience, func(ctx context.Context, c *redis.Client) error {
		return c.Do(ctx, "sentinel", "debug",
			"info-period", 300, "ping-period", 400, "ask-period", 100, "publish-period", 200, "slave-reconf-timeout", 3000).Err()
	})
}

// Master is the server that a sentinel names now.
func (s *Sentinel) Master(tb testing.TB) *Server {
	tb.Helper()
	var master *Server
	Until(tb, "a sentinel to name the master", func() error {
		var failed []error
		for _, watcher := range up(s.Sentinels) {
			named, err := s.named(watcher)
			if err == nil {
				master = named
				return nil
			}
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	})
	return master
}

// named is the master as one sentinel names it.
func (s *Sentinel) named(watcher *Server) (*Server, error) {
	var addr []string
	err := watcher.ask(func(ctx context.Context, c *redis.Client) (err error) {
		addr, err = c.Do(ctx, "sentinel", "get-master-addr-by-name", masterName).StringSlice()
		return err
	})
	if err != nil {
		return nil, err
	}
	master := s.fleet.find(net.JoinHostPort(addr[0], addr[1]))
	if master == nil {
		return nil, fmt.Errorf("%s names %v as the master, which is none of the servers", watcher.Name, addr)
	}
	return master, nil
}

// AwaitFailover waits until all sentinels that answer, at least two, name another master than old and it serves as one,
// and returns it.
func (s *Sentinel) AwaitFailover(tb testing.TB, old *Server) *Server {
	tb.Helper()
	var master *Server
	Until(tb, "another master than "+old.Name, func() error {
		agreed := 0
		for _, watcher := range up(s.Sentinels) {
			named, err := s.named(watcher)
			switch {
			case err != nil:
				continue // frozen
			case named == old, agreed > 0 && named != master:
				return fmt.Errorf("%s names %s", watcher.Name, named.Name)
			}
			master = named
			agreed++
		}
		if agreed < 2 {
			return fmt.Errorf("%d sentinels answer", agreed)
		}
		role, err := master.info("replication")
		if err == nil && role["role"] != "master" {
			err = fmt.Errorf("%s is a %s", master.Name, role["role"])
		}
		return err
	})
	return master
}

// AwaitWhole waits until the sentinels agree on a master, all servers that were not killed follow it in sync, and the
// sentinels know all of them and each other: then the next failover can come.
func (s *Sentinel) AwaitWhole(tb testing.TB) {
	tb.Helper()
	Until(tb, "a fleet that is whole", func() error {
		var master *Server
		for _, watcher := range up(s.Sentinels) {
			named, err := s.named(watcher)
			if err != nil {
				return err
			}
			if master != nil && named != master {
				return fmt.Errorf("the sentinels name %s and %s", master.Name, named.Name)
			}
			master = named
			if err := s.knowsAll(watcher); err != nil {
				return err
			}
		}
		var replicas []*Server
		for _, server := range up(s.Servers) {
			if server != master {
				replicas = append(replicas, server)
			}
		}
		return inSync(master, replicas)
	})
}

// knowsAll says what a sentinel does not know yet.
func (s *Sentinel) knowsAll(watcher *Server) error {
	return watcher.ask(func(ctx context.Context, c *redis.Client) error {
		state, err := c.Do(ctx, "sentinel", "master", masterName).StringSlice()
		if err != nil {
			return err
		}
		fields := make(map[string]string)
		for i := 0; i+1 < len(state); i += 2 {
			fields[state[i]] = state[i+1]
		}
		if fields["flags"] != "master" || fields["num-other-sentinels"] != strconv.Itoa(len(s.Sentinels)-1) {
			return fmt.Errorf("the master is %s, known are %s other sentinels", fields["flags"], fields["num-other-sentinels"])
		}
		list, err := c.Do(ctx, "sentinel", "replicas", masterName).Slice()
		if err != nil {
			return err
		}
		good := 0
		for _, one := range list {
			if text := fmt.Sprint(one); strings.Contains(text, " flags slave ") && strings.Contains(text, " master-link-status ok ") {
				good++
			}
		}
		if want := len(up(s.Servers)) - 1; good != want {
			return fmt.Errorf("known are %d replicas that follow, want %d", good, want)
		}
		return nil
	})
}
