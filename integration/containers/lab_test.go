package containers

import "testing"

// lab starts what tests are about; all of it ends with its test.
type lab interface {
	// fleet starts Redis and waits until it is whole.
	fleet(t *testing.T, o order) fleet
	// node starts a server of Dabba and waits until it is ready.
	node(t *testing.T, on fleet) node
	// close ends what all tests share.
	close()
	// String says what it is made of.
	String() string
}

// order is how many servers a fleet has and what they are to each other.
type order string

const (
	single     order = "single"     // one server with an append-only file
	replicated order = "replicated" // a master and a replica
	sentinel   order = "sentinel"   // a master, two replicas and three sentinels
	cluster    order = "cluster"    // three masters and three replicas
)

// fleet is servers of Redis. It belongs to one goroutine.
type fleet interface {
	// url names it to nodes.
	url() string
	// master is what serves, of a cluster the first that does, and replica one of its replicas: as they were in the beginning.
	master() machine
	replica() machine
}

// machine is what can be broken.
type machine interface {
	// kill ends it at once.
	kill(t *testing.T)
	// pause stops it without ending it: its connections stay and say nothing. unpause lets it go on.
	pause(t *testing.T)
	unpause(t *testing.T)
}

// node is a server of Dabba.
type node interface {
	// base is its address as a URL.
	base() string
	// kill ends it at once.
	kill(t *testing.T)
	// stop asks it to end, as an operator does, and returns its exit code once it has.
	stop(t *testing.T) int
}
