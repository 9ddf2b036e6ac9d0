package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dabba-mq/dabba/store/redis"
)

// yardstick is what a server on Redis is measured against, beside the empty handler: what a client gets that runs the
// same scripts and does nothing else, and what Redis can do at most, with a stream and a consumer group. There are as
// many callers as the server has connections, on the same machine.
type yardstick struct {
	bare    *redis.Bare
	callers int
	promise string
	erase   func() error
}

// openYardstick connects to the Redis that a server was started on; nil if it is not on one. What it keeps there is under a
// prefix of its own.
func openYardstick(ctx context.Context, o *benchOptions) (*yardstick, error) {
	if !(&serveOptions{store: o.store}).onRedis() {
		return nil, nil
	}
	own, erase, err := ownPrefix(ctx, o.store)
	if err != nil {
		return nil, err
	}
	options, err := redisOptions(own)
	if err != nil {
		return nil, err
	}
	bare, err := redis.OpenBare(ctx, options, o.connections, o.size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to Redis: %w", err), erase())
	}
	return &yardstick{bare, o.connections, bare.Promise(ctx), erase}, nil
}

func (y *yardstick) close(errOut io.Writer) {
	if y == nil {
		return
	}
	if err := errors.Join(y.bare.Close(), y.erase()); err != nil {
		fmt.Fprintf(errOut, "dabba: %v\n", err)
	}
}

// against measures both of what a phase is compared with.
type against struct {
	bare, stream func(context.Context) (int, error)
}

func (y *yardstick) against(phase string) against {
	switch phase {
	case phaseSingle:
		return y.sends(1)
	case phaseBatch:
		return y.sends(benchBatch)
	}
	return against{
		func(ctx context.Context) (int, error) { return drained(y.bare.Receive(ctx, benchBatch)) },
		func(ctx context.Context) (int, error) { return drained(y.bare.StreamReceive(ctx, benchBatch)) },
	}
}

func (y *yardstick) sends(n int) against {
	return against{
		func(ctx context.Context) (int, error) { return n, y.bare.Send(ctx, n) },
		func(ctx context.Context) (int, error) { return n, y.bare.StreamSend(ctx, n) },
	}
}

func drained(n int, err error) (int, error) {
	if n == 0 && err == nil {
		err = errDrained
	}
	return n, err
}

func (y *yardstick) measure(ctx context.Context, phase string, d time.Duration, c *comparison) error {
	for _, m := range []struct {
		name string
		do   func(context.Context) (int, error)
		to   **measured
	}{
		{ofBare, y.against(phase).bare, &c.bare},
		{ofStream, y.against(phase).stream, &c.stream},
	} {
		got, err := repeat(ctx, y.callers, d, func(int) (int, error) { return m.do(ctx) })
		if err != nil {
			return fmt.Errorf("measure %q with %s: %w", phase, m.name, err)
		}
		*m.to = &got
	}
	return nil
}

const (
	ofBare   = "same scripts, bare client"
	ofStream = "XADD + XREADGROUP + XACK"
)

// redisReport is a phase beside the same work done by clients of Redis in the same round: their messages a second, and the
// server's by theirs, the medians of all rounds.
type redisReport struct {
	Bare     float64 `json:"same_scripts_messages_per_second"`
	OfBare   float64 `json:"of_same_scripts"`
	Stream   float64 `json:"stream_messages_per_second"`
	OfStream float64 `json:"of_stream"`
}

// besideRedis is that of a phase; nil when it was not measured.
func (r *benchReport) besideRedis(phase string) *redisReport {
	var bare, ofBare, stream, ofStream []float64
	for _, round := range r.rounds {
		c := round[phase]
		if c.bare == nil || c.stream == nil {
			return nil
		}
		bare, stream = append(bare, c.bare.perSecond()), append(stream, c.stream.perSecond())
		ofBare = append(ofBare, c.server.perSecond()/c.bare.perSecond())
		ofStream = append(ofStream, c.server.perSecond()/c.stream.perSecond())
	}
	return &redisReport{median(bare), median(ofBare), median(stream), median(ofStream)}
}

// printRedis shows the phases beside Redis, if they were measured so.
func (r *benchReport) printRedis(out io.Writer) error {
	if r.Redis == "" {
		return nil
	}
	fmt.Fprintf(out, "\nBeside clients of Redis (%s) with as many callers in the same rounds:\n", r.Redis)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "phase\t%s\tratio\t%s\tratio\t\n", ofBare, ofStream)
	for _, p := range r.Phases {
		if b := p.Beside; b != nil {
			fmt.Fprintf(w, "%s\t%s\t%.2f\t%s\t%.2f\t\n", p.Phase, thousands(b.Bare), b.OfBare, thousands(b.Stream), b.OfStream)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nThese are messages/s; ratio: the server's by theirs, each round on its own.")
	return err
}
