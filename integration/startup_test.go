package integration

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestRefusedStarts: each mistake is one clear line that says what to do, with the documented exit code.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	inUse := l.Addr().String()
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	srv := start(t, locked)
	file := filepath.Join(dir, "file")
	writeFile(t, file, "not a folder")

	tests := map[string]struct {
		code int
		args []string
		says []string
	}{
		"port in use":           {1, []string{"serve", "--addr", inUse, "--data", filepath.Join(dir, "a")}, []string{inUse, "in use", "another --addr"}},
		"folder in use":         {1, []string{"serve", "--addr", "127.0.0.1:0", "--data", locked}, []string{locked, "in use by another process", "another folder"}},
		"folder is a file":      {1, []string{"serve", "--addr", "127.0.0.1:0", "--data", file}, []string{file}},
		"unknown flag":          {2, []string{"serve", "--adr", "x"}, []string{"--adr", "--help"}},
		"unknown command":       {2, []string{"srve"}, []string{"srve", "did you mean serve"}},
		"no address":            {2, []string{"serve", "--addr", "8080"}, []string{"--addr", "127.0.0.1:8080"}},
		"open to everyone":      {2, []string{"serve", "--addr", "0.0.0.0:0"}, []string{"--auth-keys", "--insecure"}},
		"unknown store":         {2, []string{"serve", "--store", "paper"}, []string{"--store", "segment"}},
		"size of journal files": {2, []string{"serve", "--journal-size", "1"}, []string{"--journal-size", "64KiB"}},
		"no key file":           {2, []string{"serve", "--auth-keys", filepath.Join(dir, "absent")}, []string{"absent"}},
		"unknown setting":       {2, []string{"serve", "--config", file}, []string{file}},
		"no server":             {1, []string{"queues", "list", "--url", "http://" + closedPort(t)}, []string{"no server answers", "dabba serve", "--url"}},
		"no such host":          {2, []string{"queues", "list", "--url", "nonsense"}, []string{"--url"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			said := refused(t, tt.code, tt.args...)
			for _, want := range tt.says {
				if !strings.Contains(said, want) {
					t.Errorf("dabba %s said %q, want it to mention %q", strings.Join(tt.args, " "), said, want)
				}
			}
		})
	}
	// The one that has the folder was not disturbed.
	srv.client().create("q", "")
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestFolderWithoutRights starts the server as a user who may not write to the data folder, or not even read it.
func TestFolderWithoutRights(t *testing.T) {
	t.Parallel()
	need(t, runtime.GOOS == "linux" && os.Getuid() == 0, "Linux and root, to be another user")
	// A folder that everyone can reach, unlike those of t.TempDir, with a copy of the program.
	dir, err := os.MkdirTemp("", "dabba-rights-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, data := filepath.Join(dir, "dabba"), filepath.Join(dir, "data")
	copyFile(t, dabba, program, 0o755)
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")
	c.send("q", "x")
	srv.stop()

	for name, mode := range map[string]os.FileMode{"read only": 0o555, "no access": 0o700} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(data, mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--data", data, "--log-level", "error")
		cmd.Env = environment()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: serve ended with %v, want exit code 1; it said:\n%s", name, err, said)
			continue
		}
		if strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), data) || !strings.Contains(string(said), "permission denied") {
			t.Errorf("%s: serve said:\n%s\nwant one line that names the folder and what is denied", name, said)
		}
	}
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := start(t, data).client().counts("q"); got.Ready != 1 {
		t.Errorf("after refused starts the queue has %+v, want 1 ready", got)
	}
}

// TestOtherVersion starts on a folder that says, with a sound checksum, that another version wrote it.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	start(t, data).stop()
	name := filepath.Join(data, "CURRENT")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(content)
	newer[8]++ // the version, after the magic; the checksum is the last four bytes
	sum := crc32.Checksum(newer[:len(newer)-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(newer[len(newer)-4:], sum)
	writeFile(t, name, string(newer))
	for range 2 { // refusing changes nothing
		said := refused(t, 1, "serve", "--addr", "127.0.0.1:0", "--data", data)
		if !strings.Contains(said, "version") || !strings.Contains(said, "CURRENT") {
			t.Errorf("serve on data of another version said %q", said)
		}
	}
	refused(t, 1, "serve", "--addr", "127.0.0.1:0", "--data", data, "--quarantine")
	writeFile(t, name, string(content))
	start(t, data)
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		t.Fatal(err)
	}
}
