package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// bench is one run.
type bench struct {
	options         *benchOptions
	client          *client
	server, handler *benchServer
	progress        io.Writer
	// name begins the names of all queues of this run.
	name string
}

// The phases, in the order of a round: what the sends leave is what is received.
const (
	phaseSingle  = "send 1"
	phaseBatch   = "send 10"
	phaseReceive = "receive 10, ack 10"
)

// all runs one round to warm up, the rounds that count, and the comparison of depths if it is wanted.
func (b *bench) all(ctx context.Context) (*benchReport, error) {
	o := b.options
	toServer, err := b.server.connect(ctx, o.connections, b.client.token)
	if err != nil {
		return nil, err
	}
	defer toServer.close()
	toHandler, err := b.handler.connect(ctx, o.connections, "")
	if err != nil {
		return nil, err
	}
	defer toHandler.close()

	report := newBenchReport(o)
	for round := range o.rounds + 1 {
		d := o.duration.value
		if round == 0 {
			d = max(d/4, 10*time.Millisecond)
			b.say("warming up")
		} else {
			b.say("round %d of %d", round, o.rounds)
		}
		got, err := b.round(ctx, fmt.Sprintf("%s-%d", b.name, round), d, toServer, toHandler)
		if err != nil {
			return nil, err
		}
		if round > 0 {
			report.add(got)
		}
	}
	if o.depth > 0 {
		if report.Depth, err = b.depth(ctx, toServer); err != nil {
			return nil, err
		}
	}
	report.finish()
	return report, nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, format+"\n", args...)
}

// round measures each phase right after the handler.
func (b *bench) round(ctx context.Context, queue string, d time.Duration, toServer, toHandler *load) (map[string]comparison, error) {
	if err := b.createQueue(ctx, queue); err != nil {
		return nil, err
	}
	defer b.deleteQueue(ctx, queue)
	requests := newRequests(toServer, queue, b.options.size)
	empty := newRequests(toHandler, queue, b.options.size)
	phases := []struct {
		name string
		work work
	}{
		{phaseSingle, requests.sendOne},
		{phaseBatch, requests.sendBatch},
		{phaseReceive, requests.receiveAndAck},
	}
	results := map[string]comparison{}
	for _, phase := range phases {
		handler, err := b.handler.measure(ctx, toHandler, d, empty.sendOne)
		if err != nil {
			return nil, fmt.Errorf("measure the empty handler: %w", err)
		}
		server, err := b.server.measure(ctx, toServer, d, phase.work)
		if err != nil {
			return nil, fmt.Errorf("measure %q: %w", phase.name, err)
		}
		results[phase.name] = comparison{server: server, handler: handler}
	}
	return results, nil
}

// requests are the prepared bytes for one queue, and the ways to use them.
type requests struct {
	load                      *load
	ackPath                   string
	single, several, takeMany []byte
}

func newRequests(l *load, queue string, size int) *requests {
	message := `{"body":"` + strings.Repeat("x", size) + `"}`
	many := `{"messages":[` + strings.TrimSuffix(strings.Repeat(message+",", benchBatch), ",") + `]}`
	return &requests{
		load:     l,
		ackPath:  queuePath(queue, "/ack"),
		single:   l.post(queuePath(queue, "/messages"), message),
		several:  l.post(queuePath(queue, "/messages"), many),
		takeMany: l.post(queuePath(queue, "/receive"), fmt.Sprintf(`{"max":%d}`, benchBatch)),
	}
}

func (r *requests) sendOne(w *wire) (int, error) {
	_, err := w.roundTrip(r.single)
	return 1, err
}

func (r *requests) sendBatch(w *wire) (int, error) {
	_, err := w.roundTrip(r.several)
	return benchBatch, err
}

func (r *requests) receiveAndAck(w *wire) (int, error) {
	answer, err := w.roundTrip(r.takeMany)
	if err != nil {
		return 0, err
	}
	ack, n := w.acks(r.load, r.ackPath, answer)
	if n == 0 {
		return 0, errDrained
	}
	_, err = w.roundTrip(ack)
	return n, err
}
