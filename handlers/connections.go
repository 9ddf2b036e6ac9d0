package handlers

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/memlimit"
)

const (
	// connectionMemory is about what a connection takes with a request under way: two buffers of net/http, two goroutines and
	// the request. It was measured with receives that wait.
	connectionMemory = 32 << 10
	// connectionShare is the part of the budget, as a divisor, that connections may take.
	connectionShare = 2
	// restless is how long a connection must have been idle to be closed for the sake of a new one.
	restless = time.Second
	// closeAtOnce is how many idle connections are closed at a time when there are too many.
	closeAtOnce = 64
)

// connections are those of all servers that share a budget. Each counts in it from its beginning to its end. When they take
// all that they may, some that have been idle give way to new ones; without any, the new one is refused.
type connections struct {
	memory *memlimit.Budget
	now    func() time.Time
	number atomic.Int64
	// open has a *connection for each net.Conn. It is read twice for each request, so without a lock.
	open sync.Map
}

// connection is one that is counted.
type connection struct {
	// since is when it became idle, in nanoseconds; 0 while a request is under way.
	since atomic.Int64
}

// overloaded is written on a connection that is closed at once.
const overloaded = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// watch makes the server count its connections, and gives each of them a share that its requests use one after the other.
func (c *connections) watch(server *http.Server) {
	server.ConnState = c.changed
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return memlimit.With(exchange.WithConn(ctx, conn), c.memory.Share())
	}
}

// changed is called by the server, for one connection by one goroutine at a time.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.opened(conn)
	case http.StateActive:
		if one := c.find(conn); one != nil {
			one.since.Store(0)
		}
	case http.StateIdle:
		if one := c.find(conn); one != nil {
			one.since.Store(c.now().UnixNano())
		}
	case http.StateClosed, http.StateHijacked:
		c.closed(conn)
	}
}

func (c *connections) find(conn net.Conn) *connection {
	found, _ := c.open.Load(conn)
	one, _ := found.(*connection)
	return one
}

// opened counts a connection, or refuses it.
func (c *connections) opened(conn net.Conn) {
	now := c.now()
	most := c.memory.Limit() / connectionShare / connectionMemory
	if c.number.Add(1) > most && !c.makeRoom(now) {
		c.number.Add(-1)
		_, _ = conn.Write([]byte(overloaded)) // the first bytes always have room in the system's buffer
		_ = conn.Close()
		return
	}
	c.memory.Force(connectionMemory)
	one := new(connection)
	one.since.Store(now.UnixNano()) // until its first request
	c.open.Store(conn, one)
}

// makeRoom closes connections that have been idle for a while, and says whether there were any.
func (c *connections) makeRoom(now time.Time) bool {
	n := 0
	c.open.Range(func(conn, found any) bool {
		one, _ := found.(*connection)
		since := one.since.Load()
		if since != 0 && now.UnixNano()-since >= int64(restless) && one.since.CompareAndSwap(since, 0) {
			if conn, ok := conn.(net.Conn); ok {
				_ = conn.Close() // its goroutine notices, and the server says that it is closed
			}
			n++
		}
		return n < closeAtOnce
	})
	return n > 0
}

func (c *connections) closed(conn net.Conn) {
	if _, counted := c.open.LoadAndDelete(conn); counted {
		c.number.Add(-1)
		c.memory.Give(connectionMemory)
	}
}
