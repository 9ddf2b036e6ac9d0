package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// rude is a server that is treated badly while a polite client looks on: it is served all the time, and nothing it was
// told gets lost.
type rude struct {
	*server
	polite *client
	sent   int
}

func beRude(t *testing.T, args ...string) *rude {
	t.Helper()
	srv := start(t, filepath.Join(t.TempDir(), "data"), args...)
	r := &rude{server: srv, polite: srv.client()}
	r.polite.create("q", `{"max_message_bytes":16777216}`)
	r.polite.create("other", "")
	t.Cleanup(func() {
		if c := r.polite.counts("q"); c.Ready != int64(r.sent) {
			t.Errorf("the polite client sent %d messages, of which %+v are there", r.sent, c)
		}
	})
	return r
}

// stillServes sends a message, which must be quick.
func (r *rude) stillServes() {
	r.t.Helper()
	begun := time.Now()
	r.polite.send("q", "x")
	r.sent++
	if took := time.Since(begun); took > 10*time.Second {
		r.t.Errorf("a send took %v meanwhile", took)
	}
}

// TestSlowClients opens connections that send their headers, or their body, slowly or never: they are cut off after a
// while, and take nothing from anybody.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const each = 100
	// The server gives a request 20 s; see handlers.NewServer.
	const limit = 40 * time.Second
	r := beRude(t)
	starts := []string{
		"", // not a byte: an idle connection, but no request was made on it before
		"POST /v1/queues/q/mess",
		"POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"body\":\"",
		"POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"bod\r\n",
		"POST /v1/queues/q/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{",
	}
	before := r.resident()
	var ends sync.WaitGroup
	for _, start := range starts {
		for i := range each {
			conn := r.dial(t)
			say(t, conn, "%s", start)
			ends.Go(func() {
				_ = conn.SetDeadline(time.Now().Add(limit))
				if i%10 == 0 {
					drip(conn) // a byte now and then does not help
				}
				if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
					t.Errorf("a client that sent %q and no more was not cut off within %v", start, limit)
				}
			})
		}
	}
	r.stillServes()
	if grown := r.resident() - before; grown > 100<<20 {
		t.Errorf("%d slow clients cost %d MiB", each*len(starts), grown>>20)
	}
	ends.Wait()
	r.stillServes()
}

