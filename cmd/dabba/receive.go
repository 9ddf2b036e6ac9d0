package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// followWait is how long one request of --follow waits, unless --wait says otherwise.
const followWait = 20 * time.Second

type receiveOptions struct {
	client      clientOptions
	queue       string
	most        int
	wait        span
	visibility  span
	ack, follow bool
	raw         bool
}

func newReceive(p program) *cobra.Command {
	var o receiveOptions
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Receive messages from a queue and print them",
		Long: `Receive messages and print each as one line of JSON, or with --raw its body. Without --ack they come back when their
visibility ends; with it each batch is acknowledged after it was printed.`,
		Example: `  dabba receive --queue orders --wait 20s
  dabba receive --queue orders --max 100 --ack --follow --raw > orders.log`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			switch {
			case o.queue == "":
				return usagef("give the queue with --queue NAME")
			case o.most < 1 || o.most > 1000:
				return usagef("--max is from 1 to 1000, not %d", o.most)
			}
			return o.run(cmd.Context(), p, c)
		},
	}
	o.client.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.queue, "queue", "", "`name` of the queue")
	f.IntVar(&o.most, "max", 1, "most `messages` in one request, up to 1000")
	f.Var(&o.wait, "wait", "wait this long for the first message, like 20s (default: the queue's setting)")
	f.Var(&o.visibility, "visibility", "hide the messages from others for this long (default: the queue's setting)")
	f.BoolVar(&o.ack, "ack", false, "acknowledge the messages once they are printed")
	f.BoolVar(&o.follow, "follow", false, "go on until interrupted")
	f.BoolVar(&o.raw, "raw", false, "print bodies only, a newline after each")
	return cmd
}

// incoming is what is read of a received message; the whole of it is printed as it came.
type incoming struct {
	Receipt    string  `json:"receipt"`
	Body       *string `json:"body"`
	BodyBase64 []byte  `json:"body_base64"`
}

func (o *receiveOptions) run(ctx context.Context, p program, c *client) error {
	if o.follow && o.wait.text == "" {
		o.wait = spanOf(followWait)
	}
	for {
		err := o.once(ctx, p, c)
		switch {
		case ctx.Err() != nil && o.follow:
			return nil // interrupting is how --follow ends
		case errors.Is(err, context.Canceled):
			return errors.New("interrupted")
		case err != nil || !o.follow:
			return err
		}
	}
}

// emptiness is why a receive without a message came back with none.
func (o *receiveOptions) emptiness() string {
	if o.wait.text != "" && o.wait.text != "0s" {
		return "came while it waited"
	}
	return "is ready, --wait 20s waits for one"
}

func (o *receiveOptions) once(ctx context.Context, p program, c *client) error {
	var answer struct {
		Messages []jsontext.Value `json:"messages"`
	}
	err := c.call(ctx, request{
		method: http.MethodPost,
		path:   queuePath(o.queue, "/receive"),
		body: struct {
			Max        int    `json:"max"`
			Wait       string `json:"wait,omitzero"`
			Visibility string `json:"visibility,omitzero"`
		}{o.most, o.wait.text, o.visibility.text},
	}, &answer)
	if err != nil {
		return adviseOnQueue(o.queue, flagsOf{"wait": "wait", "visibility": "visibility"}.blame(err))
	}
	if len(answer.Messages) == 0 && !o.follow {
		fmt.Fprintf(p.errOut, "dabba: note: no message of %s %s; dabba queues describe %[1]s shows what there is\n", o.queue, o.emptiness())
	}
	receipts := make([]string, 0, len(answer.Messages))
	for _, value := range answer.Messages {
		var m incoming
		if err := json.Unmarshal(value, &m); err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		if err := o.print(p.out, value, m); err != nil {
			return fmt.Errorf("print a message: %w", err)
		}
		receipts = append(receipts, m.Receipt)
	}
	if !o.ack || len(receipts) == 0 {
		return nil
	}
	// What was printed is acknowledged even if the interrupt came meanwhile.
	return acknowledge(context.WithoutCancel(ctx), c, o.queue, receipts)
}

func (o *receiveOptions) print(out io.Writer, value jsontext.Value, m incoming) error {
	line := value
	if o.raw {
		line = m.BodyBase64
		if m.Body != nil {
			line = []byte(*m.Body)
		}
	} else if err := line.Compact(); err != nil {
		return err
	}
	_, err := out.Write(append(line, '\n'))
	return err
}

func acknowledge(ctx context.Context, c *client, queue string, receipts []string) error {
	var answer struct {
		Results []struct {
			Error *answerError `json:"error"`
		} `json:"results"`
	}
	err := c.call(ctx, request{
		method: http.MethodPost,
		path:   queuePath(queue, "/ack"),
		body: struct {
			Receipts []string `json:"receipts"`
		}{receipts},
		repeat: true, // acknowledging twice is harmless
	}, &answer)
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	for _, r := range answer.Results {
		if r.Error != nil {
			return fmt.Errorf("acknowledge: %s", r.Error.Detail)
		}
	}
	return nil
}
