package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const (
	// batchMessages and batchBytes bound one request.
	batchMessages = 100
	batchBytes    = 1 << 20
	// maxLine is the longest line that can be a message, the server's own upper limit.
	maxLine = 64 << 20
	// refusalsShown is how many refused messages are explained one by one.
	refusalsShown = 10
)

type sendOptions struct {
	client     clientOptions
	queue      string
	delay, ttl span
	group      string
	dedupID    string
	priority   int
	acks       string
	attributes map[string]string
	lines      bool
}

func newSend(p program) *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send [FILE...]",
		Short: "Send lines of standard input, or files, to a queue",
		Long: `Send messages to a queue: each line of standard input is one, or each file named is one (with --lines, each line of
each file). Messages are sent in batches, in order; a batch that fails is repeated under the same idempotency key, so
that nothing is sent twice.`,
		Example: `  echo hello | dabba send --queue orders
  dabba send --queue photos *.jpg
  echo paid | dabba send --queue orders.fifo --group customer-42 --dedup-id payment-1234
  dabba send --queue orders --lines orders.ndjson`,
		RunE: func(cmd *cobra.Command, files []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			if o.queue == "" {
				return usagef("give the queue with --queue NAME")
			}
			return o.run(cmd.Context(), p, c, files)
		},
	}
	o.client.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.queue, "queue", "", "`name` of the queue")
	f.Var(&o.delay, "delay", "hold the messages back for this long, like 30s")
	f.Var(&o.ttl, "ttl", "deliver the messages for this long only, like 1h")
	f.StringVar(&o.group, "group", "", "`name` of the group they belong to, whose order a FIFO queue keeps")
	f.StringVar(&o.dedupID, "dedup-id", "", "`id` that makes them duplicates of an earlier message with it, and of one another")
	f.IntVar(&o.priority, "priority", 0, "`number` from 0 to 9, which comes first, for a queue with priorities")
	f.StringVar(&o.acks, "acks", "", "`leader` or all: how many copies there must be of them (default: as the queue says)")
	f.StringToStringVar(&o.attributes, "attribute", nil, "`name=value` to send with each message; may be repeated")
	f.Lookup("attribute").DefValue = "" // not "[]", which help would show
	f.BoolVar(&o.lines, "lines", false, "each line of each file is a message, not each file")
	return cmd
}

// outgoing is one message on its way to the server.
type outgoing struct {
	Body       *string           `json:"body,omitzero"`
	BodyBase64 []byte            `json:"body_base64,omitzero"`
	Attributes map[string]string `json:"attributes,omitzero"`
	Delay      string            `json:"delay,omitzero"`
	TTL        string            `json:"ttl,omitzero"`
	Group      string            `json:"group,omitzero"`
	DedupID    string            `json:"dedup_id,omitzero"`
	Priority   int               `json:"priority,omitzero"`

	// where it came from, to name it in an error
	origin string
	size   int
}

func (o *sendOptions) message(body []byte, origin string) outgoing {
	m := outgoing{
		Attributes: o.attributes, Delay: o.delay.text, TTL: o.ttl.text,
		Group: o.group, DedupID: o.dedupID, Priority: o.priority,
		origin: origin, size: len(body),
	}
	if utf8.Valid(body) {
		m.Body = new(string(body))
	} else {
		m.BodyBase64 = body
	}
	return m
}

func (o *sendOptions) run(ctx context.Context, p program, c *client, files []string) error {
	bar, err := newProgress(p, files)
	if err != nil {
		return err
	}
	s := &sender{client: c, queue: o.queue, acks: o.acks, progress: bar, errOut: p.errOut, run: rand.Text()}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan outgoing, batchMessages)
	read := make(chan error, 1)
	go func() {
		defer close(messages)
		read <- o.read(reading, p, files, messages)
	}()
	err = s.all(reading, messages)
	cancel()
	bar.finish()
	if err == nil {
		err = <-read
	}
	if err == nil && s.batches == 0 {
		err = s.queueExists(ctx)
	}
	fmt.Fprintf(p.errOut, "%s sent to %s%s\n", counted(s.sent, "message"), o.queue, s.unsent())
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted after %s", counted(s.sent, "message"))
	case err != nil && s.sent > 0:
		return fmt.Errorf("stopped after %s: %w", counted(s.sent, "message"), err)
	case err != nil:
		return err
	case s.refused > 0 && s.sent == 0:
		return fmt.Errorf("nothing was sent: %s refused", counted(s.refused, "message"))
	case s.refused > 0:
		return fmt.Errorf("%s refused, the others were sent", counted(s.refused, "message"))
	}
	return nil
}

// counted is "1 message" or "2 messages".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// read puts all messages into the channel.
func (o *sendOptions) read(ctx context.Context, p program, files []string, out chan<- outgoing) error {
	if len(files) == 0 {
		return o.readLines(ctx, p.in, "line", out)
	}
	for _, name := range files {
		if err := o.readFile(ctx, name, out); err != nil {
			return err
		}
	}
	return nil
}

