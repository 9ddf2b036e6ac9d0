package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// bench is one run.
type bench struct {
	options         *benchOptions
	client          *client
	server, handler *benchServer
	// yardstick is nil when the server is not one of ours on Redis.
	yardstick *yardstick
	progress  io.Writer
	// name begins the names of all queues of this run.
	name string
}

// The phases, in the order of a round: what the sends leave is what is received.
const (
	phaseSingle  = "send 1"
	phaseBatch   = "send 10"
	phaseReceive = "receive 10, ack 10"
	// onFIFO begins the name of a phase that is done on a FIFO queue.
	onFIFO = "FIFO "
)

// phaseNames are all of them in the order of the report.
var phaseNames = []string{
	phaseSingle, phaseBatch, phaseReceive, onFIFO + phaseSingle, onFIFO + phaseBatch, onFIFO + phaseReceive,
	onSQS + phaseSingle, onSQS + phaseBatch, onSQS + phaseReceive,
}

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
	if b.yardstick != nil {
		report.Redis = b.yardstick.promise
	}
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

// round measures each phase right after the handler, on a standard queue and, if wanted, on a FIFO queue and over the SQS
// wire.
func (b *bench) round(ctx context.Context, queue string, d time.Duration, toServer, toHandler *load) (map[string]comparison, error) {
	results := map[string]comparison{}
	if err := b.phases(ctx, results, "", queue, newRequests, d, toServer, toHandler); err != nil {
		return nil, err
	}
	if b.options.fifo {
		if err := b.phases(ctx, results, onFIFO, queue+".fifo", newRequests, d, toServer, toHandler); err != nil {
			return nil, err
		}
	}
	if b.options.wire == wireSQS {
		if err := b.phases(ctx, results, onSQS, queue+"-sqs", newSQSRequests, d, toServer, toHandler); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// preparer makes the requests of the phases on one queue.
type preparer func(l *load, queue string, o *benchOptions) *requests

func (b *bench) phases(
	ctx context.Context, results map[string]comparison, prefix, queue string, prepare preparer, d time.Duration, toServer, toHandler *load,
) error {
	if err := b.createQueue(ctx, queue); err != nil {
		return err
	}
	defer b.deleteQueue(ctx, queue)
	yardstick := b.yardstick
	if prefix != "" {
		yardstick = nil
	}
	if yardstick != nil {
		if err := yardstick.bare.Renew(ctx); err != nil {
			return fmt.Errorf("make a queue for a client of Redis: %w", err)
		}
	}
	requests := prepare(toServer, queue, b.options)
	empty := newRequests(toHandler, queue, b.options)
	phases := []struct {
		name string
		work work
	}{
		{prefix + phaseSingle, requests.sendOne},
		{prefix + phaseBatch, requests.sendBatch},
		{prefix + phaseReceive, requests.receiveAndAck},
	}
	for _, phase := range phases {
		handler, err := b.handler.measure(ctx, toHandler, d, empty.sendOne)
		if err != nil {
			return fmt.Errorf("measure the empty handler: %w", err)
		}
		server, err := b.server.measure(ctx, toServer, d, phase.work)
		if err != nil {
			return fmt.Errorf("measure %q: %w", phase.name, err)
		}
		c := comparison{server: server, handler: handler}
		if yardstick != nil {
			if err := yardstick.measure(ctx, phase.name, d, &c); err != nil {
				return err
			}
		}
		results[phase.name] = c
	}
	return nil
}

// requests are the prepared bytes for one queue, and the ways to use them.
type requests struct {
	load            *load
	single, several template
	takeMany        []byte
	// ack makes the request that acknowledges what an answer to takeMany has, and counts it.
	ack func(w *wire, answer []byte) (request []byte, receipts int)
	// groups is how many groups the messages are spread over, in turn; 0 in a standard queue.
	groups uint64
	sent   atomic.Uint64
}

// maxGroups is one more than the greatest number that fits into the room a template has for one.
const maxGroups = 1_000_000

const groupRoom = "000000"

// template is a request in which the numbers of groups are filled in.
type template struct {
	bytes []byte
	at    []int
}

func newTemplate(request []byte) template {
	t := template{bytes: request}
	field := []byte(`"group":"`)
	for from := 0; ; {
		i := bytes.Index(request[from:], field)
		if i < 0 {
			return t
		}
		from += i + len(field)
		t.at = append(t.at, from)
	}
}

// message is one message of a phase.
func message(queue string, size int) string {
	group := ""
	if isFIFO(queue) {
		group = `"group":"` + groupRoom + `",`
	}
	return `{` + group + `"body":"` + strings.Repeat("x", size) + `"}`
}

func messages(message string, n int) string {
	return `{"messages":[` + strings.TrimSuffix(strings.Repeat(message+",", n), ",") + `]}`
}

func newRequests(l *load, queue string, o *benchOptions) *requests {
	one := message(queue, o.size)
	r := &requests{
		load:     l,
		single:   newTemplate(l.post(queuePath(queue, "/messages"), one)),
		several:  newTemplate(l.post(queuePath(queue, "/messages"), messages(one, benchBatch))),
		takeMany: l.post(queuePath(queue, "/receive"), fmt.Sprintf(`{"max":%d}`, benchBatch)),
		ack: func(w *wire, answer []byte) ([]byte, int) {
			return w.acks(l, queuePath(queue, "/ack"), answer)
		},
	}
	if isFIFO(queue) {
		r.groups = uint64(o.groups)
	}
	return r
}

// fill is a request for the next groups, valid until the wire's next one.
func (r *requests) fill(w *wire, t template) []byte {
	if r.groups == 0 {
		return t.bytes
	}
	w.ou = append(w.ou[:0], t.bytes...)
	n := r.sent.Add(uint64(len(t.at)))
	for _, at := range t.at {
		n--
		group := n % r.groups
		for i := len(groupRoom) - 1; i >= 0; i-- {
			w.ou[at+i] = '0' + byte(group%10)
			group /= 10
		}
	}
	return w.ou
}

func (r *requests) sendOne(w *wire) (int, error) {
	_, err := w.roundTrip(r.fill(w, r.single))
	return 1, err
}

func (r *requests) sendBatch(w *wire) (int, error) {
	_, err := w.roundTrip(r.fill(w, r.several))
	return benchBatch, err
}

func (r *requests) receiveAndAck(w *wire) (int, error) {
	answer, err := w.roundTrip(r.takeMany)
	if err != nil {
		return 0, err
	}
	ack, n := r.ack(w, answer)
	if n == 0 {
		return 0, errDrained
	}
	_, err = w.roundTrip(ack)
	return n, err
}
