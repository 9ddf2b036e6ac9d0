package redistest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster is servers in cluster mode. A master that says nothing for about a second is replaced by one of its replicas. It
// belongs to one goroutine.
type Cluster struct {
	// URL names all servers: redis-cluster://host:port,host:port.
	URL string
	// Servers are the masters, and after them the replicas as they were at first.
	Servers []*Server

	fleet *fleet
}

// slots is how many parts a cluster's keys are in.
const slots = 16384

// StartCluster starts masters that have about as many slots each, and replicas, which are dealt out to them in turn; it waits
// until all serve and are in sync. Options are given to each server as they are. All end with the test.
func StartCluster(tb testing.TB, masters, replicas int, options ...string) *Cluster {
	tb.Helper()
	return StartClusterOn(tb, nil, masters, replicas, options...)
}

// StartClusterOn does the same on a network that can be parted.
func StartClusterOn(tb testing.TB, n *Net, masters, replicas int, options ...string) *Cluster {
	tb.Helper()
	needClock(tb, options)
	c := &Cluster{fleet: newFleet(tb, n)}
	var addrs []string
	buses := make(map[*Server]string)
	for i := range masters + replicas {
		s := c.fleet.add(tb, fmt.Sprintf("redis-%d", i+1))
		buses[s] = c.join(tb, s)
		s.args = append(s.args, options...)
		addrs = append(addrs, s.Addr)
	}
	c.Servers = c.fleet.members
	c.URL = "redis-cluster://" + strings.Join(addrs, ",")
	c.fleet.start(tb, c.Servers...)
	c.form(tb, masters, buses)
	return c
}

// join gives a server that was not started the options of a cluster, and returns the port of its bus as others know it.
func (c *Cluster) join(tb testing.TB, s *Server) (bus string) {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	s.args = append(s.args, s.replicating()...)
	s.args = append(s.args,
		"--cluster-enabled", "yes", "--cluster-config-file", s.file("nodes.conf"), "--cluster-port", port,
		"--cluster-node-timeout", "1200", "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no")
	_, bus = split(c.fleet.through(tb, s.Name, host+":"+port))
	if c.fleet.net != nil {
		ip, port := split(s.Addr)
		s.args = append(s.args, "--cluster-announce-ip", ip, "--cluster-announce-port", port, "--cluster-announce-bus-port", bus)
	}
	return bus
}

// form makes a cluster of servers that know nothing of each other.
func (c *Cluster) form(tb testing.TB, masters int, buses map[*Server]string) {
	tb.Helper()
	must := func(s *Server, calls func(context.Context, *redis.Client) error) {
		tb.Helper()
		if err := s.within(patience, calls); err != nil {
			tb.Fatal(err)
		}
	}
	ids := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		must(s, func(ctx context.Context, client *redis.Client) (err error) {
			if i < masters {
				err = client.ClusterAddSlotsRange(ctx, slots*i/masters, slots*(i+1)/masters-1).Err()
			}
			if err == nil {
				err = client.Do(ctx, "cluster", "set-config-epoch", i+1).Err()
			}
			for _, other := range c.Servers[:i] {
				ip, port := split(other.Addr)
				err = errors.Join(err, client.Do(ctx, "cluster", "meet", ip, port, buses[other]).Err())
			}
			if err == nil {
				ids[i], err = client.Do(ctx, "cluster", "myid").Text()
			}
			return err
		})
	}
	for i, s := range c.Servers[masters:] {
		Until(tb, s.Name+" to know its master", func() error {
			return s.ask(func(ctx context.Context, client *redis.Client) error {
				return client.ClusterReplicate(ctx, ids[i%masters]).Err()
			})
		})
	}
	c.AwaitWhole(tb)
}

// node is a line of CLUSTER NODES.
type node struct {
	server         *Server
	id, flags, of  string
	linked, myself bool
	slots          [][2]int
}

// nodes is the cluster as one server sees it.
func (c *Cluster) nodes(s *Server) ([]node, error) {
	var all []node
	err := s.ask(func(ctx context.Context, client *redis.Client) error {
		text, err := client.ClusterNodes(ctx).Result()
		for line := range strings.Lines(text) {
			const id, addr, flags, of, link, first = 0, 1, 2, 3, 7, 8
			f := strings.Fields(line)
			at, _, _ := strings.Cut(f[addr], "@")
			n := node{server: c.fleet.find(at), id: f[id], flags: f[flags], of: f[of], linked: f[link] == "connected"}
			n.myself = strings.HasPrefix(f[flags], "myself,")
			for _, span := range f[first:] {
				from, to, more := strings.Cut(span, "-")
				if !more {
					to = from
				}
				a, err1 := strconv.Atoi(from)
				b, err2 := strconv.Atoi(to)
				if errors.Join(err1, err2) == nil { // else slots on the move
					n.slots = append(n.slots, [2]int{a, b})
				}
			}
			all = append(all, n)
		}
		return err
	})
	return all, err
}

