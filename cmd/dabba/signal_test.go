package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := serveForTest(t)
	// A request whose body does not come keeps the graceful stop waiting.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the server did not ask for the body: %v", err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, "a second signal stops at once")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGINT {
		t.Errorf("the server ended with %v, want it to be ended by the second signal", p.cmd.ProcessState)
	}
}

func TestSignalAnswersWaitingReceives(t *testing.T) {
	t.Parallel()
	p := serveForTest(t, "--store", "memory", "--log-level", "debug")
	createAt(t, p.base+"/v1/queues/q")
	out, said := newBuffer(), newBuffer()
	cmd := exec.Command("dabba", "receive", "--url", p.base, "--queue", "q", "--wait", "10m")
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(t, p.base)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != exitFine {
		t.Errorf("the server ended with %d, want %d; it said:\n%s", code, exitFine, p.stderr)
	}
	const note = "dabba: note: no message of q came while it waited; dabba queues describe q shows what there is\n"
	if err := cmd.Wait(); err != nil || out.String() != "" || said.String() != note {
		t.Errorf("the waiting receive ended with %v, printed %q and noted %q, want an orderly empty answer and the note %q", err, out, said, note)
	}
}

func TestFollowPrintsAcknowledgesAndEndsWithSignal(t *testing.T) {
	t.Parallel()
	p := serveForTest(t)
	createAt(t, p.base+"/v1/queues/q")
	out, said := newBuffer(), newBuffer()
	cmd := exec.Command("dabba", "receive", "--url", p.base, "--queue", "q", "--follow", "--ack", "--raw", "--max", "10")
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(t, p.base)
	for i := range 3 {
		send := exec.Command("dabba", "send", "--url", p.base, "--queue", "q")
		send.Stdin = strings.NewReader(fmt.Sprintf("message %d\n", i))
		if said, err := send.CombinedOutput(); err != nil {
			t.Fatalf("send: %v: %s", err, said)
		}
		out.await(t, fmt.Sprintf("message %d\n", i))
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || out.String() != "message 0\nmessage 1\nmessage 2\n" {
		t.Errorf("receive --follow ended with %v (%s), printed %q; want success and the three messages", err, said, out)
	}
	described, err := exec.Command("dabba", "queues", "describe", "q", "--json", "--url", p.base).Output()
	if err != nil || !bytes.Contains(described, []byte(`"ready": 0`)) || !bytes.Contains(described, []byte(`"leased": 0`)) {
		t.Errorf("after --ack the queue is (%v)\n%s\nwant it to be empty", err, described)
	}
}

func createAt(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("PUT %s: %s", url, resp.Status)
	}
}

// awaitWaiting returns when one receive waits on the server.
func awaitWaiting(t *testing.T, base string) {
	t.Helper()
	for range 10_000 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := new(http.Client).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "\ndabba_waiting_receives 1\n") {
			return
		}
	}
	t.Fatal("no receive waits")
}
