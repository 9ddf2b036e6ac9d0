package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// patience is how long anything may take. It only matters when something is broken.
const patience = 60 * time.Second

// where the tests run.
var where lab

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	where, err = choose()
	switch {
	case errors.Is(err, errNothing) && !required():
		fmt.Fprintln(os.Stdout, "SKIPPED:", err)
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "no lab:", err)
		return 1
	}
	defer where.close()
	fmt.Fprintf(os.Stdout, "LAB: %s\n", where)
	code := m.Run()
	figures.print()
	fmt.Fprintf(os.Stdout, "LAB: it was %s\n", where)
	return code
}

var errNothing = errors.New("neither a container engine nor redis-server is here")

// required says that the tests may not be skipped.
func required() bool { return os.Getenv("DABBA_REQUIRE_REDIS") != "" || os.Getenv("CI") != "" }

// choose makes the lab that DABBA_TEST_LAB names, or the one that this machine has all for.
func choose() (lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // images may have to be built
	defer cancel()
	switch named := os.Getenv("DABBA_TEST_LAB"); named {
	case "containers":
		return newContainers(ctx)
	case "processes":
		return newProcesses(ctx)
	case "":
	default:
		return nil, fmt.Errorf("DABBA_TEST_LAB is %q, want containers or processes", named)
	}
	if err := engineAnswers(ctx); err != nil {
		fmt.Fprintln(os.Stdout, "no container engine answers:", err)
		if _, err := exec.LookPath("redis-server"); err != nil {
			return nil, errNothing
		}
		return newProcesses(ctx)
	}
	return newContainers(ctx)
}

// figures are what a run found out, printed in its end.
var figures notes

type notes struct {
	mu  sync.Mutex
	all []string
}

// note keeps a figure.
func note(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Log(text)
	figures.mu.Lock()
	defer figures.mu.Unlock()
	figures.all = append(figures.all, t.Name()+": "+text)
}

func (n *notes) print() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range n.all {
		fmt.Fprintln(os.Stdout, text)
	}
}
