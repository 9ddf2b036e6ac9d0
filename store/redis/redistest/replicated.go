package redistest

import (
	"fmt"
	"net"
	"testing"
)

// Replicated is a master with replicas. It belongs to one goroutine.
type Replicated struct {
	// URL is that of the master.
	URL      string
	Master   *Server
	Replicas []*Server
}

// StartReplicated starts a master with replicas and waits until they are in sync. Options are given to each server as
// they are. All end with the test.
func StartReplicated(tb testing.TB, replicas int, options ...string) *Replicated {
	tb.Helper()
	f := newFleet(tb, nil)
	r := &Replicated{}
	r.Master, r.Replicas = f.replicate(tb, replicas, options)
	r.URL = r.Master.URL
	r.AwaitSync(tb)
	return r
}

// replicate starts a master and replicas.
func (f *fleet) replicate(tb testing.TB, replicas int, options []string) (master *Server, others []*Server) {
	tb.Helper()
	needClock(tb, options)
	for i := range 1 + replicas {
		s := f.add(tb, fmt.Sprintf("redis-%d", i+1))
		s.args = append(s.args, s.replicating()...)
		if i > 0 {
			ip, port := split(f.members[0].Addr)
			s.args = append(s.args, "--replicaof", ip+" "+port)
		}
		s.args = append(s.args, options...)
	}
	f.start(tb, f.members...)
	return f.members[0], f.members[1:]
}

// AwaitSync waits until all replicas that were not killed are linked to the master and have what it has.
func (r *Replicated) AwaitSync(tb testing.TB) {
	tb.Helper()
	Until(tb, "replicas in sync", func() error { return inSync(r.Master, up(r.Replicas)) })
}

// split parts an address that this package has made.
func split(addr string) (ip, port string) {
	ip, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	return ip, port
}
