package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	docker "github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

// containers is the lab of containers on a network of their own.
type containers struct {
	engine       *docker.Client
	version      string
	network      *testcontainers.DockerNetwork
	image, redis string
}

// ownerLabel says which process has started a container or made a network: host/pid. Those of processes that were killed
// are removed by the next run.
const ownerLabel = "dabba.lab"

// The label that testcontainers-go puts on all that it makes.
const theirLabel = "org.testcontainers=true"

// connect asks for an engine as testcontainers-go does, which panics where there is none.
func connect(ctx context.Context) (engine *docker.Client, version string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, "", err
	}
	v, err := c.ServerVersion(ctx, docker.ServerVersionOptions{})
	if err != nil {
		return nil, "", errors.Join(err, c.Close())
	}
	return c.Client, v.Version, nil
}

// quiet is a logger of testcontainers-go that says nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// configure sets what testcontainers-go reads from the environment, unless it is set: it starts nothing for its own use, and
// published ports are those of this machine, also where that looks like a container itself.
func configure() error {
	for name, value := range map[string]string{"TESTCONTAINERS_RYUK_DISABLED": "true", "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1"} {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// engineAnswers says why none does.
func engineAnswers(ctx context.Context) error {
	if err := configure(); err != nil {
		return err
	}
	engine, _, err := connect(ctx)
	if err != nil {
		return err
	}
	return engine.Close()
}

func newContainers(ctx context.Context) (*containers, error) {
	tclog.SetDefault(quiet{}) // what fails comes as an error
	if err := configure(); err != nil {
		return nil, err
	}
	c := &containers{}
	var err error
	if c.engine, c.version, err = connect(ctx); err != nil {
		return nil, fmt.Errorf("no container engine answers: %w", err)
	}
	if err := c.removeLeftovers(ctx); err != nil {
		return nil, err
	}
	if c.image, c.redis, err = images(ctx); err != nil {
		return nil, err
	}
	c.network, err = tcnetwork.New(ctx, tcnetwork.WithLabels(map[string]string{ownerLabel: owner()}))
	if err != nil {
		return nil, fmt.Errorf("make a network: %w", err)
	}
	return c, nil
}

// images are those of Dabba and of Redis. The script makes what the environment does not name, and prints their names.
func images(ctx context.Context) (dabba, redis string, err error) {
	dabba, redis = os.Getenv("DABBA_TEST_IMAGE"), os.Getenv("DABBA_TEST_REDIS_IMAGE")
	if dabba != "" && redis != "" {
		return dabba, redis, nil
	}
	script := exec.CommandContext(ctx, "./images")
	script.Stderr = os.Stderr
	said, err := script.Output()
	if err != nil {
		return "", "", fmt.Errorf("make images: %w", err)
	}
	names := strings.Fields(string(said))
	if len(names) != 2 {
		return "", "", fmt.Errorf("the script images printed %q, want two names", said)
	}
	return names[0], names[1], nil
}

func (c *containers) String() string {
	return fmt.Sprintf("containers (engine %s, images %s and %s)", c.version, c.image, c.redis)
}

func (c *containers) close() {
	ctx := context.Background()
	if err := c.network.Remove(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "remove the network:", err)
	}
	_ = c.engine.Close()
}

func owner() string {
	host, err := os.Hostname()
	if err != nil {
		panic(err)
	}
	return host + "/" + strconv.Itoa(os.Getpid())
}

// isLeftover says that what has this label was left by a process of this machine that is gone.
func isLeftover(label string) bool {
	host, _, _ := strings.Cut(owner(), "/")
	of, number, _ := strings.Cut(label, "/")
	pid, err := strconv.Atoi(number)
	return err == nil && of == host && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func (c *containers) removeLeftovers(ctx context.Context) error {
	ours := make(docker.Filters).Add("label", theirLabel, ownerLabel)
	all, err := c.engine.ContainerList(ctx, docker.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, one := range all.Items {
		if isLeftover(one.Labels[ownerLabel]) {
			fmt.Fprintln(os.Stdout, "removing a container that a run before has left:", one.ID)
			if _, err := c.engine.ContainerRemove(ctx, one.ID, docker.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
				return fmt.Errorf("remove a container: %w", err)
			}
		}
	}
	networks, err := c.engine.NetworkList(ctx, docker.NetworkListOptions{Filters: ours})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	for _, one := range networks.Items {
		if isLeftover(one.Labels[ownerLabel]) {
			fmt.Fprintln(os.Stdout, "removing a network that a run before has left:", one.Name)
			if _, err := c.engine.NetworkRemove(ctx, one.ID, docker.NetworkRemoveOptions{}); err != nil {
				return fmt.Errorf("remove a network: %w", err)
			}
		}
	}
	return nil
}

// box is a container.
type box struct {
	*testcontainers.DockerContainer
	lab *containers
}

// start runs a container of an image until the test ends. It may be called by any goroutine of the test.
func (c *containers) start(t *testing.T, image string, options ...testcontainers.ContainerCustomizer) (box, error) {
	options = append(options,
		tcnetwork.WithNetwork(nil, c.network),
		testcontainers.WithLabels(map[string]string{ownerLabel: owner()}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	started, err := testcontainers.Run(ctx, image, options...)
	b := box{started, c}
	testcontainers.CleanupContainer(t, started, testcontainers.StopTimeout(0))
	if err != nil {
		if started != nil {
			err = fmt.Errorf("%w; it said:\n%s", err, b.said(t))
		}
		return b, err
	}
	return b, nil
}

// said is what it has written.
func (b box) said(t *testing.T) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // cleanups ask, too
	defer cancel()
	r, err := b.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	var text bytes.Buffer
	_, _ = io.Copy(&text, r)
	return text.String()
}

func (b box) kill(t *testing.T) {
	t.Helper()
	if _, err := b.lab.engine.ContainerKill(t.Context(), b.GetContainerID(), docker.ContainerKillOptions{Signal: "KILL"}); err != nil {
		t.Fatalf("kill a container: %v", err)
	}
}

func (b box) pause(t *testing.T) {
	t.Helper()
	if _, err := b.lab.engine.ContainerPause(t.Context(), b.GetContainerID(), docker.ContainerPauseOptions{}); err != nil {
		t.Fatalf("pause a container: %v", err)
	}
}

func (b box) unpause(t *testing.T) {
	t.Helper()
	if _, err := b.lab.engine.ContainerUnpause(t.Context(), b.GetContainerID(), docker.ContainerUnpauseOptions{}); err != nil {
		t.Fatalf("unpause a container: %v", err)
	}
}

// server is a node in a container.
type server struct {
	box
	at string
}

func (c *containers) node(t *testing.T, on fleet) node {
	t.Helper()
	const port = "8080/tcp"
	b, err := c.start(t, c.image, published(port),
		testcontainers.WithEnv(map[string]string{"DABBA_INSECURE": "true", "DABBA_STORE": on.url()}))
	if err != nil {
		t.Fatalf("start a node: %v", err)
	}
	t.Cleanup(func() { checkLog(t, b.said(t)) })
	at, err := b.PortEndpoint(t.Context(), port, "http")
	if err != nil {
		t.Fatal(err)
	}
	awaitReady(t, at)
	return &server{b, at}
}

// published makes one port of a container reachable, from this machine only; those that an image exposes would be for all.
func published(port string) testcontainers.CustomizeRequestOption {
	return func(r *testcontainers.GenericContainerRequest) error {
		r.ExposedPorts = []string{port}
		r.HostConfigModifier = func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{network.MustParsePort(port): {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
		}
		return nil
	}
}

func (s *server) base() string { return s.at }

func (s *server) stop(t *testing.T) int {
	t.Helper()
	limit := patience
	if err := s.Stop(t.Context(), &limit); err != nil {
		t.Fatalf("stop a node: %v", err)
	}
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state.ExitCode
}
