package integration

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStopInGoodOrder sends SIGTERM while receives wait and a send is half way in: the receives are answered at once,
// the send is finished, and what was acknowledged is there after a restart.
func TestStopInGoodOrder(t *testing.T) {
	t.Parallel()
	const waiters = 20
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")
	c.create("empty", "")
	for i := range 10 {
		c.send("q", "before "+strconv.Itoa(i))
	}

	// Receives that wait for ten minutes.
	answers := make(chan *answer, waiters)
	var clients sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range waiters {
		clients.Go(func() {
			a, err := c.try(ctx, http.MethodPost, "/v1/queues/empty/receive?wait=10m", "")
			if err != nil {
				t.Errorf("a receive that waits: %v", err)
				return
			}
			answers <- a
		})
	}
	eventually(t, "receives that wait", func() bool { return c.gauge("dabba_waiting_receives") == waiters })

	// A send whose body comes in two halves.
	const body = `{"body":"half way"}`
	conn := srv.dial(t)
	say(t, conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("before the body the server says %q, %v", line, err)
	}
	say(t, conn, "%s", body[:10])

	begun := time.Now()
	srv.signal(syscall.SIGTERM)
	clients.Wait()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("receives that wait were answered %v after SIGTERM, want at once", took)
	}
	close(answers)
	for a := range answers {
		if got := string(a.want(http.StatusOK).body); got != `{"messages":[]}`+"\n" {
			t.Errorf("a receive that waited got %s, want an empty answer", got)
		}
	}

	say(t, conn, "%s", body[10:])
	if line, err := r.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("after 100 Continue the server says %q, %v", line, err)
	}
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("the send that was half way: %v", err)
	}
	defer res.Body.Close()
	if said, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the send that was half way was answered %s %s, %v", res.Status, said, err)
	}
	if code := srv.wait(); code != 0 {
		t.Errorf("the server ended with %d, want 0", code)
	}

	c = start(t, data).client()
	got := c.receive("q", `{"max":100}`)
	if len(got) != 11 || string(got[10].content()) != "half way" {
		t.Errorf("after a restart there are %d messages, want 11, the last one that which was half way", len(got))
	}
}

// TestStopUnderLoad stops a server while clients send: each send is either acknowledged and there, or refused or cut
// off before it was read.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")

	var mu sync.Mutex
	acknowledged, unclear := map[string]bool{}, map[string]bool{}
	enough := make(chan struct{})
	reached := sync.OnceFunc(func() { close(enough) })
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			for i := 0; ; i++ {
				body := strconv.Itoa(n) + " " + strconv.Itoa(i)
				a, err := c.try(t.Context(), http.MethodPost, "/v1/queues/q/messages", `{"body":"`+body+`"}`)
				mu.Lock()
				switch {
				case err != nil:
					unclear[body] = true
				case a.status == http.StatusOK:
					acknowledged[body] = true
				default:
					var p problem
					a.into(&p)
					if p.Outcome != "not_applied" {
						t.Errorf("a send during the stop was answered %d %s", a.status, a.body)
					}
				}
				if len(acknowledged) >= 200 || len(unclear) > 0 {
					reached()
				}
				mu.Unlock()
				if err != nil || a.status != http.StatusOK {
					return
				}
			}
		})
	}
	<-enough
	srv.signal(syscall.SIGTERM)
	clients.Wait()
	if code := srv.wait(); code != 0 {
		t.Errorf("the server ended with %d, want 0; it said:\n%s", code, srv.log)
	}

	c = start(t, data).client()
	there := map[string]bool{}
	for {
		got := c.receive("q", `{"max":1000}`)
		if len(got) == 0 {
			break
		}
		for i := range got {
			body := string(got[i].content())
			if !acknowledged[body] && !unclear[body] {
				t.Errorf("message %q is there and its send was refused", body)
			}
			there[body] = true
		}
	}
	for body := range acknowledged {
		if !there[body] {
			t.Errorf("message %q was acknowledged and is lost", body)
		}
	}
}

// TestSecondSignalEndsAtOnce: a request that is never finished holds a stop up, and a second signal does not care.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")
	c.send("q", "x")
	conn := srv.dial(t)
	say(t, conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	srv.signal(syscall.SIGTERM)
	srv.log.await(t, "a second signal stops at once")
	begun := time.Now()
	srv.signal(syscall.SIGTERM)
	if code := srv.wait(); code != -1 {
		t.Errorf("after a second SIGTERM the server ended with %d, want it to be ended by the signal", code)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the second SIGTERM took %v", took)
	}
	if got := start(t, data).client().receive("q", ""); len(got) != 1 {
		t.Errorf("after a restart there are %d messages, want the one that was acknowledged", len(got))
	}
}
