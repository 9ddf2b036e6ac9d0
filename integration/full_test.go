package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk lets a small file system fill up: sends are refused and say so, everything else goes on, nothing is
// lost, and sends are taken again, without a restart, once messages were consumed or space was freed.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 84<<20)
	data := filepath.Join(dir, "data")
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")
	body := strings.Repeat("x", 256<<10)
	fill := func() (accepted int) {
		for {
			a := c.with("Content-Type", "text/plain").post("/v1/queues/q/messages", body)
			if a.status != http.StatusOK {
				wantFull(t, a)
				return accepted
			}
			if accepted++; accepted > 1000 {
				t.Fatal("a disk of 84 MiB takes 250 MiB of messages")
			}
		}
	}

	c.create("other", "")
	repeated := c.with("Idempotency-Key", "k")
	id := repeated.send("other", "x")
	there := fill()
	t.Logf("%d messages of 256 KiB were taken", there)
	if there < 10 {
		t.Errorf("the disk was full after %d messages, want more", there)
	}
	// Everything that makes room, or needs none, goes on.
	c.get("/readyz").want(http.StatusOK)
	if got := c.counts("q"); got.Ready != int64(there) {
		t.Errorf("counts = %+v, want %d ready", got, there)
	}
	if again := repeated.send("other", "x"); again != id {
		t.Errorf("the repeat of a send on a full disk gave %s, want the first outcome %s", again, id)
	}
	got := c.receive("q", `{"max":3}`)
	c.settle("q", "extend", `{"receipts":`+receipts(got[:1])+`,"visibility":"1m"}`)
	c.settle("q", "nack", `{"receipts":`+receipts(got[1:2])+`,"delay":0}`)
	c.settle("q", "ack", `{"receipts":`+receipts([]message{got[0], got[2]})+`}`)
	there -= 2

	// So does a restart.
	srv.kill()
	srv = start(t, data)
	c = srv.client()
	there += fill() // what was acked made room for as much
	if got := c.counts("q"); got.Ready != int64(there) {
		t.Errorf("counts after a restart = %+v, want %d ready", got, there)
	}

	// Consuming makes room.
	consume(t, c, there)
	eventually(t, "sends to be taken again after everything was consumed", func() bool {
		a := c.post("/v1/queues/q/messages", `{"body":"x"}`)
		return a.status == http.StatusOK
	})
	consume(t, c, 1)
	again := fill()
	t.Logf("%d messages were taken the second time", again)

	// So does freeing space elsewhere on the disk.
	consume(t, c, again)
	filler := filepath.Join(dir, "filler")
	fillUp(t, filler, 20<<20)
	eventually(t, "sends to be refused", func() bool { return c.post("/v1/queues/q/messages", `{"body":"x"}`).status != http.StatusOK })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "sends to be taken again after space was freed", func() bool {
		return c.post("/v1/queues/q/messages", `{"body":"x"}`).status == http.StatusOK
	})
	srv.stop()
}

// TestDiskWithoutAByte fills the disk to the last byte from outside. What then cannot be written down is refused; the
// server lives, and goes on once there is space.
func TestDiskWithoutAByte(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 96<<20)
	srv := start(t, filepath.Join(dir, "data"))
	c := srv.client()
	c.create("q", `{"visibility":"1h"}`)
	const messages = 2000
	for range messages / 100 {
		c.post("/v1/queues/q/messages", `{"messages":[`+strings.Repeat(`{"body":"x"},`, 99)+`{"body":"x"}]}`).want(http.StatusOK)
	}
	filler := filepath.Join(dir, "filler")
	fillUp(t, filler, -1)

	acked, refusals := 0, 0
	var held []message
	for refusals < 5 && acked < messages {
		a := c.post("/v1/queues/q/receive", "")
		if a.status != http.StatusOK {
			wantFull(t, a)
			refusals++
			continue
		}
		var got received
		a.into(&got)
		a = c.post("/v1/queues/q/ack", `{"receipts":`+receipts(got.Messages)+`}`)
		if a.status != http.StatusOK {
			wantFull(t, a)
			held = append(held, got.Messages...)
			refusals++
			continue
		}
		acked++
	}
	t.Logf("without a free byte %d messages were received and acked; %d calls were refused", acked, refusals)
	if acked == 0 {
		t.Error("no message could be acked on a full disk")
	}
	c.get("/healthz").want(http.StatusOK)
	wantFull(t, c.post("/v1/queues/q/messages", `{"body":"x"}`))

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "sends to be taken again after space was freed", func() bool {
		return c.post("/v1/queues/q/messages", `{"body":"last"}`).status == http.StatusOK
	})
	if len(held) > 0 {
		c.settle("q", "ack", `{"receipts":`+receipts(held)+`}`)
	}
	consume(t, c, messages-acked-len(held)+1)
	srv.stop()
}

// wantFull checks the refusal of a send.
func wantFull(t *testing.T, a *answer) {
	t.Helper()
	p := a.refused(http.StatusInsufficientStorage, "storage_full")
	if p.Outcome != "not_applied" {
		t.Errorf("%s on a full disk has the outcome %q", a.request, p.Outcome)
	}
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("%s on a full disk has Retry-After %q", a.request, a.header.Get("Retry-After"))
	}
}

// consume receives and acks that many messages, no more and no less.
func consume(t *testing.T, c *client, want int) {
	t.Helper()
	n := 0
	for {
		got := c.receive("q", `{"max":100}`)
		if len(got) == 0 {
			break
		}
		c.settle("q", "ack", `{"receipts":`+receipts(got)+`}`)
		n += len(got)
	}
	if n != want {
		t.Errorf("%d messages were there, want %d", n, want)
	}
	if got := c.counts("q"); got != (counts{}) {
		t.Errorf("counts after all was consumed = %+v", got)
	}
}

// smallDisk mounts a file system of that size until the test ends.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	need(t, runtime.GOOS == "linux" && os.Getuid() == 0, "Linux and root, to mount a small file system")
	dir := t.TempDir()
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+strconv.Itoa(bytes), "tmpfs", dir).CombinedOutput(); err != nil {
		need(t, false, fmt.Sprintf("the right to mount a small file system (%v: %s)", err, said))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if said, err := exec.CommandContext(ctx, "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount %s: %v: %s", dir, err, said)
		}
	})
	return dir
}

// fillUp writes a file of that size; a negative one means until nothing more fits.
func fillUp(t *testing.T, name string, bytes int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // what it takes up is all that counts
	block := make([]byte, 64<<10)
	for written := 0; bytes < 0 || written < bytes; written += len(block) {
		if _, err := f.Write(block); err != nil {
			if bytes < 0 && errors.Is(err, syscall.ENOSPC) {
				return
			}
			t.Fatal(err)
		}
	}
}
