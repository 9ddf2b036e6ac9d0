package sdk

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// patience is how long anything may take. It only matters when something is broken.
const patience = 60 * time.Second

var printedURL = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// start runs a server until the test ends, and returns its address.
func start(t testing.TB, args ...string) string {
	t.Helper()
	binary := os.Getenv("DABBA_BINARY")
	if binary == "" {
		t.Fatal("DABBA_BINARY does not name the program under test: see the package's documentation")
	}
	given := []string{"serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"), "--journal-size", "1MiB", "--until-input-ends"}
	cmd := exec.Command(binary, append(given, args...)...)
	cmd.Env = without(os.Environ(), "DABBA_")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	banner, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(output)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(printed)
		lines := bufio.NewScanner(banner)
		for lines.Scan() {
			if at := printedURL.FindString(lines.Text()); at != "" {
				printed <- at
				break
			}
		}
		_, _ = io.Copy(io.Discard, banner)
	}()
	t.Cleanup(func() {
		_ = input.Close()
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v; it said:\n%s", err, log)
		}
	})
	base, ok := <-printed
	if !ok {
		t.Fatalf("the server did not start; it said:\n%s", log)
	}
	return base
}

// output collects what a process says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func without(entries []string, prefix string) []string {
	var kept []string
	for _, e := range entries {
		if !strings.HasPrefix(e, prefix) {
			kept = append(kept, e)
		}
	}
	return kept
}

// client is the SDK's, as an application makes it: with an endpoint and any credentials.
func client(base string, changes ...func(*sqs.Options)) *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: aws.String(base),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, changes...)
}

// in is a region instead of the usual one.
func in(region string) func(*sqs.Options) {
	return func(o *sqs.Options) { o.Region = region }
}

// as are credentials instead of the usual ones. A refusal is not tried again.
func as(id, secret, session string) func(*sqs.Options) {
	return func(o *sqs.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, session)
		o.RetryMaxAttempts = 1
	}
}

// create makes a queue and returns its URL.
func create(t testing.TB, c *sqs.Client, name string, attributes map[string]string) *string {
	t.Helper()
	out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return out.QueueUrl
}

// advance moves the server's clock.
func advance(t testing.TB, base string, by time.Duration) {
	t.Helper()
	body := strings.NewReader(`{"by":"` + by.String() + `"}`)
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, base+"/v1/dev/clock/advance", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer.Body)
		t.Fatalf("move the clock: %s: %s", answer.Status, said)
	}
}
