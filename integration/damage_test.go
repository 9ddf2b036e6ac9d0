package integration

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damaged is a data folder made once, whose copies are damaged.
type damaged struct {
	files map[string][]byte
	live  map[string]string // tag to body of the messages that are there
	gone  map[string]bool   // tags of those acked
	lost  int               // how many copies could not be served whole, and said so
	whole int               // how many were served whole
}

// prepare fills a folder: several data files, messages of all sizes, some acked. The server is killed, so that there is
// something to recover.
func prepare(t *testing.T, r *rand.Rand) *damaged {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data, "--journal-size", "64KiB")
	c := srv.client()
	c.create("q", "")
	d := &damaged{files: map[string][]byte{}, live: map[string]string{}, gone: map[string]bool{}}
	for i := range 60 {
		tag, body := fmt.Sprintf("m%d", i), strings.Repeat(fmt.Sprintf("%d,", i), 1+r.IntN(2000))
		c.post("/v1/queues/q/messages", fmt.Sprintf(`{"body":%q,"attributes":{"tag":%q}}`, body, tag)).want(200)
		d.live[tag] = body
	}
	for range 10 {
		got := c.receive("q", `{"max":3}`)
		c.settle("q", "ack", `{"receipts":`+receipts(got)+`}`)
		for i := range got {
			tag := got[i].Attributes["tag"]
			delete(d.live, tag)
			d.gone[tag] = true
		}
	}
	// Damage in the very last write cannot be told from a write that was never finished, or never begun: let that be
	// this one. It vouches for all before it.
	c.create("tail", "")
	c.send("tail", "x")
	srv.kill()
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(data, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > 0 {
			d.files[e.Name()] = content
		}
	}
	return d
}

// TestDamage flips single bits, cuts files and takes files away. The server either refuses to start, and says in one
// line what is wrong and what to do, or serves: then each message is as it was sent, none that was acked comes back, and
// what is missing was reported.
func TestDamage(t *testing.T) {
	t.Parallel()
	r := random(seed(t), 0)
	d := prepare(t, r)
	names := slices.Sorted(maps.Keys(d.files))
	for n := range size(20, 1000) {
		name := names[r.IntN(len(names))]
		content := d.files[name]
		what := ""
		switch r.IntN(8) {
		case 0:
			content, what = nil, "is missing"
		case 1:
			at := r.IntN(len(content))
			content, what = content[:at], fmt.Sprintf("is cut at %d", at)
		case 2:
			at := r.IntN(len(content)) &^ 511
			content = bytes.Clone(content)
			clear(content[at:min(len(content), at+512)])
			what = fmt.Sprintf("has 512 zeros at %d", at)
		default:
			// Most of a data file is unused: where there is something is more interesting.
			at := r.IntN(len(content))
			for range 20 {
				if content[at] != 0 {
					break
				}
				at = r.IntN(len(content))
			}
			content = bytes.Clone(content)
			content[at] ^= 1 << r.IntN(8)
			what = fmt.Sprintf("has a bit flipped at %d", at)
		}
		t.Run(fmt.Sprintf("%d", n), func(t *testing.T) {
			d.try(t, name, what, content)
		})
	}
	t.Logf("%d times served whole, %d times refused or reported", d.whole, d.lost)
	if d.lost == 0 {
		t.Error("no damage was noticed")
	}
}

// try starts a server on a copy with one damaged file; no content means that it is missing.
func (d *damaged) try(t *testing.T, name, what string, content []byte) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for other, sound := range d.files {
		if other == name {
			if content == nil {
				continue
			}
			sound = content
		}
		writeFile(t, filepath.Join(data, other), string(sound))
	}
	what = name + " " + what
	noticed := exec.Command(dabba, "fsck", data).Run() != nil

	// It only looks whether it starts: with its input at an end it stops at once.
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", data, "--journal-size", "64KiB", "--until-input-ends", "--log-level", "warn"}
	cmd := exec.Command(dabba, args...)
	cmd.Env = environment()
	said := newOutput()
	cmd.Stderr = said
	err := cmd.Run()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 1:
		d.lost++
		if !noticed {
			t.Errorf("%s: the server does not start, and fsck found no damage", what)
		}
		lines := strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "dabba: ") || !strings.Contains(last, data) || strings.Count(said.String(), "dabba: ") != 1 {
			t.Errorf("%s: serve said:\n%s\nwant one line that says what is wrong and names the folder", what, said)
		}
		return
	case err != nil:
		t.Fatalf("%s: serve ended with %v, want 0 or 1; it said:\n%s", what, err, said)
	}

	srv := start(t, data, "--journal-size", "64KiB")
	srv.harmed = noticed
	c := srv.client()
	there := map[string]bool{}
	for {
		got := c.receive("q", `{"max":100,"visibility":"1h"}`)
		if len(got) == 0 {
			break
		}
		for i := range got {
			tag := got[i].Attributes["tag"]
			if body, ok := d.live[tag]; (!ok && !d.gone[tag]) || (ok && string(got[i].content()) != body) {
				t.Errorf("%s: a message was delivered that was never sent: tag %q, %d bytes", what, tag, len(got[i].content()))
			}
			if there[tag] {
				t.Errorf("%s: message %s was delivered twice", what, tag)
			}
			if d.gone[tag] {
				t.Errorf("%s: message %s was delivered although it was acked", what, tag)
			}
			there[tag] = true
		}
	}
	missing := len(d.live) - len(there)
	if missing == 0 {
		d.whole++
		return
	}
	d.lost++
	if !noticed {
		t.Errorf("%s: %d messages are missing, and fsck found no damage", what, missing)
	}
	if log := said.String() + srv.log.String(); !strings.Contains(log, "damaged") {
		t.Errorf("%s: %d messages are missing and nothing was said about it:\n%s", what, missing, log)
	}
}
