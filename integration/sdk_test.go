package integration

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestAWSSDKForGo runs the tests of folder sdk, which is a module of its own: the AWS SDK for Go against servers, all 23
// operations, and many clients on one FIFO queue.
func TestAWSSDKForGo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // a new machine compiles the SDK first
	defer cancel()
	args := []string{"test", "-count=1"}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./...")...)
	cmd.Dir = "sdk"
	// Flags of this run, as -json, are not for that one.
	cmd.Env = append(environment(), "DABBA_BINARY="+dabba, "GOFLAGS=", "NO_PROXY=*", "no_proxy=*")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in the folder sdk: %v\n%s", err, said)
	}
}