// MasterOf is the master that serves a key, as a server that answers sees it.
func (c *Cluster) MasterOf(tb testing.TB, key string) *Server {
	tb.Helper()
	var master *Server
	Until(tb, "a master of "+key, func() (err error) {
		for _, s := range up(c.Servers) {
			if master, err = c.masterOf(s, key); err == nil {
				return nil
			}
		}
		return err
	})
	return master
}

// masterOf is the same as one server sees it.
func (c *Cluster) masterOf(s *Server, key string) (*Server, error) {
	var slot int64
	err := s.ask(func(ctx context.Context, client *redis.Client) (err error) {
		slot, err = client.ClusterKeySlot(ctx, key).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	nodes, err := c.nodes(s)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		for _, span := range n.slots {
			if int64(span[0]) <= slot && slot <= int64(span[1]) && n.server != nil {
				return n.server, nil
			}
		}
	}
	return nil, fmt.Errorf("%s knows no master of slot %d", s.Name, slot)
}

// ReplicasOf are the replicas of a master that serves, as it sees them.
func (c *Cluster) ReplicasOf(tb testing.TB, master *Server) []*Server {
	tb.Helper()
	var replicas []*Server
	Until(tb, "the replicas of "+master.Name, func() error {
		nodes, err := c.nodes(master)
		if err != nil {
			return err
		}
		id := ""
		for _, n := range nodes {
			if n.myself {
				id = n.id
			}
		}
		replicas = nil
		for _, n := range nodes {
			if n.of == id && n.server != nil {
				replicas = append(replicas, n.server)
			}
		}
		return nil
	})
	return replicas
}

// AwaitFailover waits until all servers that answer, but for old, see another master of a key than old, and the cluster
// serves again, and returns that master.
func (c *Cluster) AwaitFailover(tb testing.TB, key string, old *Server) *Server {
	tb.Helper()
	var master *Server
	Until(tb, "another master of "+key+" than "+old.Name, func() error {
		master = nil
		for _, s := range up(c.Servers) {
			if s == old {
				continue
			}
			named, err := c.masterOf(s, key)
			switch {
			case err != nil:
				continue // frozen
			case named == old, master != nil && named != master:
				return fmt.Errorf("%s sees %s as the master", s.Name, named.Name)
			}
			master = named
			if err := serves(s); err != nil {
				return err
			}
		}
		if master == nil {
			return errors.New("none answers")
		}
		return nil
	})
	return master
}

// serves says why a server's cluster does not serve.
func serves(s *Server) error {
	return s.ask(func(ctx context.Context, client *redis.Client) error {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			err = errors.New(info)
		}
		return err
	})
}

// AwaitWhole waits until all servers that were not killed serve, see each other, and replicas are in sync with their masters.
func (c *Cluster) AwaitWhole(tb testing.TB) {
	tb.Helper()
	Until(tb, "a cluster that is whole", func() error {
		for _, s := range up(c.Servers) {
			if err := serves(s); err != nil {
				return err
			}
			if err := c.seesAll(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// seesAll says what one server does not see as it should be.
func (c *Cluster) seesAll(s *Server) error {
	nodes, err := c.nodes(s)
	if err != nil {
		return err
	}
	seen, me := 0, node{}
	for _, n := range nodes {
		if n.server == nil || n.server.down {
			continue
		}
		if !n.linked || strings.Contains(n.flags, "fail") || strings.Contains(n.flags, "handshake") {
			return fmt.Errorf("%s sees %s as %s", s.Name, n.server.Name, n.flags)
		}
		seen++
		if n.myself {
			me = n
		}
	}
	if want := len(up(c.Servers)); seen != want {
		return fmt.Errorf("%s sees %d of %d servers", s.Name, seen, want)
	}
	if !strings.Contains(me.flags, "master") {
		return nil // its master looks at it
	}
	if len(me.slots) == 0 {
		return fmt.Errorf("%s is a master without slots", s.Name)
	}
	var replicas []*Server
	for _, n := range nodes {
		if n.of == me.id && n.server != nil && !n.server.down {
			replicas = append(replicas, n.server)
		}
	}
	return inSync(s, replicas)
}
