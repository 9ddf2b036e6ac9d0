package storetest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Plant is a bug put into the code on purpose. A suite that passes in spite of it proves nothing.
type Plant struct {
	// Name says what the bug does.
	Name string
	// File is changed, from the module's root: Old, which it holds exactly once, becomes New.
	File, Old, New string
	// Package and Run name the tests that must fail, as go test takes them.
	Package, Run string
}

// Planted builds the tests of each plant's package with its bug and expects them to fail. A normal run takes five of
// the plants, by seed; a long run takes all.
func Planted(t *testing.T, plants []Plant) {
	t.Helper()
	root := moduleRoot(t)
	for _, p := range plants {
		p.sabotage(t, root)
	}
	if t.Failed() {
		return
	}
	chosen := append([]Plant{}, plants...)
	random(seed(t), 0).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	places := make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1)) // each place runs a compiler
	for _, p := range chosen[:min(size(5, len(chosen)), len(chosen))] {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			expectCaught(t, root, p)
		})
	}
}

// expectCaught builds and runs the tests with the bug.
func expectCaught(t *testing.T, root string, p Plant) {
	t.Helper()
	dir := t.TempDir()
	overlay := p.overlay(t, dir, root)
	binary := filepath.Join(dir, "tests")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, p.Package)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not build with this bug, so the plant proves nothing: %v\n%s", p.Package, err, out)
	}
	tests := exec.CommandContext(t.Context(), binary, "-test.run", p.Run, "-test.count=1", "-test.failfast", "-test.timeout=5m")
	tests.Dir = filepath.Join(root, p.Package)
	tests.Env = append(os.Environ(), "DABBA_TORTURE=", "DABBA_SEED=") // a bug is caught in a normal run, or it is not caught
	out, err := tests.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("go test %s -run %s passed with this bug in %s: want a failure\n%s", p.Package, p.Run, p.File, out)
	case !strings.Contains(string(out), "--- FAIL") && !strings.Contains(string(out), "panic: "):
		t.Errorf("go test %s -run %s did not run: %v\n%s", p.Package, p.Run, err, out)
	default:
		t.Logf("caught by %s", lastLine(string(out), "--- FAIL", "panic: "))
	}
}

// overlay writes the changed file and the overlay that puts it in place of the right one.
func (p Plant) overlay(t *testing.T, dir, root string) string {
	t.Helper()
	changed := filepath.Join(dir, filepath.Base(p.File))
	write(t, changed, p.sabotage(t, root))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, p.File): changed}})
	if err != nil {
		t.Fatalf("encode the overlay: %v", err)
	}
	name := filepath.Join(dir, "overlay.json")
	write(t, name, string(overlay))
	return name
}

// sabotage returns the content of the file with the bug.
func (p Plant) sabotage(t *testing.T, root string) string {
	t.Helper()
	original := read(t, filepath.Join(root, p.File))
	if n := strings.Count(original, p.Old); n != 1 {
		t.Errorf("plant %q: %s holds %q %d times, want once: bring the plant up to date", p.Name, p.File, p.Old, n)
	}
	return strings.Replace(original, p.Old, p.New, 1)
}

// lastLine is the last line with one of the words: of nested tests, the one that failed.
func lastLine(text string, words ...string) string {
	var last string
	for line := range strings.Lines(text) {
		for _, word := range words {
			if strings.Contains(line, word) {
				last = strings.TrimSpace(line)
			}
		}
	}
	return last
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("find the module: no go.mod above the working directory")
		}
		dir = parent
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read the file to sabotage: %v", err)
	}
	return string(b)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatalf("write the sabotage: %v", err)
	}
}
