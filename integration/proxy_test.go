package integration

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// swallower passes connections on to a server but keeps back everything the server says. swallowed tells of each first
// bytes of an answer; the client learns nothing until its connection is cut.
type swallower struct {
	base      string
	swallowed chan []byte

	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	copies   sync.WaitGroup
}

// swallow starts a proxy in front of a server; it ends with the test.
func swallow(t *testing.T, base string) *swallower {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &swallower{base: "http://" + l.Addr().String(), swallowed: make(chan []byte, 16), listener: l}
	p.copies.Go(func() { p.accept(strings.TrimPrefix(base, "http://")) })
	t.Cleanup(p.cut)
	return p
}

func (p *swallower) accept(addr string) {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", addr)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.copies.Go(func() { _, _ = io.Copy(out, in) })
		p.copies.Go(func() {
			buf := make([]byte, 64<<10)
			for {
				n, err := out.Read(buf)
				if n > 0 {
					p.swallowed <- bytes.Clone(buf[:n])
				}
				if err != nil {
					return
				}
			}
		})
	}
}

// cut ends the proxy and all its connections.
func (p *swallower) cut() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.copies.Wait()
}

// loseAnswer sends a request through the proxy until its answer was swallowed and the server killed. It returns what
// the server had said.
func loseAnswer(t *testing.T, srv *server, path, contentType, body string, header ...string) []byte {
	t.Helper()
	p := swallow(t, srv.base)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	// A transport that repeats a request by itself would repeat it here, too: through the same proxy.
	transport := &http.Transport{DisableKeepAlives: true}
	failed := make(chan error, 1)
	go func() {
		res, err := transport.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
			err = errors.New("an answer came through: " + res.Status)
		} else {
			err = nil
		}
		failed <- err
	}()
	answered := <-p.swallowed
	srv.kill()
	p.cut()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return answered
}
