package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

const (
	// redriveLookFirst and redriveLookMost are how long to wait between two looks at a task.
	redriveLookFirst = 20 * time.Millisecond
	redriveLookMost  = time.Second
)

type redriveOptions struct {
	client     clientOptions
	queue, to  string
	ids        []string
	state      string
	group      string
	contains   string
	attributes map[string]string
	olderThan  span
	rate       float64
	dryRun     bool
	task       string
	cancel     bool
	groupIsSet bool
	rateIsSet  bool
}

func newRedrive(p program) *cobra.Command {
	var o redriveOptions
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Move messages to another queue, or back to where they came from",
		Long: `Move the ready, delayed and dead messages of a queue to another one, or without --to each back to the queue it last
came from, as is wanted of dead letters once their cause is mended. The server does it, also over a restart; this command
shows how far it is. Interrupting it leaves the server at it: --task ID looks again, with --cancel it is ended.`,
		Example: `  dabba redrive --queue orders-dead --dry-run
  dabba redrive --queue orders-dead --rate 100
  dabba redrive --queue orders-dead --to orders-retry --contains timeout --older-than 1h
  dabba redrive --task 5f0c8d1e93a46c0e1c8f7b210e4f7a52 --cancel`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			o.groupIsSet, o.rateIsSet = cmd.Flags().Changed("group"), cmd.Flags().Changed("rate")
			switch {
			case o.queue == "" && o.task == "":
				return usagef("give the queue with --queue NAME, or a task with --task ID")
			case o.queue != "" && o.task != "":
				return usagef("give --queue or --task, not both")
			case o.cancel && o.task == "":
				return usagef("--cancel needs the task: --task ID")
			}
			return o.run(cmd.Context(), p, c)
		},
	}
	o.client.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.queue, "queue", "", "`name` of the queue to move messages out of")
	f.StringVar(&o.to, "to", "", "`queue` to move them to (default: each back to where it came from)")
	f.StringSliceVar(&o.ids, "id", nil, "only the message with this `id`; may be repeated")
	f.StringVar(&o.state, "state", "", "only messages in this `state`: ready, delayed or dead, several with commas")
	f.StringVar(&o.group, "group", "", "only messages of this `group`")
	f.StringVar(&o.contains, "contains", "", "only messages with this `text` in their body")
	f.StringToStringVar(&o.attributes, "attribute", nil, "only messages with this attribute, as `name=value`; may be repeated")
	f.Lookup("attribute").DefValue = "" // not "[]", which help would show
	f.Var(&o.olderThan, "older-than", "only messages that have been in the queue for this long, like 1h")
	f.Float64Var(&o.rate, "rate", 0, "the most `messages` to move a second (default: no limit)")
	f.BoolVar(&o.dryRun, "dry-run", false, "count, and move nothing")
	f.StringVar(&o.task, "task", "", "follow the task with this `id`, which was started before")
	f.BoolVar(&o.cancel, "cancel", false, "end the task")
	return cmd
}

// redriveTask is what is read of a task.
type redriveTask struct {
	ID      string  `json:"id"`
	State   string  `json:"state"`
	Error   string  `json:"error"`
	Queue   string  `json:"queue"`
	To      string  `json:"to"`
	Moved   int64   `json:"moved"`
	Total   int64   `json:"total"`
	Skipped int64   `json:"skipped"`
	Rate    float64 `json:"rate"`
	ETA     *string `json:"eta"`
}

func (o *redriveOptions) run(ctx context.Context, p program, c *client) error {
	if o.dryRun {
		return o.plan(ctx, p, c)
	}
	var t redriveTask
	var err error
	switch {
	case o.cancel:
		err = c.call(ctx, request{method: http.MethodDelete, path: taskPath(o.task), repeat: true}, &t)
	case o.task != "":
		err = c.call(ctx, request{method: http.MethodGet, path: taskPath(o.task), repeat: true}, &t)
	default:
		t, err = o.start(ctx, c)
	}
	if err != nil {
		return err
	}
	if t, err = followTask(ctx, p, c, t); err != nil {
		return err
	}
	return o.report(p.out, t)
}

