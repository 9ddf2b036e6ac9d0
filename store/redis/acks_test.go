package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// later stands between a store and a server and adds WAITAOF to what that can do. It answers one command after the other.
type later struct {
	t      *testing.T
	target string
	// local and replicas are how many copies it says there are.
	local, replicas atomic.Int64
	mu              sync.Mutex
	asked           []string // with what WAITAOF was called
}

func newLater(t *testing.T, url string) (*later, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &later{t: t, target: strings.TrimPrefix(url, "redis://")}
	var work sync.WaitGroup
	var open sync.Map
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Store(c, nil)
			work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil || true })
		work.Wait()
	})
	return p, "redis://" + l.Addr().String()
}

func (p *later) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	requests, answers := bufio.NewReader(client), bufio.NewReader(server)
	for {
		raw, words, err := readValue(requests)
		if err != nil {
			return
		}
		switch {
		case len(words) == 3 && strings.EqualFold(strings.Join(words, " "), "command info waitaof"):
			_, err = io.WriteString(client, "*1\r\n*1\r\n$7\r\nwaitaof\r\n")
		case len(words) > 0 && strings.EqualFold(words[0], "waitaof"):
			p.mu.Lock()
			p.asked = append(p.asked, strings.Join(words[1:], " "))
			p.mu.Unlock()
			_, err = fmt.Fprintf(client, "*2\r\n:%d\r\n:%d\r\n", p.local.Load(), p.replicas.Load())
		default:
			if _, err = server.Write(raw); err == nil {
				if raw, _, err = readValue(answers); err == nil {
					_, err = client.Write(raw)
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// readValue reads one value of the protocol, and the texts in it.
func readValue(r *bufio.Reader) (raw []byte, texts []string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, nil, err
	}
	raw = []byte(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return raw, nil, nil
		}
		b := make([]byte, n+2)
		if _, err = io.ReadFull(r, b); err != nil {
			return nil, nil, err
		}
		return append(raw, b...), []string{string(b[:n])}, nil
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return raw, nil, nil
	}
	for range n {
		b, t, err := readValue(r)
		if err != nil {
			return nil, nil, err
		}
		raw, texts = append(raw, b...), append(texts, t...)
	}
	return raw, texts, nil
}

func TestWaitsForFiles(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	p, url := newLater(t, own.URL)
	s := open(t, Options{URL: url})
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		local, replicas int64
		least           int
		enough          bool
	}{
		{1, 1, 2, true}, {1, 0, 2, false}, {0, 1, 2, false}, {1, 2, 3, true}, {0, 2, 2, true}, {0, 0, 0, false}, {1, 0, 0, true},
	} {
		p.local.Store(c.local)
		p.replicas.Store(c.replicas)
		_, err := s.Send(ctx, store.SendParams{
			Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}, Acks: store.Acks{All: true, Min: c.least},
		})
		if (err == nil) != c.enough || err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Errorf("Send that wants %d copies, when %d and %d files have it = %v, want success: %t", c.least, c.local, c.replicas, err, c.enough)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := "1 1 " + strconv.Itoa(int(ackTimeShort.Milliseconds())); len(p.asked) != 8 || p.asked[0] != want {
		t.Errorf("WAITAOF was called with %q, want 8 calls (the first script has to be loaded), the first with %q", p.asked, want)
	}
}

// Calls that wait for copies hold up neither each other nor those that do not.
func TestFrozenReplica(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartReplicated(t, 1)
	s := open(t, Options{URL: fleet.URL})
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	send := func(acks store.Acks) error {
		_, err := s.Send(ctx, store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}, Acks: acks})
		return err
	}
	two := store.Acks{All: true, Min: 2}
	if err := send(two); err != nil {
		t.Fatalf("Send that waits for a replica = %v, want nil", err)
	}
	fleet.Replicas[0].Freeze(t)
	defer fleet.Replicas[0].Thaw(t)
	results := make(chan error, 20)
	begun := time.Now()
	for range cap(results) {
		go func() { results <- send(two) }()
	}
	if err := send(store.Acks{}); err != nil || time.Since(begun) > ackTime/2 {
		t.Errorf("Send that waits for nobody = %v after %v, want nil at once", err, time.Since(begun))
	}
	var all []error
	for range cap(results) {
		all = append(all, <-results)
	}
	if slices.ContainsFunc(all, func(err error) bool { return !errors.Is(err, store.ErrUnknown) }) {
		t.Errorf("Sends that wait for a frozen replica = %v, want %v", all, store.ErrUnknown)
	}
	if took := time.Since(begun); took > 10*ackTime {
		t.Errorf("%d sends that wait for a frozen replica took %v, want them to wait together", cap(results), took)
	}
}

// TestCopiesThatCannotBeCounted: a user may run scripts and may not wait. What was changed stays changed, so it is not
// said that nothing was.
func TestCopiesThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, Options{URL: server.URL})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if err := redistest.Client(t, server.URL).Do(t.Context(), "acl", "setuser", "default", "-wait", "-waitaof").Err(); err != nil {
		if err = redistest.Client(t, server.URL).Do(t.Context(), "acl", "setuser", "default", "-wait").Err(); err != nil { // before 7.2
			t.Fatal(err)
		}
	}
	_, err := s.Send(t.Context(), store.SendParams{
		Queue: 1, Revision: 1, Acks: store.Acks{All: true, Min: 1}, Entries: []store.Entry{{Payload: []byte("m"), Size: 1}},
	})
	if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Send whose copies cannot be counted = %v, want ErrUnknown", err)
	}
	if n := strings.Count(fmt.Sprint(err), store.ErrUnknown.Error()); n != 1 {
		t.Errorf("it is said %d times that the outcome is unknown in %q, want once", n, err)
	}
	if st, err := s.Stats(t.Context(), 1); err != nil || st.Ready != 1 {
		t.Errorf("Stats = %+v, %v, want the message", st, err)
	}
}
