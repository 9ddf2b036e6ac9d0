package integration

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestDeploy runs the tests of folder deploy/check, which is a module of its own: what compose.yaml and the manifests of
// deploy/kubernetes say is what Kubernetes and the program know.
func TestDeploy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // a new machine compiles Kubernetes' types first
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "./...") // nothing in it runs at once with itself: no -race
	cmd.Dir = "../deploy/check"
	// Flags of this run, as -json, are not for that one.
	cmd.Env = append(environment(), "DABBA_BINARY="+dabba, "GOFLAGS=", "NO_PROXY=*", "no_proxy=*")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in the folder deploy/check: %v\n%s", err, said)
	}
}
