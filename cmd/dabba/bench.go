package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	// benchBatch is how many messages the batched phases carry in a request.
	benchBatch = 10
	wireNative = "native"
	wireSQS    = "sqs"
	// benchSlack is what a run may take beyond what its phases add up to.
	benchSlack = 2 * time.Minute
)

type benchOptions struct {
	client      clientOptions
	connections int
	size        int
	duration    span
	rounds      int
	depth       int
	fifo        bool
	groups      int
	wire        string
	parent      string
	store       string
	json        bool
	serveEmpty  bool
}

func newBench(p program) *cobra.Command {
	o := benchOptions{duration: spanOf(2 * time.Second)}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a server against an empty HTTP handler",
		Long: `Measure how many messages a second a server takes and gives, and what that costs it. A server is started for it, on a
folder of its own. Only when --url is given one that runs already is loaded instead; ` + envName("url") + ` does not count here.

Every phase takes turns with a handler (chi and encoding/json, in a process of its own) that only reads and decodes one
message, so that the ratio between the two says what queueing and durability cost on this machine, whatever it is doing
besides. The client writes prepared bytes to --connections sockets and is the same for both. What is shown is the median of
the rounds.

On Redis every phase also takes turns with two clients of the same Redis, with as many callers and the same batches: one
that runs the same scripts and does nothing else, and one that uses a stream and a consumer group instead.`,
		Example: `  dabba bench
  dabba bench --depth 1000000
  dabba bench --fifo
  dabba bench --store redis://127.0.0.1:6379/0
  dabba bench --wire sqs
  dabba bench --url http://queue.example:8080 --duration 10s --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.serveEmpty {
				return serveEmpty(cmd.Context(), p)
			}
			// Loading a server is not done by accident: a variable meant for the other commands does not choose it.
			given := cmd.Flags().Changed("url")
			if !given {
				if err := cmd.Flags().Set("url", defaultURL); err != nil {
					return err
				}
			}
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			if err := o.check(c); err != nil {
				return err
			}
			return o.explain(c, o.run(cmd.Context(), p, c, given))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.client.url, "url", "", "`address` of a server to load instead of starting one")
	f.StringVar(&o.client.token, "token", "", "bearer `token` for that server ("+envName("token")+")")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections that send requests, one at a time each")
	f.IntVar(&o.size, "size", 1024, "`bytes` of a message's body")
	f.Var(&o.duration, "duration", "how long each phase of each round lasts")
	f.IntVar(&o.rounds, "rounds", 5, "how `often` the phases are repeated")
	f.IntVar(&o.depth, "depth", 0, "also compare receiving at a backlog of this `many` messages with a backlog of 1000")
	f.BoolVar(&o.fifo, "fifo", false, "also measure a FIFO queue, beside the standard queue of the same round; with --depth compare depths of FIFO queues")
	f.IntVar(&o.groups, "groups", 10_000, "`number` of groups that the messages of a FIFO queue are spread over")
	f.StringVar(&o.wire, "wire", wireNative, "native, or `sqs`, which also measures the SQS wire, beside the native one of the same round")
	f.StringVar(&o.parent, "dir", "", "`folder` to make the started server's data folder in (default: the system's for temporary files)")
	f.StringVar(&o.store, "store", "", "`where` the started server keeps its messages: as for serve; on Redis under a prefix of its own, which is removed in the end")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.serveEmpty, "serve-empty", false, "be the empty handler until standard input ends")
	if err := f.MarkHidden("serve-empty"); err != nil {
		panic(err)
	}
	return cmd
}

func (o *benchOptions) check(c *client) error {
	switch {
	case o.connections < 1 || o.connections > 10_000:
		return usagef("--connections is from 1 to 10000, not %d", o.connections)
	case o.size < 1 || o.size > 1<<20:
		return usagef("--size is from 1 to %d, not %d", 1<<20, o.size)
	case o.duration.value < 10*time.Millisecond:
		return usagef("--duration is at least 10ms, not %s", &o.duration)
	case o.rounds < 1:
		return usagef("--rounds is at least 1, not %d", o.rounds)
	case o.groups < 1 || o.groups > maxGroups:
		return usagef("--groups is from 1 to %d, not %d", maxGroups, o.groups)
	case o.store != "" && !slices.Contains([]string{"segment", "memory"}, o.store) && !isRedis(o.store):
		return usagef("--store is segment, memory or the address of Redis (%s), not %q", redisForms, redact(o.store))
	case o.wire != wireNative && o.wire != wireSQS:
		return usagef("--wire is native or sqs, not %q", o.wire)
	case o.wire == wireSQS && o.size*benchBatch > maxSQSBatch:
		return usagef("--size is at most %d with --wire sqs, since %d messages of it go into one request, not %d", maxSQSBatch/benchBatch, benchBatch, o.size)
	case o.depth < 0:
		return usagef("--depth is a number of messages, not %d", o.depth)
	case strings.HasPrefix(c.base, "https:"):
		return usagef("bench speaks plain HTTP only: --url http://…")
	}
	return nil
}

// explain says what to do about a run that failed.
func (o *benchOptions) explain(c *client, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server answers at %s: start one with dabba serve, or leave --url out to measure one started for it", c.base)
	}
	return err
}

// run measures, either the server the client points to or one of its own.
func (o *benchOptions) run(ctx context.Context, p program, c *client, given bool) error {
	phases := time.Duration(o.rounds+1) * 26 * o.duration.value
	filling := time.Duration(o.depth/2000) * time.Second // a server slower than this is not worth waiting for
	ctx, cancel := context.WithTimeoutCause(ctx, phases+filling+benchSlack, errors.New("the server is too slow: the run took too long"))
	defer cancel()

	handler, err := startEmpty(ctx, p)
	if err != nil {
		return err
	}
	defer handler.stop()
	server := &benchServer{base: c.base}
	var measure *yardstick
	if !given {
		if server, err = startServer(ctx, p, o.parent, o.store); err != nil {
			return err
		}
		defer server.stop()
		if measure, err = openYardstick(ctx, o); err != nil {
			return err
		}
		defer measure.close(p.errOut)
		c.base, c.token = server.base, ""
	} else {
		fmt.Fprintf(p.errOut, "dabba: loading the server at %s\n", c.base)
	}
	b := &bench{options: o, client: c, server: server, handler: handler, yardstick: measure, progress: p.errOut, name: "bench-" + rand.Text()[:8]}
	report, err := b.all(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
			return cause
		}
		return err
	}
	if o.json {
		return printJSON(p.out, report)
	}
	return report.print(p.out)
}

// createQueue makes a queue for a phase; its settings are the defaults.
func (b *bench) createQueue(ctx context.Context, name string) error {
	var config any
	if isFIFO(name) {
		config = map[string]any{"fifo": true}
	}
	err := b.client.call(ctx, request{method: http.MethodPut, path: queuePath(name, ""), body: config, repeat: true}, nil)
	if err != nil {
		return fmt.Errorf("create the queue %s: %w", name, err)
	}
	return nil
}

// isFIFO says whether a queue of that name is to be one.
func isFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// deleteQueue removes it again, also after an interrupt.
func (b *bench) deleteQueue(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := b.client.call(ctx, request{
		method: http.MethodDelete, path: queuePath(name, ""), query: url.Values{"force": {"true"}},
	}, nil)
	if err != nil {
		fmt.Fprintf(b.progress, "dabba: the queue %s is left over: %v\n", name, err)
	}
}