func (o *sendOptions) readFile(ctx context.Context, name string, out chan<- outgoing) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if o.lines {
		return o.readLines(ctx, f, name+" line", out)
	}
	body, err := io.ReadAll(io.LimitReader(f, maxLine+1))
	if err != nil {
		return err
	}
	if len(body) > maxLine {
		return fmt.Errorf("%s is larger than a message may be (%d bytes)", name, maxLine)
	}
	return put(ctx, out, o.message(body, name))
}

// readLines takes each line for a message; the newline is not part of it, and neither is a carriage return before it.
func (o *sendOptions) readLines(ctx context.Context, in io.Reader, origin string, out chan<- outgoing) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for s.Scan() {
		n++
		if err := put(ctx, out, o.message(bytes.Clone(s.Bytes()), origin+" "+strconv.Itoa(n))); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s %d is longer than a message may be (%d bytes)", origin, n+1, maxLine)
	}
	return s.Err()
}

func put(ctx context.Context, out chan<- outgoing, m outgoing) error {
	select {
	case out <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendFlags are behind fields of every message, and of the request.
var sendFlags = flagsOf{
	"delay": "delay", "ttl": "ttl", "group": "group", "dedup_id": "dedup-id", "priority": "priority", "attributes": "attribute",
	"acks": "acks",
}

// sender sends batches, one after the other, so that the order is kept.
type sender struct {
	client   *client
	queue    string
	acks     string
	progress *progress
	errOut   io.Writer
	// run begins all idempotency keys of this run; batches are numbered.
	run           string
	batches       int
	sent, refused int
	// duplicates were sent before, and a full queue passed over what was dropped; neither is a mistake.
	duplicates, dropped int
}

// unsent says what else became of messages.
func (s *sender) unsent() string {
	text := ""
	if s.duplicates > 0 {
		text += fmt.Sprintf(", %s left out", counted(s.duplicates, "duplicate"))
	}
	if s.dropped > 0 {
		text += fmt.Sprintf(", %s dropped, since the queue is full", counted(s.dropped, "message"))
	}
	return text
}

// all sends until the channel is closed. It does not wait for a batch to fill up: what is there goes.
func (s *sender) all(ctx context.Context, in <-chan outgoing) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case first, ok := <-in:
			if !ok {
				return nil
			}
			if err := s.batch(ctx, fill(first, in)); err != nil {
				return err
			}
		}
	}
}

func fill(first outgoing, in <-chan outgoing) []outgoing {
	batch, size := []outgoing{first}, first.size
	for len(batch) < batchMessages && size < batchBytes {
		select {
		case m, ok := <-in:
			if !ok {
				return batch
			}
			batch = append(batch, m)
			size += m.size
		default:
			return batch
		}
	}
	return batch
}

func (s *sender) batch(ctx context.Context, batch []outgoing) error {
	s.batches++
	var answer struct {
		Results []struct {
			Duplicate bool         `json:"duplicate"`
			Dropped   bool         `json:"dropped"`
			Error     *answerError `json:"error"`
		} `json:"results"`
		// Duplicate says that the batch was repeated, and all its results with it.
		Duplicate bool `json:"duplicate"`
	}
	var query url.Values
	if s.acks != "" {
		query = url.Values{"acks": {s.acks}}
	}
	err := s.client.call(ctx, request{
		method: http.MethodPost,
		path:   queuePath(s.queue, "/messages"),
		query:  query,
		body: struct {
			Messages []outgoing `json:"messages"`
		}{batch},
		key: s.run + "-" + strconv.Itoa(s.batches),
	}, &answer)
	if err != nil {
		return adviseOnQueue(s.queue, sendFlags.blame(err))
	}
	if len(answer.Results) != len(batch) {
		return fmt.Errorf("the server answered %d results for %d messages", len(answer.Results), len(batch))
	}
	for i, r := range answer.Results {
		s.progress.add(batch[i].size)
		switch {
		case r.Error != nil:
		case r.Dropped:
			s.dropped++
			continue
		case r.Duplicate && !answer.Duplicate:
			s.duplicates++
			continue
		default:
			s.sent++
			continue
		}
		// What a flag gave is the same in all messages, so it will not get better.
		if err := sendFlags.blame(r.Error); isUsage(err) {
			return err
		}
		if s.refused++; s.refused <= refusalsShown {
			fmt.Fprintf(s.errOut, "dabba: %s was refused: %s\n", batch[i].origin, r.Error.Detail)
		}
	}
	return nil
}

// queueExists asks for the queue when there was nothing to send, so that a misspelled name is a mistake all the same.
// A token that may send only is not told, and need not be.
func (s *sender) queueExists(ctx context.Context) error {
	err := s.client.call(ctx, request{method: http.MethodGet, path: queuePath(s.queue, ""), repeat: true}, nil)
	if a, ok := errors.AsType[*answerError](err); ok && a.Code == "forbidden" {
		return nil
	}
	return adviseOnQueue(s.queue, err)
}

// adviseOnQueue adds to an error what to do about a queue that is not there.
func adviseOnQueue(queue string, err error) error {
	if a, ok := errors.AsType[*answerError](err); ok && a.Code == "not_found" {
		return fmt.Errorf("there is no queue %q: create it with dabba queues create %s", queue, queue)
	}
	return err
}
