package exchange

import (
	"context"
	"net"
	"net/http"
	"syscall"
)

// connKey is where a request's context holds its connection.
type connKey struct{}

// WithConn is for [http.Server.ConnContext]: it lets [Exchange.HandOver] look at the connection itself.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(syscall.Conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// gone says whether the client has hung up. The request's context tells a moment later than the connection: net/http
// has to be scheduled first to notice, and in that moment the answer would be written to nobody without an error.
func gone(r *http.Request) bool {
	if r.Context().Err() != nil {
		return true
	}
	conn, ok := r.Context().Value(connKey{}).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	// Control does not wait for net/http, which is reading from the connection meanwhile.
	err = raw.Control(func(fd uintptr) { closed = peerClosed(fd) })
	return err != nil || closed
}