func taskPath(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

// redriveBody is what the server is asked for.
type redriveBody struct {
	To     string         `json:"to,omitzero"`
	IDs    []string       `json:"ids,omitzero"`
	Filter *redriveFilter `json:"filter,omitzero"`
	Rate   *float64       `json:"rate,omitzero"`
	DryRun bool           `json:"dry_run,omitzero"`
}

type redriveFilter struct {
	State      string            `json:"state,omitzero"`
	Group      *string           `json:"group,omitzero"`
	Contains   string            `json:"contains,omitzero"`
	Attributes map[string]string `json:"attributes,omitzero"`
	OlderThan  string            `json:"older_than,omitzero"`
}

func (o *redriveOptions) body() redriveBody {
	b := redriveBody{To: o.to, IDs: o.ids, DryRun: o.dryRun}
	f := redriveFilter{State: o.state, Contains: o.contains, Attributes: o.attributes, OlderThan: o.olderThan.text}
	if o.groupIsSet {
		f.Group = &o.group
	}
	if f.State != "" || f.Group != nil || f.Contains != "" || f.Attributes != nil || f.OlderThan != "" {
		b.Filter = &f
	}
	if o.rateIsSet {
		b.Rate = &o.rate
	}
	return b
}

// call asks for a redrive. With a key it may be repeated without starting another.
func (o *redriveOptions) call(ctx context.Context, c *client, key string, answer any) error {
	err := c.call(ctx, request{
		method: http.MethodPost, path: queuePath(o.queue, "/redrive"), body: o.body(),
		key: key, repeat: o.dryRun,
	}, answer)
	blamed := flagsOf{
		"to": "to", "ids": "id", "rate": "rate", "filter.state": "state", "filter.contains": "contains",
		"filter.older_than": "older-than", "filter": "attribute",
	}
	for i := range o.ids {
		blamed[fmt.Sprintf("ids[%d]", i)] = "id"
	}
	if a, ok := errors.AsType[*answerError](err); ok && a.Code == "not_found" && a.Field == "to" {
		return adviseOnQueue(o.to, err)
	}
	return adviseOnKnown(o.queue, blamed.blame(err))
}

func (o *redriveOptions) plan(ctx context.Context, p program, c *client) error {
	var plan struct {
		Total    int64            `json:"total"`
		ByTarget map[string]int64 `json:"by_target"`
		Skipped  int64            `json:"skipped"`
	}
	if err := o.call(ctx, c, "", &plan); err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "MESSAGES\t  TO")
	for _, name := range slices.Sorted(maps.Keys(plan.ByTarget)) {
		fmt.Fprintf(w, "%d\t  %s\n", plan.ByTarget[name], name)
	}
	fmt.Fprintf(w, "%d\t  in all\n", plan.Total)
	if err := w.Flush(); err != nil {
		return err
	}
	return reportSkipped(p.out, plan.Skipped)
}

func (o *redriveOptions) start(ctx context.Context, c *client) (redriveTask, error) {
	var answer struct {
		Task redriveTask `json:"task"`
	}
	err := o.call(ctx, c, rand.Text(), &answer)
	return answer.Task, err
}

// followTask looks at the task until it has ended.
func followTask(ctx context.Context, p program, c *client, t redriveTask) (redriveTask, error) {
	var bar progress
	if isTerminal(p.errOut) {
		bar = progress{progressbar.NewOptions64(max(t.Total, 1),
			progressbar.OptionSetWriter(p.errOut),
			progressbar.OptionSetDescription("moving"),
			progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
		)}
	}
	defer bar.finish()
	for pause := redriveLookFirst; t.State == "running"; pause = min(2*pause, redriveLookMost) {
		if bar.bar != nil {
			_ = bar.bar.Set64(min(t.Moved, max(t.Total, 1))) // that it cannot be drawn is no reason to stop
		}
		var err error
		select {
		case <-time.After(pause):
			err = c.call(ctx, request{method: http.MethodGet, path: taskPath(t.ID), repeat: true}, &t)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return t, fmt.Errorf("interrupted: the server goes on moving messages; look again with "+
				"dabba redrive --task %s, or end it with --cancel", t.ID)
		}
		if err != nil {
			return t, fmt.Errorf("look at the task, which goes on (dabba redrive --task %s looks again): %w", t.ID, err)
		}
	}
	return t, nil
}

// report says how the task ended. One that did not do what was asked for is an error.
func (o *redriveOptions) report(out io.Writer, t redriveTask) error {
	to := "back to where they came from"
	if t.To != "" {
		to = "to " + t.To
	}
	if _, err := fmt.Fprintf(out, "%s moved from %s %s\n", messageCount(t.Moved), t.Queue, to); err != nil {
		return err
	}
	if err := reportSkipped(out, t.Skipped); err != nil {
		return err
	}
	switch {
	case t.State == "failed":
		return fmt.Errorf("the task failed: %s", t.Error)
	case t.State == "cancelled" && !o.cancel:
		return errors.New("the task was cancelled")
	}
	return nil
}

func reportSkipped(out io.Writer, n int64) error {
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s skipped: no queue they came from exists, so give one with --to\n", messageCount(n))
	return err
}

func messageCount(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}
