package redistest

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Net is a network that can be parted. A fleet that is started on it names itself to everybody by addresses of proxies,
// so that all connections between its members, and those of clients, go through it. Who made a connection it learns from
// the system, for members and for the processes that [Net.Join] names; all others reach everybody always.
//
// A parted network is silent: what is said to the other side is kept back, also that a connection has ended, new
// connections are made and get no answer, and when it is whole again all that was kept back arrives. To the one who
// connects, a server that was killed is one that ends the connection at once.
//
// It needs Linux; elsewhere the test is skipped. It may be used by any number of goroutines.
type Net struct {
	mu      sync.Mutex
	pids    map[string]int // of processes, by name
	proxies []*Proxy
	links   map[*link]bool
	parted  func(a, b string) bool // says who does not reach whom; nil while the network is whole
}

// NewNet makes a network for fleets of one test; it ends with it.
func NewNet(tb testing.TB) *Net {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("a network that can be parted needs Linux")
	}
	n := &Net{pids: make(map[string]int), links: make(map[*link]bool)}
	tb.Cleanup(n.end)
	return n
}

// Join names a process that connects to members of the fleet, or to its members' proxies, so that [Net.Isolate] can part
// it from them. A process that was started again joins again.
func (n *Net) Join(name string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[name] = pid
	n.apply()
}

// Isolate leaves these members and processes a network of their own: they reach only each other, and nobody else reaches
// them. It takes the place of what was parted before, as Between does.
func (n *Net) Isolate(names ...string) {
	n.part(func(a, b string) bool { return slices.Contains(names, a) != slices.Contains(names, b) })
}

// Between parts some from others; both reach everybody else.
func (n *Net) Between(some, others []string) {
	n.part(func(a, b string) bool {
		return slices.Contains(some, a) && slices.Contains(others, b) || slices.Contains(some, b) && slices.Contains(others, a)
	})
}

// Heal makes the network whole again: what was kept back arrives.
func (n *Net) Heal() { n.part(nil) }

// Sever makes the network whole again, but ends the connections of which something is kept back: that never arrives.
func (n *Net) Sever() {
	n.mu.Lock()
	for l := range n.links {
		if n.across(l) {
			l.close()
		}
	}
	n.mu.Unlock()
	n.Heal()
}

func (n *Net) part(parted func(a, b string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parted = parted
	n.apply()
}

// proxy stands for a server from now on.
func (n *Net) proxy(to, target string) (*Proxy, error) {
	p, err := newProxy(n, to, target)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proxies = append(n.proxies, p)
	return p, nil
}

func (n *Net) add(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[l] = true
	if n.parted != nil {
		n.attribute(map[*link]bool{l: true})
		n.hold(l)
	}
}

func (n *Net) remove(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, l)
}

// apply holds up what is between the two sides, and lets through all else; mu is held.
func (n *Net) apply() {
	if n.parted != nil {
		n.attribute(n.links)
	}
	for l := range n.links {
		n.hold(l)
	}
}

func (n *Net) hold(l *link) {
	across := n.across(l)
	for _, g := range l.gates {
		g.set(!across)
	}
}

// across says that a connection is between two who are parted.
func (n *Net) across(l *link) bool {
	return n.parted != nil && l.from != "" && n.parted(l.from, l.proxy.to)
}

// attribute finds out who made connections of which that is not known yet; mu is held.
func (n *Net) attribute(links map[*link]bool) {
	unknown := make(map[string]*link)
	for l := range links {
		if l.from != "" {
			continue
		}
		i, err := inode(l.client.RemoteAddr().(*net.TCPAddr), l.client.LocalAddr().(*net.TCPAddr))
		if err == nil { // else it has ended
			unknown[fmt.Sprintf("socket:[%d]", i)] = l
		}
	}
	if len(unknown) == 0 {
		return
	}
	for name, pid := range n.pids {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		open, _ := os.ReadDir(dir) // it may have ended
		for _, file := range open {
			if socket, err := os.Readlink(dir + "/" + file.Name()); err == nil && unknown[socket] != nil {
				unknown[socket].from = name
			}
		}
	}
}

func (n *Net) end() {
	n.mu.Lock()
	proxies := n.proxies
	n.mu.Unlock()
	for _, p := range proxies {
		p.end()
	}
}
