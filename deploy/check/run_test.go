package check

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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// patience is how long anything may take. It only matters when something is broken.
const patience = 60 * time.Second

// program is a container that runs dabba.
type program struct {
	of workload
	corev1.Container
}

func (s *set) programs() []program {
	var found []program
	for _, w := range s.workloads {
		for _, c := range w.template.Spec.Containers {
			if c.Image == "dabba" {
				found = append(found, program{w, c})
			}
		}
	}
	return found
}

// each runs a test for each container that runs dabba.
func each(t *testing.T, test func(t *testing.T, s *set, c program)) {
	t.Helper()
	for _, folder := range []string{"nodes", "embedded"} {
		s, err := load(kubernetes(), folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.programs() {
			t.Run(folder, func(t *testing.T) {
				t.Parallel()
				test(t, s, c)
			})
		}
	}
}

// variables are those of the container. What a secret would give is made up.
func (c program) variables() []string {
	env := environment()
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil {
			value = "redis://:secret@127.0.0.1:1/0"
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}

// TestProgramTakesSettings runs the program as the container would, where the file with the keys is missing. That is what
// it has to complain about, and of nothing before: settings are judged first.
func TestProgramTakesSettings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ *set, c program) {
		takes(t, c.Args, c.variables(), flagValue(c.Container, "auth-keys"))
	})
}

// TestProgramTakesComposeSettings does the same with the services of compose.yaml, which have no keys: one is named that is
// not there.
func TestProgramTakesComposeSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	var all compose
	if err := decode(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, s := range all.Services {
		if s.Image != "dabba" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := filepath.Join(t.TempDir(), "auth.key")
			env := append(environment(), "DABBA_ADDR=0.0.0.0:"+imagePort(t), "DABBA_AUTH_KEYS="+keys)
			for variable, value := range s.Environment {
				env = append(env, variable+"="+value)
			}
			takes(t, []string{"serve"}, env, keys)
		})
	}
}

// takes runs the program, which must complain about nothing but that the file with the keys is missing.
func takes(t *testing.T, args, env []string, keys string) {
	t.Helper()
	if _, err := os.Stat(keys); err == nil {
		t.Fatalf("%s is there: this test needs a machine without it", keys)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = env
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "read keys: open "+keys) {
		t.Errorf("dabba %q: got %v and\n%s\nwant a complaint about %s", args, err, said, keys)
	}
	if strings.Contains(string(said), "level=WARN") {
		t.Errorf("dabba %q warns of something:\n%s", args, said)
	}
}

// TestProgramAnswers starts the program with the container's settings, but for addresses and folders, and asks it what
// probes, Prometheus and clients do.
func TestProgramAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *set, c program) {
		key := filepath.Join(t.TempDir(), "auth.key")
		if err := os.WriteFile(key, []byte("check-0123456789abcdef0123456789abcdef-check"), 0o600); err != nil {
			t.Fatal(err)
		}
		api, admin := c.start(t, "--auth-keys="+key)
		base := map[string]string{"http": api, "admin": admin}
		for _, probe := range probes(c.Container) {
			at := base[probe.HTTPGet.Port.String()] + probe.HTTPGet.Path
			if status, said := get(t, at, ""); status != http.StatusOK {
				t.Errorf("GET %s: got %d, want 200: %s", at, status, said)
			}
		}

		if status, said := get(t, api+"/v1/queues", ""); status != http.StatusUnauthorized {
			t.Errorf("without a token: got %d, want 401: %s", status, said)
		}
		token := strings.TrimSpace(say(t, "token", "--key", key, "--sub", "check", "--scope", "admin:*:*"))
		if status, said := do(t, http.MethodPut, api+"/v1/queues/orders", token); status != http.StatusCreated {
			t.Errorf("create a queue: got %d, want 201: %s", status, said)
		}

		path := c.of.template.Annotations["prometheus.io/path"]
		status, metrics := get(t, admin+path, "")
		if status != http.StatusOK {
			t.Errorf("GET %s: got %d, want 200: %s", path, status, metrics)
		}
		for _, a := range s.autoscalers {
			for _, m := range a.Spec.Metrics {
				if m.External == nil {
					continue
				}
				want := m.External.Metric.Name
				for name, value := range m.External.Metric.Selector.MatchLabels {
					want += "{" + name + `="` + value + `"}`
				}
				if !strings.Contains(metrics, "\n"+want+" ") {
					t.Errorf("the autoscaler wants %s, which is not in\n%s", want, metrics)
				}
			}
		}
	})
}

var printedURL = regexp.MustCompile(`(API|Admin) +(http://[0-9.:]+)`)

// start runs the program until the test ends, and returns its addresses.
func (c program) start(t *testing.T, more ...string) (api, admin string) {
	t.Helper()
	// Of a flag that is given twice the last one counts. Messages are kept where no server and no large files are needed.
	local := []string{"--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--store=memory", "--until-input-ends"}
	cmd := exec.Command(binary(t), slices.Concat(c.Args, local, more)...)
	cmd.Env = c.variables()
	cmd.Dir = t.TempDir()
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	banner, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	cmd.Stderr = log // read after it has ended
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	end := sync.OnceValue(func() error {
		_ = input.Close()
		_, _ = io.Copy(io.Discard, banner)
		defer late.Stop()
		return cmd.Wait()
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("the server ended with %v; it said:\n%s", err, log)
		}
	})
	lines := bufio.NewScanner(banner)
	for lines.Scan() && (api == "" || admin == "") {
		switch m := printedURL.FindStringSubmatch(lines.Text()); {
		case m == nil:
		case m[1] == "API":
			api = m[2]
		default:
			admin = m[2]
		}
	}
	if api == "" || admin == "" {
		err := end()
		t.Fatalf("the server did not start: %v; it said:\n%s", err, log)
	}
	return api, admin
}

// client asks servers on this machine, so it knows of no proxy.
var client = &http.Client{Timeout: patience, Transport: new(http.Transport)}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	return do(t, http.MethodGet, url, token)
}

func do(t *testing.T, method, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}