// drip sends a space every second until the connection ends.
func drip(conn net.Conn) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range tick.C {
		if _, err := conn.Write([]byte(" ")); err != nil {
			return
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // as the connection returns it
	return ok && timeout.Timeout()
}

// TestGarbage sends ten thousand requests that are none, or not quite: each is refused as the client's fault, or the
// connection is closed.
func TestGarbage(t *testing.T) {
	t.Parallel()
	const clients = 8
	s := seed(t)
	r := beRude(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for n := range clients {
		random := random(s, uint64(n))
		all.Go(func() {
			for range 10_000 / clients {
				request := garbage(random)
				status, err := exchange(r.base, request)
				if err != nil {
					t.Errorf("the server cannot be reached after %q: %v", request, err)
					return
				}
				if status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported {
					t.Errorf("%q was answered %d", request, status)
				}
				if status >= 200 && status < 300 {
					t.Errorf("%q was answered %d", request, status)
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("answers by status, 0 for a closed connection: %v", statuses)
	r.stillServes()
}

// garbage is something that no server should understand.
func garbage(r *rand.Rand) []byte {
	noise := make([]byte, r.IntN(200))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	body := []string{
		`{"body":`, `{"body":1}`, `[]`, `{"body":"x","body":"y"}`, `{"boddy":"x"}`, `{"messages":[]}`, `{"messages":{}}`, `null`, `""`, `{"body":"\ud800"}`,
		`{"body":"x","delay":"-1s"}`, `{"body":"x","delay":1e308}`, `{"body_base64":"***"}`, strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000), "\x00", string(noise),
	}[r.IntN(17)]
	path := []string{
		"/v1/queues/q/messages", "/v1/queues/q/receive", "/v1/queues/q/ack", "/v1/queues/q/nack", "/v1/queues/q/extend", "/v1/queues/%00/messages",
		"/v1/queues/..%2f..%2fetc/messages", "/v1/queues/" + strings.Repeat("a", 5000) + "/messages", "/v1/queues/%zz/messages", "/v9", "/v1/queues/q/messages/" + string(noise),
	}[r.IntN(11)]
	switch r.IntN(8) {
	case 0:
		return append(noise, "\r\n\r\n"...)
	case 1:
		return []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + string(noise)) // somebody speaks TLS
	case 2:
		return []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(noise))
	case 3:
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\n\r\n", path) // no Host
	case 4:
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n%s", path, body)
	case 5:
		return fmt.Appendf(nil, "GET %s HTTP/9.9\r\nHost: localhost\r\n\r\n", path)
	default:
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, max(1, len(body)), body)
	}
}

// exchange sends bytes on a connection of their own and returns the status of the answer, 0 if there was none.
func exchange(base string, request []byte) (int, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write(request)
	_ = conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if isTimeout(err) {
			return 0, fmt.Errorf("no answer within %v", patience)
		}
		return 0, nil
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Body.Close()
}

// TestLengthsThatLie: a request is what its headers say it is, or it is refused.
func TestLengthsThatLie(t *testing.T) {
	t.Parallel()
	r := beRude(t)
	const send = "POST /v1/queues/other/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	tests := map[string]struct {
		request string
		want    []int // the statuses of all answers on the connection
	}{
		"longer than it is":    {send + "Content-Length: 100\r\n\r\n{\"body\":\"x\"}", []int{400}},
		"shorter than it is":   {send + "Content-Length: 5\r\n\r\n{\"body\":\"x\"}", []int{400, 400}},
		"two of them":          {send + "Content-Length: 12\r\nContent-Length: 13\r\n\r\n{\"body\":\"x\"} ", []int{400}},
		"negative":             {send + "Content-Length: -1\r\n\r\n", []int{400}},
		"no number":            {send + "Content-Length: many\r\n\r\n", []int{400}},
		"too large to be true": {send + "Content-Length: 99999999999999999999\r\n\r\n", []int{400}},
		"larger than allowed":  {send + "Content-Length: 10000000000\r\n\r\n", []int{413}},
		"broken chunk":         {send + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", []int{400}},
		"unfinished chunks":    {send + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"bod\r\n", []int{400}},
		"unknown encoding":     {send + "Transfer-Encoding: gzip\r\n\r\n", []int{501}},
		"huge headers":         {send + "X-Huge: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", []int{431}},
		"many headers":         {send + strings.Repeat("X-Many: x\r\n", 20_000) + "\r\n", []int{431}},
		"huge path":            {"POST /v1/queues/" + strings.Repeat("a", 100<<10) + "/messages HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{431}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			conn := r.dial(t)
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = io.WriteString(conn, tt.request) // the server may close before it is all written
			_ = conn.(*net.TCPConn).CloseWrite()
			var got []int
			for answers := bufio.NewReader(conn); ; {
				res, err := http.ReadResponse(answers, nil)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, res.Body)
				got = append(got, res.StatusCode)
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("answers = %v, want %v", got, tt.want)
			}
			r.stillServes()
		})
	}
	if c := r.polite.counts("other"); c != (counts{}) {
		t.Errorf("requests that were refused left %+v", c)
	}
}

// TestPipelining sends many requests before it reads an answer: all are answered, in order.
func TestPipelining(t *testing.T) {
	t.Parallel()
	const n = 200
	r := beRude(t)
	conn := r.dial(t)
	var requests bytes.Buffer
	for i := range n {
		body := fmt.Sprintf(`{"body":"%d"}`, i)
		fmt.Fprintf(&requests, "POST /v1/queues/other/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		fmt.Fprint(&requests, "POST /v1/queues/other/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	}
	go func() { _, _ = conn.Write(requests.Bytes()) }()
	answers := bufio.NewReader(conn)
	_ = conn.SetDeadline(time.Now().Add(patience))
	for i := range 2 * n {
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("answer %d = %s %s, %v", i, res.Status, body, err)
		}
		if want := fmt.Sprintf(`"body":"%d"`, i/2); i%2 == 1 && !bytes.Contains(body, []byte(want)) {
			t.Fatalf("answer %d = %s, want %s", i, body, want)
		}
	}
	r.stillServes()
}

// TestBodiesThatAreTooMuch sends more than is allowed, in one body and in many at once: it is refused, and the memory of
// the server stays within bounds.
func TestBodiesThatAreTooMuch(t *testing.T) {
	t.Parallel()
	r := beRude(t)
	before := r.resident()

	// Chunks without end.
	conn := r.dial(t)
	say(t, conn, "POST /v1/queues/other/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
	block := append([]byte("100000\r\n"), append(bytes.Repeat([]byte("x"), 1<<20), "\r\n"...)...)
	go func() {
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("chunks without end: %v", err)
	}
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunks without end were answered %s, want 413", res.Status)
	}
	_ = res.Body.Close()
	_ = conn.Close()

	// More bodies at once than the server holds, each kept open with its last byte missing.
	const bodies, length = 48, 16 << 20
	body := bytes.Repeat([]byte("x"), length-1)
	var conns []net.Conn
	for range bodies {
		conn := r.dial(t)
		conns = append(conns, conn)
		say(t, conn, "POST /v1/queues/other/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", length)
	}
	var writers sync.WaitGroup
	for _, conn := range conns {
		writers.Go(func() { _, _ = conn.Write(body) }) // some are refused while they still write
	}
	writers.Wait()
	r.stillServes()
	peak := r.peak()
	statuses := make(chan int, bodies)
	for _, conn := range conns {
		writers.Go(func() {
			_, _ = conn.Write([]byte("x"))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				statuses <- 0 // refused so early that the connection was reset
				return
			}
			_ = res.Body.Close()
			statuses <- res.StatusCode
		})
	}
	writers.Wait()
	close(statuses)
	seen := map[int]int{}
	for status := range statuses {
		seen[status]++
		switch status {
		case 0, http.StatusServiceUnavailable, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("a body of 16 MiB, more than the queue takes, was answered %d", status)
		}
	}
	t.Logf("%d bodies of 16 MiB: %v; memory %d MiB before, %d MiB at most", bodies, seen, before>>20, peak>>20)
	if seen[http.StatusServiceUnavailable]+seen[0] == 0 {
		t.Error("the server took them all")
	}
	// At most 512 MiB are held, and as much again may wait for the garbage collector, which a busy machine keeps waiting.
	if limit := before + 1000<<20; peak > limit && !raceEnabled {
		t.Errorf("the server took %d MiB, want at most %d", peak>>20, limit>>20)
	}
	if c := r.polite.counts("other"); c != (counts{}) {
		t.Errorf("bodies that were refused left %+v", c)
	}
	r.stillServes()
}

