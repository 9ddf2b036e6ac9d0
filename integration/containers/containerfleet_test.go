package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/wait"
)

// containerFleet is containers of Redis.
type containerFleet struct {
	address        string
	first, another box
}

func (f *containerFleet) url() string      { return f.address }
func (f *containerFleet) master() machine  { return f.first }
func (f *containerFleet) replica() machine { return f.another }

func (c *containers) fleet(t *testing.T, o order) fleet {
	t.Helper()
	f := &containerFleet{}
	switch o {
	case single:
		f.first = c.servers(t, 1)[0]
		f.address = "redis://" + f.first.ip(t) + ":6379/0"
	case replicated:
		f.first, f.another = c.replicated(t, 1)
		f.address = "redis://" + f.first.ip(t) + ":6379/0"
	case sentinel:
		f.first, f.another = c.replicated(t, 2)
		f.address = c.sentinels(t, f.first)
	case cluster:
		const masters, replicas = 3, 3
		all := c.servers(t, masters+replicas, "--cluster-enabled", "yes", "--cluster-node-timeout", "1200",
			"--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no")
		f.first, f.another = all[0], all[masters]
		f.address = form(t, all, masters)
	}
	return f
}

// servers starts servers with an append-only file. Replicas take full copies at once, and not by way of a disk.
func (c *containers) servers(t *testing.T, n int, options ...string) []box {
	t.Helper()
	command := append([]string{
		"redis-server", "--protected-mode", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, options...)
	return c.several(t, n, testcontainers.WithCmd(command...), published("6379/tcp"), answers("6379"))
}

// several starts the same thing a few times at once.
func (c *containers) several(t *testing.T, n int, options ...testcontainers.ContainerCustomizer) []box {
	t.Helper()
	all, failed := make([]box, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { all[i], failed[i] = c.start(t, c.redis, options...) })
	}
	group.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatalf("start Redis: %v", err)
	}
	return all
}

func answers(port string) testcontainers.CustomizeRequestOption {
	return testcontainers.WithWaitStrategyAndDeadline(patience, wait.ForExec([]string{"redis-cli", "-p", port, "ping"}))
}

// replicated starts a master and replicas, and returns it and one of them.
func (c *containers) replicated(t *testing.T, replicas int) (master, one box) {
	t.Helper()
	all := c.servers(t, 1+replicas)
	for _, b := range all[1:] {
		b.ask(t, "replicaof", all[0].ip(t), "6379")
	}
	eventually(t, "replicas in sync", func() bool { return online(all[0].ask(t, "info", "replication")) == replicas })
	return all[0], all[1]
}

// online is how many replicas follow, as INFO says.
func online(info string) int { return strings.Count(info, "state=online") }

const (
	watched      = "main"
	sentinelPort = "26379"
)

// sentinels starts three that watch over a master with two replicas, and returns the address of all. A master that says
// nothing for a second is replaced.
func (c *containers) sentinels(t *testing.T, master box) string {
	t.Helper()
	config := strings.Join([]string{
		"port " + sentinelPort, "protected-mode no", "dir /data",
		fmt.Sprintf("sentinel monitor %s %s 6379 2", watched, master.ip(t)),
		"sentinel down-after-milliseconds " + watched + " 1000",
		"sentinel failover-timeout " + watched + " 3000",
		"sentinel parallel-syncs " + watched + " 5",
	}, "\n") + "\n"
	// It writes to its file, which therefore cannot be one that is given to it.
	const begin = `printf %s "$0" >/data/sentinel.conf && exec redis-server /data/sentinel.conf --sentinel`
	all := c.several(t, 3, testcontainers.WithEntrypoint("sh", "-c", begin), testcontainers.WithCmd(config),
		published(sentinelPort+"/tcp"), answers(sentinelPort))
	var addrs []string
	for _, b := range all {
		addrs = append(addrs, b.ip(t)+":"+sentinelPort)
		b.ask(t, "-p", sentinelPort, "sentinel", "debug", "info-period", "300", "ping-period", "400", "ask-period", "100", "publish-period", "200")
	}
	for _, b := range all {
		eventually(t, "sentinels to know all", func() bool {
			said := strings.Fields(b.ask(t, "-p", sentinelPort, "sentinel", "master", watched))
			after := func(name string) string {
				if i := slices.Index(said, name); i >= 0 && i+1 < len(said) {
					return said[i+1]
				}
				return ""
			}
			return after("flags") == "master" && after("num-slaves") == "2" && after("num-other-sentinels") == "2"
		})
	}
	return "redis-sentinel://" + strings.Join(addrs, ",") + "/" + watched
}

// form makes a cluster of servers and returns the address of all. The first are masters, the others replicas of them in turn.
func form(t *testing.T, all []box, masters int) string {
	t.Helper()
	const slots = 16384
	var addrs, ids []string
	for i, b := range all {
		addrs = append(addrs, b.ip(t)+":6379")
		ids = append(ids, strings.TrimSpace(b.ask(t, "cluster", "myid")))
		if i < masters {
			b.ask(t, "cluster", "addslotsrange", strconv.Itoa(slots*i/masters), strconv.Itoa(slots*(i+1)/masters-1))
		}
		b.ask(t, "cluster", "set-config-epoch", strconv.Itoa(i+1))
		if i > 0 {
			b.ask(t, "cluster", "meet", all[0].ip(t), "6379")
		}
	}
	for i, b := range all[masters:] {
		eventually(t, "a replica to know its master", func() bool {
			return strings.HasPrefix(b.ask(t, "cluster", "replicate", ids[i%masters]), "OK")
		})
	}
	for i, b := range all {
		eventually(t, "a cluster that is whole", func() bool {
			state := b.ask(t, "cluster", "info")
			whole := strings.Contains(state, "cluster_state:ok") && strings.Contains(state, "cluster_known_nodes:"+strconv.Itoa(len(all)))
			replication := b.ask(t, "info", "replication")
			if i < masters {
				return whole && online(replication) == 1
			}
			return whole && strings.Contains(replication, "master_link_status:up")
		})
	}
	return "redis-cluster://" + strings.Join(addrs, ",")
}

// ip is the address under which other containers reach it.
func (b box) ip(t *testing.T) string {
	t.Helper()
	ip, err := b.ContainerIP(t.Context())
	if err != nil || ip == "" {
		t.Fatalf("the address of a container is %q, %v", ip, err)
	}
	return ip
}

// ask makes a call with redis-cli inside.
func (b box) ask(t *testing.T, call ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, r, err := b.Exec(ctx, append([]string{"redis-cli"}, call...), tcexec.Multiplexed())
	if err != nil {
		t.Fatalf("redis-cli %s: %v", strings.Join(call, " "), err)
	}
	said, err := io.ReadAll(r)
	if err != nil || code != 0 {
		t.Fatalf("redis-cli %s ended with %d, %v: %s", strings.Join(call, " "), code, err, said)
	}
	return string(said)
}
