package redistest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// fleet is processes that serve together.
type fleet struct {
	net     *Net // nil if connections are direct
	members []*Server
}

// newFleet begins one that ends with the test. Of a test that failed it shows the ends of the logs.
func newFleet(tb testing.TB, n *Net) *fleet {
	tb.Helper()
	if _, err := exec.LookPath(program); err != nil {
		missing(tb)
	}
	f := &fleet{net: n}
	tb.Cleanup(func() {
		const most = 3000
		for _, s := range f.members {
			if said := s.said(); tb.Failed() && said != "" {
				tb.Logf("%s (%s) said, in the end:\n%s", s.Name, s.Addr, said[max(0, len(said)-most):])
			}
			s.stop()
		}
	})
	return f
}

// add prepares a server. It is started by [fleet.start].
func (f *fleet) add(tb testing.TB, name string, options ...string) *Server {
	tb.Helper()
	s, err := prepare(name, options...)
	if err != nil {
		tb.Fatal(err)
	}
	f.members = append(f.members, s)
	if f.net != nil {
		s.net = f.net
		s.Addr = f.through(tb, name, s.listens)
		s.URL = "redis://" + s.Addr
	}
	return s
}

// through is the address under which others reach one of a member's ports.
func (f *fleet) through(tb testing.TB, name, listens string) string {
	tb.Helper()
	if f.net == nil {
		return listens
	}
	p, err := f.net.proxy(name, listens)
	if err != nil {
		tb.Fatal(err)
	}
	return p.Addr
}

// start starts all and waits until they answer.
func (f *fleet) start(tb testing.TB, members ...*Server) {
	tb.Helper()
	for _, s := range members {
		if err := s.begin(); err != nil {
			tb.Fatal(err)
		}
	}
	failed := make([]error, len(members))
	var all sync.WaitGroup
	for i, s := range members {
		all.Go(func() { failed[i] = s.await() })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		tb.Fatal(err)
	}
}

// find is the member with an address, nil if there is none.
func (f *fleet) find(addr string) *Server {
	for _, s := range f.members {
		if s.Addr == addr {
			return s
		}
	}
	return nil
}

// ask makes calls to a server, directly, and gives up soon: it may be frozen.
func (s *Server) ask(calls func(context.Context, *redis.Client) error) error {
	return s.within(2*time.Second, calls)
}

func (s *Server) within(limit time.Duration, calls func(context.Context, *redis.Client) error) error {
	if s.down {
		return fmt.Errorf("%s is down", s.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit) //nolint:forbidigo // cleanups ask, too
	defer cancel()
	c := redis.NewClient(&redis.Options{
		Addr: s.listens, DialTimeout: limit, ReadTimeout: limit, DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true,
		DisableIdentity: true, Protocol: 2,
	})
	defer c.Close() //nolint:errcheck // only asked
	if err := calls(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// info is a section of a server's INFO.
func (s *Server) info(section string) (map[string]string, error) {
	fields := make(map[string]string)
	return fields, s.ask(func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		for line := range strings.Lines(text) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
				fields[name] = value
			}
		}
		return err
	})
}

// Until asks again and again until so returns nil.
func Until(tb testing.TB, what string, so func() error) {
	tb.Helper()
	late := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := so()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("waited in vain for %s: %v", what, err)
		}
	}
}

// up are those members that were not killed.
func up(members []*Server) []*Server {
	var left []*Server
	for _, s := range members {
		if !s.down {
			left = append(left, s)
		}
	}
	return left
}

// inSync says what is missing until replicas are linked to their master and have all that it had when it was asked.
func inSync(master *Server, replicas []*Server) error {
	const linked = "state=online"
	m, err := master.info("replication")
	if err != nil {
		return err
	}
	online := 0
	for name, value := range m {
		if strings.HasPrefix(name, "slave") && strings.Contains(value, linked) {
			online++
		}
	}
	if m["role"] != "master" || online != len(replicas) {
		return fmt.Errorf("%s is %s and has %d replicas online, want a master with %d", master.Name, m["role"], online, len(replicas))
	}
	had, _ := strconv.ParseInt(m["master_repl_offset"], 10, 64)
	for _, s := range replicas {
		r, err := s.info("replication")
		if err != nil {
			return err
		}
		if r["role"] != "slave" || r["master_link_status"] != "up" || r["master_replid"] != m["master_replid"] {
			return fmt.Errorf("%s is %s of replication %s with its link %s, want a replica of %s",
				s.Name, r["role"], r["master_replid"], r["master_link_status"], m["master_replid"])
		}
		if has, err := strconv.ParseInt(r["slave_repl_offset"], 10, 64); err != nil || has < had {
			return fmt.Errorf("%s has come to %s of %s, %d", s.Name, r["slave_repl_offset"], master.Name, had)
		}
	}
	return nil
}

// replicating are the options of every server that has replicas or is one: full copies begin at once and pass no disk.
func (s *Server) replicating() []string {
	options := []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}
	if s.net != nil {
		ip, port := split(s.Addr)
		options = append(options, "--replica-announce-ip", ip, "--replica-announce-port", port)
	}
	return options
}

// file is one in the folder of a member.
func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }
