package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBoto3 uses all operations with the AWS SDK for Python, which speaks JSON, and in the Query protocol of older ones.
func TestBoto3(t *testing.T) {
	t.Parallel()
	if !clients(t, exec.Command("python3", "-c", "import boto3").Run() == nil, "Python 3 with boto3") {
		return
	}
	srv := start(t, filepath.Join(t.TempDir(), "data"), "--sqs-relaxed")
	if said := runScript(t, "python3", filepath.Join("testdata", "boto.py"), srv.base); !strings.HasSuffix(said, "all well\n") {
		t.Errorf("the client stopped early:\n%s", said)
	}
}

// TestBoto3Signs does it with a server that verifies signatures.
func TestBoto3Signs(t *testing.T) {
	t.Parallel()
	if !clients(t, exec.Command("python3", "-c", "import boto3").Run() == nil, "Python 3 with boto3") {
		return
	}
	const secret = "a/secret+of=40.characters_for-the-tests0"
	keys := filepath.Join(t.TempDir(), "keys.json")
	content := `{"keys":[{"access_key_id":"AKIDTEST","secret_access_key":"` + secret + `","tenant":"default","scope":"queues:*:*"}]}`
	if err := os.WriteFile(keys, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := start(t, filepath.Join(t.TempDir(), "data"), "--sqs-relaxed", "--access-keys", keys)
	if said := runScript(t, "python3", filepath.Join("testdata", "boto.py"), srv.base, "AKIDTEST", secret); !strings.HasSuffix(said, "all well\n") {
		t.Errorf("the client stopped early:\n%s", said)
	}
}

// TestAWSCommandLine does the main job with the aws command.
func TestAWSCommandLine(t *testing.T) {
	t.Parallel()
	_, none := exec.LookPath("aws")
	if !clients(t, none == nil, "the aws command") {
		return
	}
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	if said := runScript(t, "sh", filepath.Join("testdata", "awscli.sh"), srv.base); !strings.HasSuffix(said, "all well\n") {
		t.Errorf("the commands stopped early:\n%s", said)
	}
}

// clients says whether a client is there. Without it the test is skipped, or fails where nothing may be lacking, unless
// whoever runs the tests has said that there are no such clients.
func clients(t *testing.T, present bool, what string) bool {
	t.Helper()
	if !present && os.Getenv("DABBA_WITHOUT_AWS_CLIENTS") != "" {
		t.Logf("left out: this test needs %s", what)
		return false
	}
	need(t, present, what)
	return true
}
