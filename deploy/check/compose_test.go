package check

import (
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// compose is what we use of compose.yaml. What it does not know is a mistake, or to be added here.
type compose struct {
	Node     composeService            `json:"x-node"`
	Services map[string]composeService `json:"services"`
	Volumes  map[string]any            `json:"volumes"`
}

type composeService struct {
	Profiles    []string          `json:"profiles,omitempty"`
	Build       string            `json:"build,omitempty"`
	Image       string            `json:"image"`
	Command     []string          `json:"command,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	DependsOn   map[string]struct {
		Condition string `json:"condition"`
	} `json:"depends_on,omitempty"`
	Ports       []string `json:"ports,omitempty"`
	Volumes     []string `json:"volumes,omitempty"`
	Tmpfs       []string `json:"tmpfs,omitempty"`
	Healthcheck *struct {
		Test     []string `json:"test"`
		Interval string   `json:"interval"`
		Timeout  string   `json:"timeout"`
		Retries  int      `json:"retries"`
	} `json:"healthcheck,omitempty"`
	ReadOnly        bool     `json:"read_only,omitempty"`
	CapDrop         []string `json:"cap_drop,omitempty"`
	SecurityOpt     []string `json:"security_opt,omitempty"`
	StopGracePeriod string   `json:"stop_grace_period,omitempty"`
	Restart         string   `json:"restart,omitempty"`
}

const composeFile = "../../compose.yaml"

func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range checkCompose(text, imagePort(t), learn(t)) {
		t.Error(problem)
	}
	askDocker(t)
}

// askDocker has compose.yaml read by a docker compose, where there is one.
func askDocker(t *testing.T) {
	t.Helper()
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(command[0], append(command[1:], "version")...).Run() != nil {
			continue
		}
		args := slices.Concat(command[1:], []string{"-f", composeFile, "--profile", "redis", "config", "-q"})
		if said, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
			t.Errorf("%s %v: %v\n%s", command[0], args, err, said)
		}
		return
	}
	t.Log("there is no docker compose to ask")
}

var addrOfImage = regexp.MustCompile(`DABBA_ADDR=0\.0\.0\.0:([0-9]+)`)

// imagePort is where the server of the image listens.
func imagePort(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	m := addrOfImage.FindSubmatch(text)
	if m == nil {
		t.Fatal("Dockerfile does not set DABBA_ADDR")
	}
	return string(m[1])
}

func checkCompose(text []byte, port string, known vocabulary) problems {
	var p problems
	var c compose
	if err := decode(text, &c); err != nil {
		p.add("%v", err)
		return p
	}
	published := make(map[string]string)
	nodes := 0
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[volume]; !ok {
				p.add("%s: the volume %s is not declared", name, volume)
			}
		}
		for _, port := range s.Ports {
			host := port[:max(0, strings.LastIndex(port, ":"))]
			if other, ok := published[host]; ok {
				p.add("%s and %s publish the same port %s", name, other, host)
			}
			published[host] = name
			if !strings.HasPrefix(host, "127.0.0.1:") {
				p.add("%s: %s can be reached from other machines", name, port)
			}
		}
		for other, how := range s.DependsOn {
			if c.Services[other].Healthcheck == nil || how.Condition != "service_healthy" {
				p.add("%s: it does not wait until there is a healthy %s", name, other)
			}
		}
		if s.Image == "dabba" {
			p.checkComposeProgram(c, name, port, known)
			if s.Environment["DABBA_STORE"] != "" {
				nodes++
			}
		}
	}
	if single := c.Services["dabba"]; len(single.Profiles) != 0 || single.Environment["DABBA_STORE"] != "" || len(single.Volumes) == 0 {
		p.add("dabba: it is no longer the single server that docker compose up starts")
	}
	if nodes < 2 {
		p.add("got %d nodes on one Redis, want two or more", nodes)
	}
	p.checkRedis("redis", c.Services["redis"].Command)
	return p
}

func (p *problems) checkComposeProgram(c compose, name, port string, known vocabulary) {
	s := c.Services[name]
	if len(s.Command) != 0 || s.Build != "." {
		p.add("%s: it does not run what the image does, or not this one", name)
	}
	for variable := range s.Environment {
		if !known.variables[variable] {
			p.add("%s: dabba serve reads no variable %s", name, variable)
		}
	}
	for _, published := range s.Ports {
		if !strings.HasSuffix(published, ":"+port) {
			p.add("%s: %s is not the port %s of the image", name, published, port)
		}
	}
	if len(s.Ports) == 0 {
		p.add("%s: it cannot be reached", name)
	}
	if d, err := time.ParseDuration(s.StopGracePeriod); err != nil || d < graceful*time.Second {
		p.add("%s: stop_grace_period is less than %d s", name, graceful)
	}
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
		p.add("%s: it has privileges that it needs not", name)
	}
	at := s.Environment["DABBA_STORE"]
	if at == "" {
		return
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "redis" || c.Services[u.Hostname()].Image == "" {
		p.add("%s: no service is at %s", name, at)
		return
	}
	if _, waits := s.DependsOn[u.Hostname()]; !waits || !slices.Equal(s.Profiles, c.Services[u.Hostname()].Profiles) {
		p.add("%s: it may start without %s", name, u.Hostname())
	}
}

// TestPlantedComposeMistakes changes compose.yaml, one mistake at a time, each of which has to be noticed.
func TestPlantedComposeMistakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	port, known := imagePort(t), learn(t)
	for _, c := range []struct{ old, new, want string }{
		{"depends_on", "depend_on", `unknown field "x-node.depend_on"`},
		{"DABBA_STORE: ", "DABBA_STOER: ", "no variable DABBA_STOER"},
		{"redis://redis:6379", "redis://queue:6379", "no service is at redis://queue:6379"},
		{"127.0.0.1:8082:8080", "127.0.0.1:8081:8080", "publish the same port"},
		{"127.0.0.1:8082:8080", "127.0.0.1:8082:80", "is not the port 8080 of the image"},
		{"127.0.0.1:8082:8080", "8082:8080", "can be reached from other machines"},
		{"service_healthy", "service_started", "does not wait until there is a healthy redis"},
		{"  profiles: [redis]\n  build", "  profiles: [nodes]\n  build", "may start without redis"},
		{"messages:/data", "data:/data", "the volume data is not declared"},
		{"noeviction", "allkeys-lru", "noeviction"},
		{"stop_grace_period: 60s", "stop_grace_period: 30s", "stop_grace_period is less"},
		{"  dabba:\n    build: .", "  dabba:\n    profiles: [single]\n    build: .", "no longer the single server"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("compose.yaml has no %q", c.old)
			}
			found := checkCompose([]byte(strings.Replace(string(text), c.old, c.new, 1)), port, known)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("%q instead of %q: got %q, want something with %q", c.new, c.old, found, c.want)
			}
		})
	}
}
