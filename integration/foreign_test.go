package integration

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurl does the main job with nothing but curl and a shell.
func TestCurl(t *testing.T) {
	t.Parallel()
	_, noCurl := exec.LookPath("curl")
	_, noShell := exec.LookPath("sh")
	need(t, noCurl == nil && noShell == nil, "curl and a shell")
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	said := runScript(t, "sh", filepath.Join("testdata", "walkthrough.sh"), srv.base)
	if !strings.Contains(said, "# Nothing is left") {
		t.Errorf("the walk-through stopped early:\n%s", said)
	}
}

// TestPython does it with Python's standard library.
func TestPython(t *testing.T) {
	t.Parallel()
	_, noPython := exec.LookPath("python3")
	need(t, noPython == nil, "Python 3")
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	if said := runScript(t, "python3", filepath.Join("testdata", "client.py"), srv.base); !strings.HasSuffix(said, "all well\n") {
		t.Errorf("the client stopped early:\n%s", said)
	}
}

// runScript runs a program that must succeed, and returns what it said.
func runScript(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience) // each command of a script may be slow
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	// No proxy between a client and the loopback address.
	cmd.Env = append(environment(), "no_proxy=*", "NO_PROXY=*")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v; it said:\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(said)
}
