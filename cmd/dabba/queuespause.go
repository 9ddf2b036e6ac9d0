package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// sidesOptions are what a pause or a resume is about; none of them means both.
type sidesOptions struct{ produce, consume bool }

func (o *sidesOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.produce, "produce", false, "sends only")
	cmd.Flags().BoolVar(&o.consume, "consume", false, "receives only")
}

// body names what is set, so that nothing stands for both.
func (o *sidesOptions) body() map[string]any {
	body := map[string]any{}
	if o.produce {
		body["produce"] = true
	}
	if o.consume {
		body["consume"] = true
	}
	return body
}

func newQueuesPause(p program, o *queuesOptions) *cobra.Command {
	var sides sidesOptions
	var until string
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Refuse sends, hand out nothing, or both",
		Example: `  dabba queues pause orders
  dabba queues pause orders --consume --until 2026-12-01T08:00:00Z`,
		Args: one("the name of a queue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := sides.body()
			if until != "" {
				if _, err := time.Parse(time.RFC3339, until); err != nil {
					return usagef("--until: give a time such as 2026-12-01T08:00:00Z")
				}
				body["until"] = until
			}
			return o.pause(p, cmd, args[0], "pause", body, "is paused")
		},
	}
	sides.register(cmd)
	cmd.Flags().StringVar(&until, "until", "", "`time` at which it goes on by itself, like 2026-12-01T08:00:00Z")
	return cmd
}

func newQueuesResume(p program, o *queuesOptions) *cobra.Command {
	var sides sidesOptions
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Let a paused queue go on",
		Args:  one("the name of a queue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.pause(p, cmd, args[0], "resume", sides.body(), "goes on")
		},
	}
	sides.register(cmd)
	return cmd
}

// pause makes the call, which may be repeated, and says what the queue does now.
func (o *queuesOptions) pause(p program, cmd *cobra.Command, name, call string, body map[string]any, now string) error {
	c, err := o.client.client(p, cmd)
	if err != nil {
		return err
	}
	var answer jsontext.Value
	err = c.call(cmd.Context(), request{
		method: http.MethodPost, path: queuePath(name, "/"+call), body: body, repeat: true,
	}, &answer)
	if err != nil {
		return flagsOf{"until": "until"}.blame(adviseOnKnown(name, err))
	}
	if o.json {
		return printJSON(p.out, answer)
	}
	_, err = fmt.Fprintf(p.out, "queue %s %s\n", name, now)
	return err
}

// queuePaused is what is shown of a pause.
type queuePaused struct {
	Produce      bool   `json:"produce"`
	Consume      bool   `json:"consume"`
	Until        string `json:"until"`
	ProduceUntil string `json:"produce_until"`
	ConsumeUntil string `json:"consume_until"`
}

// show has a line for each side that is paused; p may be nil.
func (p *queuePaused) show(w io.Writer) {
	if p == nil {
		return
	}
	line := func(side string, paused bool, own string) {
		until := cmp.Or(own, p.Until)
		switch {
		case !paused:
		case until == "":
			fmt.Fprintf(w, "%s\tpaused\n", side)
		default:
			fmt.Fprintf(w, "%s\tpaused until %s\n", side, until)
		}
	}
	line("produce", p.Produce, p.ProduceUntil)
	line("consume", p.Consume, p.ConsumeUntil)
}
