package main

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOtherDataVersion starts on a folder whose files say, with sound checksums, that a later version wrote them.
func TestOtherDataVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file string
		// where the version is, and the checksum of all before it
		version, checksum int
	}{
		"manifest": {"CURRENT", 8, 20},
		"journal":  {"00000001.journal", 8, 60},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := serveForTest(t, "--data", dir)
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := p.wait(); code != exitFine {
				t.Fatalf("the first server ended with %d: %s", code, p.stderr)
			}
			raise(t, filepath.Join(dir, tt.file), tt.version, tt.checksum)

			cmd := exec.Command("dabba", "serve", "--addr", "127.0.0.1:0", "--data", dir, "--log-level", "error")
			said, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != exitFailed {
				t.Errorf("serve ended with %v, want exit code %d", err, exitFailed)
			}
			if got := string(said); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the program that wrote it") {
				t.Errorf("serve said:\n%s\nwant one line with what to do", got)
			}
		})
	}
}

// raise increments a version and mends the checksum.
func raise(t *testing.T, name string, version, checksum int) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	head := make([]byte, checksum+4)
	if _, err := f.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	head[version]++
	sum := crc32.Checksum(head[:checksum], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(head[checksum:], sum)
	if _, err := f.WriteAt(head, 0); err != nil {
		t.Fatal(err)
	}
}
