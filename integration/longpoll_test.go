package integration

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIdleLongPollsCostNothing lets 1,000 receives wait on connections of their own and looks at the processor time of
// the server over some seconds.
func TestIdleLongPollsCostNothing(t *testing.T) {
	t.Parallel()
	const waiters = 1000
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	c := srv.client()
	for i := range 10 {
		c.create(fmt.Sprintf("q%d", i), "")
	}
	for i := range waiters {
		conn := srv.dial(t)
		say(t, conn, "POST /v1/queues/q%d/receive?wait=10m HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", i%10)
	}
	eventually(t, "1000 waiting receives", func() bool { return c.gauge("dabba_waiting_receives") == waiters })

	over := time.Duration(size(3, 30)) * time.Second
	before, begun := srv.processorTime(), time.Now()
	<-time.After(over) // nothing is waited for: it is the time in which nothing must happen
	share := 100 * (srv.processorTime() - before).Seconds() / time.Since(begun).Seconds()
	t.Logf("%d idle receives cost %.2f%% of a core; resident memory %d MiB", waiters, share, srv.resident()>>20)
	// The goal is 1 %. The bound is loose, since the machine may be busy with other things.
	if share > 10 && !raceEnabled {
		t.Errorf("%d idle receives cost %.1f%% of a core, want at most 1%%", waiters, share)
	}

	// Each of them is still there.
	c.send("q3", "x")
	eventually(t, "one to be served", func() bool { return c.gauge("dabba_waiting_receives") == waiters-1 })
	if got := c.counts("q3"); got.Leased != 1 {
		t.Errorf("counts = %+v, want one leased", got)
	}
}

// TestWaitingReceiveWakes: whatever makes a message ready wakes a receive that waits.
func TestWaitingReceiveWakes(t *testing.T) {
	t.Parallel()
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	setup := srv.client()
	// Each test has a queue of its own; causes get the receipt of a message leased for long before the wait began.
	tests := map[string]struct {
		prepare string // how the message is leased beforehand; empty for none
		cause   func(c *client, queue, receipts string)
	}{
		"send": {"", func(c *client, queue, _ string) { c.send(queue, "x") }},
		"batch": {"", func(c *client, queue, _ string) {
			c.post("/v1/queues/"+queue+"/messages", `{"messages":[{"body":"x"}]}`).want(http.StatusOK)
		}},
		"delay end": {"", func(c *client, queue, _ string) {
			c.post("/v1/queues/"+queue+"/messages", `{"body":"x","delay":"50ms"}`).want(http.StatusOK)
		}},
		"deliver_at": {"", func(c *client, queue, _ string) {
			at := time.Now().Add(100 * time.Millisecond).UTC().Format(time.RFC3339Nano)
			c.post("/v1/queues/"+queue+"/messages", `{"body":"x","deliver_at":"`+at+`"}`).want(http.StatusOK)
		}},
		"lease end": {`{"visibility":"1500ms"}`, func(*client, string, string) {}},
		"nack": {`{"visibility":"1h"}`, func(c *client, queue, receipts string) {
			c.settle(queue, "nack", `{"receipts":`+receipts+`,"delay":0}`)
		}},
		"backoff end": {`{"visibility":"1h"}`, func(c *client, queue, receipts string) {
			c.settle(queue, "nack", `{"receipts":`+receipts+`,"delay":"50ms"}`)
		}},
		"extend to 0": {`{"visibility":"1h"}`, func(c *client, queue, receipts string) {
			c.settle(queue, "extend", `{"receipts":`+receipts+`,"visibility":0}`)
		}},
		"extend to less": {`{"visibility":"1h"}`, func(c *client, queue, receipts string) {
			c.settle(queue, "extend", `{"receipts":`+receipts+`,"visibility":"50ms"}`)
		}},
	}
	for name, tt := range tests {
		queue := strings.ReplaceAll(name, " ", "-")
		setup.create(queue, "")
		t.Run(name, func(t *testing.T) {
			c := *setup
			c.t = t
			held := "[]"
			if tt.prepare != "" {
				c.send(queue, "x")
				held = receipts(c.receive(queue, tt.prepare))
			}
			woken := make(chan *answer, 1)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			go func() {
				a, err := c.try(ctx, http.MethodPost, "/v1/queues/"+queue+"/receive?wait=5m", "")
				if err != nil {
					t.Errorf("the receive that waits: %v", err)
				}
				woken <- a
			}()
			eventually(t, "the receive to wait", func() bool { return c.gauge("dabba_waiting_receives") == 1 })
			tt.cause(&c, queue, held)
			a := <-woken
			if a == nil {
				return
			}
			var got received
			a.want(http.StatusOK).into(&got)
			if len(got.Messages) != 1 || string(got.Messages[0].content()) != "x" {
				t.Errorf("the receive that waited got %s", a.body)
			}
		})
	}
}

// TestClientsThatHangUpLeaseNothing: a client is killed while it waits, and the message that comes goes to the next.
func TestClientsThatHangUpLeaseNothing(t *testing.T) {
	t.Parallel()
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	c := srv.client()
	c.create("q", "")
	for round := range 20 {
		const gone = 5
		var conns []net.Conn
		for range gone {
			conn := srv.dial(t)
			say(t, conn, "POST /v1/queues/q/receive?wait=10m HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
			conns = append(conns, conn)
		}
		eventually(t, "receives that wait", func() bool { return c.gauge("dabba_waiting_receives") == gone })
		for i, conn := range conns {
			if i%2 == 0 {
				_ = conn.(*net.TCPConn).SetLinger(0) // a reset instead of a goodbye
			}
			_ = conn.Close()
		}
		// TCP keeps no order between connections: a busy system may deliver the send before it delivers these ends, and to the
		// server a client whose end is still on its way is one that gets its answer. So they have arrived first, at the
		// server's end of the connections; the server itself may not have noticed.
		eventually(t, "the ends to arrive", func() bool { return srv.established(conns) == 0 })
		c.send("q", "x")
		got := c.receive("q", `{"wait":"1m"}`)
		if len(got) != 1 || got[0].Receives != 1 {
			t.Fatalf("round %d: after %d clients hung up, the next one got %+v, want the message with receives 1", round, gone, got)
		}
		c.settle("q", "ack", `{"receipts":`+receipts(got)+`}`)
		eventually(t, "the receives to be gone", func() bool { return c.gauge("dabba_waiting_receives") == 0 })
	}
}

// established is how many of the connections are still open in both directions at the server's end, as the system has it.
func (s *server) established(conns []net.Conn) (n int) {
	s.t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, conn := range conns {
		client, server := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line) // number, local address, remote address, state (01 for established), …
			if len(fields) > 3 && fields[3] == "01" && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", server.Port)) &&
				strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", client.Port)) {
				n++
			}
		}
	}
	return n
}

// dial opens a bare connection to the server; it is closed with the test.
func (s *server) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say writes to a bare connection.
func say(t testing.TB, conn net.Conn, format string, args ...any) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, format, args...); err != nil {
		t.Fatalf("write to the server: %v", err)
	}
}

// processorTime is what the server has used, user and system.
func (s *server) processorTime() time.Duration {
	s.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	// The second field is the name in parentheses; utime and stime are the 14th and 15th, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			s.t.Fatalf("%s: %v", stat, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident is how many bytes of memory the server has.
func (s *server) resident() int64 { return s.memory("VmRSS:") }

// memory is a figure of the kernel's about the process, in bytes.
func (s *server) memory(name string) int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), name)
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		s.t.Fatalf("%s: %v", status, err)
	}
	return kib << 10
}
