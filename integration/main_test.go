package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dabba is the program under test.
var dabba string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if dabba = os.Getenv("DABBA_BINARY"); dabba != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "dabba-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for temporary files may stay
	dabba = filepath.Join(dir, "dabba")
	args := []string{"build", "-o", dabba}
	// A server with the race detector takes three times as long for everything, so only long runs have one.
	if raceEnabled && os.Getenv("DABBA_TORTURE") != "" {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "github.com/dabba-mq/dabba/cmd/dabba")...)
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program under test: %v\n%s", err, said)
		return 1
	}
	return m.Run()
}

// environment is that of this process without what would configure a server.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "DABBA_") {
			env = append(env, entry)
		}
	}
	return env
}

// torture says that a run may take as long as it likes.
func torture() bool { return os.Getenv("DABBA_TORTURE") != "" }

// size is how much of something to try: the first number in a normal run, the second in a long one.
func size(normal, long int) int {
	if torture() {
		return long
	}
	return normal
}

// need skips a test on a machine that lacks something, and fails it where nothing may be lacking.
func need(t *testing.T, present bool, what string) {
	t.Helper()
	switch {
	case present:
	case os.Getenv("CI") != "":
		t.Fatalf("this test needs %s", what)
	default:
		t.Skipf("this test needs %s", what)
	}
}
