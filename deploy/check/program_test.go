package check

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// vocabulary is what the program says it understands.
type vocabulary struct {
	// flags are those of dabba serve, without dashes.
	flags map[string]bool
	// variables are names with DABBA_ in front.
	variables map[string]bool
}

var (
	flagInHelp     = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
	variableInHelp = regexp.MustCompile(`DABBA_[A-Z_]+`)
)

// learn asks the program.
func learn(t *testing.T) vocabulary {
	t.Helper()
	v := vocabulary{flags: make(map[string]bool), variables: make(map[string]bool)}
	help := say(t, "serve", "--help")
	for _, m := range flagInHelp.FindAllStringSubmatch(help, -1) {
		v.flags[m[1]] = true
		v.variables["DABBA_"+strings.ToUpper(strings.ReplaceAll(m[1], "-", "_"))] = true
	}
	// Named in the text: keys in the variable itself; the address that health asks.
	for _, name := range variableInHelp.FindAllString(help+say(t, "health", "--help"), -1) {
		v.variables[name] = true
	}
	if len(v.flags) < 10 || !v.variables["DABBA_AUTH_KEYS_INLINE"] || !v.variables["DABBA_URL"] {
		t.Fatalf("dabba serve --help was not understood: got %v", v)
	}
	return v
}

// binary is the program under test.
func binary(t *testing.T) string {
	t.Helper()
	name := os.Getenv("DABBA_BINARY")
	if name == "" {
		t.Fatal("DABBA_BINARY does not name the program under test: see the package's documentation")
	}
	return name
}

// say runs the program and returns what it prints.
func say(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dabba %v: %v", args, err)
	}
	return string(out)
}

// environment is that of this process without what would configure a server.
func environment() []string {
	var kept []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DABBA_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// flagValue is what a container's arguments give to a flag.
func flagValue(c corev1.Container, flag string) string {
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			return value
		}
	}
	return ""
}

// checkProgram looks at what is given to dabba.
func (p *problems) checkProgram(w workload, c corev1.Container, known vocabulary) {
	if len(c.Command) != 0 || len(c.Args) == 0 || c.Args[0] != "serve" {
		p.add("%s: it does not run dabba serve", w)
		return
	}
	for _, arg := range c.Args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.HasPrefix(arg, "--") || !known.flags[name] {
			p.add("%s: dabba serve has no flag %s", w, arg)
		}
	}
	for _, e := range c.Env {
		if !known.variables[e.Name] && e.Name != "GOMEMLIMIT" {
			p.add("%s: dabba serve reads no variable %s", w, e.Name)
		}
		if e.Name == "GOMEMLIMIT" {
			limit, err := resource.ParseQuantity(strings.TrimSuffix(e.Value, "B"))
			if err != nil || limit.Cmp(*c.Resources.Limits.Memory()) >= 0 {
				p.add("%s: GOMEMLIMIT %s is not below the limit of memory", w, e.Value)
			}
		}
	}
	for flag, name := range map[string]string{"addr": "http", "admin-addr": "admin"} {
		host, port, err := net.SplitHostPort(flagValue(c, flag))
		if err != nil || host != "0.0.0.0" {
			p.add("%s: --%s does not listen to others", w, flag)
		}
		for _, have := range c.Ports {
			if have.Name == name && strconv.Itoa(int(have.ContainerPort)) != port {
				p.add("%s: --%s is on port %s, its containerPort is %d", w, flag, port, have.ContainerPort)
			}
		}
	}
	if file := flagValue(c, "auth-keys"); !mounted(w, c, file) {
		p.add("%s: no secret is mounted as the --auth-keys %q, so everyone would be let in", w, file)
	}
	p.checkStorage(w, c)
}

// checkStorage wants a volume for the folder of messages, or the URL of a store elsewhere.
func (p *problems) checkStorage(w workload, c corev1.Container) {
	for _, e := range c.Env {
		if e.Name == "DABBA_STORE" && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			return
		}
	}
	for _, m := range c.VolumeMounts {
		for _, claim := range w.claims {
			if claim.Name == m.Name && m.MountPath == flagValue(c, "data") {
				if w.replicas == nil || *w.replicas != 1 {
					p.add("%s: one process has a data folder", w)
				}
				return
			}
		}
	}
	p.add("%s: its messages are neither on a claimed volume nor in another store", w)
}