// TestFlood opens thousands of connections that do nothing, and as many that do little.
func TestFlood(t *testing.T) {
	t.Parallel()
	const idle, busy = 2000, 500
	r := beRude(t)
	before := r.resident()
	for range idle {
		r.dial(t)
	}
	var clients sync.WaitGroup
	for range busy {
		clients.Go(func() {
			status, err := exchange(r.base, []byte("POST /v1/queues/other/receive HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
			if err != nil || (status != http.StatusOK && status != 499) {
				t.Errorf("one of %d clients at once was answered %d, %v", busy, status, err)
			}
		})
	}
	r.stillServes()
	clients.Wait()
	grown := r.resident() - before
	t.Logf("%d idle connections cost %d KiB each", idle, grown>>10/idle)
	if grown > idle*64<<10 && !raceEnabled {
		t.Errorf("%d idle connections cost %d MiB", idle, grown>>20)
	}
	r.stillServes()
}

// TestReadersThatDoNotRead asks for a large answer many times and reads nothing of it: the memory of the server stays
// within bounds, and others are served.
func TestReadersThatDoNotRead(t *testing.T) {
	t.Parallel()
	const length = 15 << 20
	readers := size(60, 200)
	if raceEnabled {
		readers = 20 // the race detector is slow with large answers, and its memory says nothing
	}
	r := beRude(t)
	before := r.resident()
	r.polite.create("large", `{"max_message_bytes":16777216}`)
	r.polite.with("Content-Type", "text/plain").post("/v1/queues/large/messages", strings.Repeat("x", length)).want(http.StatusOK)
	for n := range readers {
		conn := r.dial(t)
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		// The lease ends at once, so that each of them gets the same message.
		say(t, conn, "POST /v1/queues/large/receive?visibility=0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
		// A few at a time, each of which is delivered or refused.
		eventually(t, "it to be answered", func() bool {
			return r.polite.received("large")+r.polite.gauge("dabba_memory_refusals_total") >= float64(n-5)
		})
	}
	r.stillServes()
	r.polite.send("other", "y")
	if got := r.polite.receive("other", `{"wait":"1m"}`); len(got) != 1 {
		t.Errorf("a polite client received %d messages", len(got))
	}
	peak := r.peak()
	t.Logf("%d readers that do not read 15 MiB: memory %d MiB before, %d MiB at most", readers, before>>20, peak>>20)
	// At most 512 MiB are held. The rest waits for the garbage collector.
	if limit := before + 1500<<20; peak > limit && !raceEnabled {
		t.Errorf("the server took %d MiB, want at most %d", peak>>20, limit>>20)
	}
}

// received is how many deliveries of a queue there were.
func (c *client) received(queue string) float64 {
	c.t.Helper()
	return c.gauge(`dabba_messages_received_total{queue="` + queue + `"}`)
}

// peak is the most memory that the server had at a time.
func (s *server) peak() int64 { return s.memory("VmHWM:") }
