package redistest

import (
	"net"
	"sync"
	"testing"
)

// Direction is one of the two in which a connection carries bytes.
type Direction int

const (
	// ToServer is what the one who connected says: requests.
	ToServer Direction = iota
	// ToClient is what the server says: answers.
	ToClient
)

// Proxy passes TCP connections on to one server, until it is told otherwise. It may be used by any number of goroutines.
type Proxy struct {
	// URL and Addr name the server by way of the proxy.
	URL, Addr string

	target   string
	to       string // name of the server
	net      *Net   // nil for one by itself
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	links map[*link]bool
	cut   bool
	stall [2]bool
	ended bool
}

// StartProxy puts a proxy before a server; it ends with the test.
func StartProxy(tb testing.TB, server *Server) *Proxy {
	tb.Helper()
	p, err := newProxy(nil, server.Name, server.listens)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.end)
	return p
}

func newProxy(n *Net, to, target string) (*Proxy, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	p := &Proxy{URL: "redis://" + addr, Addr: addr, target: target, to: to, net: n, listener: l, links: make(map[*link]bool)}
	p.work.Go(p.accept)
	return p, nil
}

// Stall keeps back what is said in these directions, or in both if none is named, on all connections, also new ones.
// Nothing is lost: [Proxy.Heal] lets it go on. That a connection has ended is kept back, too.
func (p *Proxy) Stall(directions ...Direction) {
	if len(directions) == 0 {
		directions = []Direction{ToServer, ToClient}
	}
	p.set(func() {
		for _, d := range directions {
			p.stall[d] = true
		}
	})
}

// Cut closes all connections, and new ones as soon as they are made.
func (p *Proxy) Cut() { p.set(func() { p.cut = true }) }

// Heal ends [Proxy.Stall] and [Proxy.Cut].
func (p *Proxy) Heal() { p.set(func() { p.cut, p.stall = false, [2]bool{} }) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	for l := range p.links {
		p.apply(l)
	}
}

// apply has a connection do as was told; mu is held.
func (p *Proxy) apply(l *link) {
	for d := range l.gates {
		l.gates[d].set(!p.stall[d])
	}
	if p.cut || p.ended {
		l.close()
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := &link{proxy: p, client: c, done: make(chan struct{})}
		l.gates = [2]*gate{newGate(), newGate()}
		p.work.Go(func() { p.serve(l) })
	}
}

// serve lives as long as a connection.
func (p *Proxy) serve(l *link) {
	defer l.close()
	p.mu.Lock()
	p.links[l] = true
	p.apply(l)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	}()
	if p.net != nil {
		p.net.add(l)
		defer p.net.remove(l)
	}
	if !l.gates[ToServer].wait(l.done) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { l.pass(server, l.client, ToServer) })
	both.Go(func() { l.pass(l.client, server, ToClient) })
	<-l.done
	_ = server.Close()
	both.Wait()
}

// end closes everything and waits for it.
func (p *Proxy) end() {
	_ = p.listener.Close()
	p.set(func() { p.ended = true })
	p.work.Wait()
}

// link is one connection.
type link struct {
	proxy  *Proxy
	client net.Conn
	gates  [2]*gate
	from   string // on a Net, the process that connected, if that is known

	once sync.Once
	done chan struct{}
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
	})
}

// pass copies what one side says to the other when it is let through, at last that it ended.
func (l *link) pass(to, from net.Conn, d Direction) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if !l.gates[d].wait(l.done) {
			return
		}
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			l.close()
			return
		}
	}
}

// gate lets through or holds up.
type gate struct {
	mu   sync.Mutex
	free chan struct{} // closed while it lets through
	open bool
}

func newGate() *gate {
	g := &gate{free: make(chan struct{}), open: true}
	close(g.free)
	return g
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open && !g.open:
		close(g.free)
	case !open && g.open:
		g.free = make(chan struct{})
	}
	g.open = open
}

// wait returns when the gate lets through, or false when done is closed before.
func (g *gate) wait(done <-chan struct{}) bool {
	for {
		g.mu.Lock()
		free, open := g.free, g.open
		g.mu.Unlock()
		select {
		case <-done:
			return false
		default:
		}
		if open {
			return true
		}
		select {
		case <-free:
		case <-done:
			return false
		}
	}
}
