package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestSilence stops a server without closing its connections.
func TestSilence(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, "--appendfsync", "always")
	s := open(t, Options{URL: own.URL, Silence: 200 * time.Millisecond})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	ctx := t.Context()
	if err := s.Configure(ctx, 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	own.Freeze(t)
	// What was sent before that was noticed may have been done.
	begun := time.Now()
	_, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("m")}}})
	if !errors.Is(err, store.ErrUnknown) || time.Since(begun) > 5*time.Second {
		t.Errorf("Send to a server that stops = %v after %v, want ErrUnknown within about 600ms", err, time.Since(begun))
	}
	begun = time.Now()
	for range 100 {
		_, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("m")}}})
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Fatalf("Send to a server that is silent = %v, want ErrUnavailable", err)
		}
	}
	if err := s.Ping(ctx); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), own.Addr) {
		t.Errorf("Ping of a server that is silent = %v, want ErrUnavailable, and which server it is", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("101 calls of a server that is silent took %v, want next to nothing", took)
	}
	own.Thaw(t)
	redistest.Until(t, "the store to notice that the server answers again", func() error { return s.Ping(ctx) })
	if _, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("n")}}}); err != nil {
		t.Errorf("Send to a server that is back = %v, want nil", err)
	}

	// And when its process ends.
	own.Kill()
	for range 2 { // the first may find out by a broken connection
		_, err = s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("o")}}})
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("Send to a server that is gone = %v, want ErrUnavailable", err)
	}
	redistest.Until(t, "Ping of a server that is gone to say that it does not answer, and why", func() error {
		err := s.Ping(ctx)
		if err != nil && strings.Contains(err.Error(), "does not answer (for") && strings.Contains(err.Error(), "connection refused") {
			return nil
		}
		return fmt.Errorf("Ping() = %v", err) //nolint:errorlint // it may be nil
	})
	own.Restart(t)
	redistest.Until(t, "the store to notice that the server was started again", func() error { return s.Ping(ctx) })
	if stats, err := s.Stats(ctx, 1); err != nil || stats.Ready < 1 {
		t.Errorf("Stats after a restart = %+v, %v, want what was acknowledged", stats, err)
	}
}

// TestAnnouncementsAreNoAnswers keeps announcements coming to a store whose calls do not arrive.
func TestAnnouncementsAreNoAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server)
	s, other := open(t, Options{URL: proxy.URL, Silence: 200 * time.Millisecond}), open(t, Options{URL: server.URL})
	heard := make(chan struct{}, 1)
	s.Watch(func(store.QueueID) {
		select {
		case heard <- struct{}{}:
		default:
		}
	})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := other.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("m")}}}); err != nil {
				t.Errorf("Send = %v, want nil", err)
				return
			}
		}
	})
	defer sender.Wait()
	defer close(stop)
	<-heard
	proxy.Stall(redistest.ToServer)
	begun := time.Now()
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) || time.Since(begun) > 5*time.Second {
		t.Errorf("Ping that does not arrive = %v after %v, want ErrUnavailable within about 600ms", err, time.Since(begun))
	}
	<-heard // all the while
}

// TestLongAnswersAreHeard in the middle, and announcements are not.
func TestLongAnswersAreHeard(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]bool{
		"*2\r\n$4\r\necho\r\n$10\r\nssubscribe\r\n": true,
		"*2\r\n$10\r\nssubscribe\r\n$4\r\nnews\r\n": false,
	} {
		near, far := net.Pipe()
		now := time.Unix(0, 0)
		p := newPulse(time.Second)
		p.start, p.now = now, func() time.Time { return now.Add(time.Minute) }
		var server sync.WaitGroup
		server.Go(func() {
			if _, err := io.ReadFull(far, make([]byte, len(written))); err != nil {
				t.Error(err)
			}
			if _, err := far.Write([]byte("$1000000\r\n")); err != nil {
				t.Error(err)
			}
		})
		c := &knownConn{Conn: near, pulse: p}
		if _, err := c.Write([]byte(written)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		server.Wait()
		if got := p.quiet() == 0; got != want {
			t.Errorf("after %q a part of the answer is heard: %v, want %v", written, got, want)
		}
		if err := errors.Join(near.Close(), far.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseLeavesNoLane: a caller gives up a call whose answer does not come. Close does not wait for the answer, and what did
// has ended when it returns.
func TestCloseLeavesNoLane(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.Start(t))
	s := open(t, Options{URL: proxy.URL})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	proxy.Stall(redistest.ToClient)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Stats(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stats that gets no answer = %v, want a deadline exceeded", err)
	}
	lanes := &s.topology.known()[0].lanes
	running := func() int {
		lanes.mu.Lock()
		defer lanes.mu.Unlock()
		return lanes.running
	}
	if n := running(); n != 1 {
		t.Fatalf("%d lanes are running with a call that has no answer, want 1", n)
	}
	begun := time.Now()
	if err := s.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if n := running(); n != 0 {
		t.Errorf("%d lanes are running after Close, want none", n)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("Close took %v, want it not to wait for an answer", took)
	}
}
