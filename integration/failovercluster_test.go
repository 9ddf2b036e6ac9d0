package integration

import (
	"fmt"
	"testing"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestClusterFailsOver kills one of the masters of a cluster while its replica is behind.
func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	net := redistest.NewNet(t)
	c := redistest.StartClusterOn(t, net, 3, 3)
	x := newTrial(t, [2]string{c.URL, c.URL}, 2, net.Join)
	whole := func() { c.AwaitWhole(t) }
	faults := []fault{
		{"kill -9 of a master, its replica behind", true, func() {
			key, old := x.master(c)
			net.Between(names(old), names(c.ReplicasOf(t, old)...))
			x.await(300)
			old.Kill()
			net.Sever()
			c.AwaitFailover(t, key, old)
			x.await(100)
			old.Restart(t)
			whole()
		}},
	}
	if torture() {
		faults = append(faults,
			fault{"a master parted from all but a node", true, func() {
				key, old := x.master(c)
				net.Isolate(old.Name, x.slots[x.r.IntN(2)].Load().name)
				c.AwaitFailover(t, key, old)
				net.Heal()
				whole()
			}},
			fault{"a master frozen", true, func() {
				key, old := x.master(c)
				old.Freeze(t)
				c.AwaitFailover(t, key, old)
				old.Thaw(t)
				whole()
			}})
	}
	x.torment(faults, whole)
}

// master is one of the masters of a cluster, and a key that it has.
func (x *trial) master(c *redistest.Cluster) (key string, master *redistest.Server) {
	x.t.Helper()
	key = fmt.Sprintf("{%02x}", x.r.IntN(256))
	return key, c.MasterOf(x.t, key)
}
