package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

type queuesOptions struct {
	client clientOptions
	json   bool
}

func newQueues(p program) *cobra.Command {
	var o queuesOptions
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "List, create, describe, pause, resume and delete queues",
		Long: "List, create, describe, pause, resume and delete queues. Messages are sent, received and moved with dabba send,\n" +
			"receive and redrive. Whatever else there is (browsing, purging, rescheduling, groups, schedules) is one call of\n" +
			"the API, which the page /docs of the server shows.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: dabba queues takes list, create, describe, pause, resume or delete", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o.client.register(cmd)
	cmd.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON as the server answers it")
	cmd.AddCommand(newQueuesList(p, &o), newQueuesCreate(p, &o), newQueuesDescribe(p, &o),
		newQueuesPause(p, &o), newQueuesResume(p, &o), newQueuesDelete(p, &o))
	return cmd
}

// queueState is what is shown of a queue.
type queueState struct {
	Name   string         `json:"name"`
	Config jsontext.Value `json:"config"`
	Counts struct {
		Ready   int64 `json:"ready"`
		Leased  int64 `json:"leased"`
		Delayed int64 `json:"delayed"`
		Dead    int64 `json:"dead"`
		Bytes   int64 `json:"bytes"`
	} `json:"counts"`
	OldestAge *string      `json:"oldest_age"`
	Paused    *queuePaused `json:"paused"`
	queueNumbers
}

func newQueuesList(p program, o *queuesOptions) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the queues",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			all, err := c.listAll(cmd.Context(), "queues", prefix)
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(p.out, map[string]any{"queues": all})
			}
			return printQueues(p.out, all)
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only queues whose name begins with this `text`")
	return cmd
}

func printQueues(out io.Writer, all []jsontext.Value) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "READY\tLEASED\tDELAYED\tDEAD\tBYTES\tOLDEST\t  NAME")
	for _, value := range all {
		var q queueState
		if err := json.Unmarshal(value, &q); err != nil {
			return fmt.Errorf("read a queue: %w", err)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t  %s\n",
			q.Counts.Ready, q.Counts.Leased, q.Counts.Delayed, q.Counts.Dead, q.Counts.Bytes, orDash(q.OldestAge), q.Name)
	}
	return w.Flush()
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func newQueuesDescribe(p program, o *queuesOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a queue's counts, rates and settings",
		Args:  one("the name of a queue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			var answer jsontext.Value
			err = c.call(cmd.Context(), request{method: http.MethodGet, path: queuePath(args[0], ""), repeat: true}, &answer)
			if err != nil {
				return adviseOnKnown(args[0], err)
			}
			return o.printQueue(p.out, answer)
		},
	}
}

func (o *queuesOptions) printQueue(out io.Writer, answer jsontext.Value) error {
	if o.json {
		return printJSON(out, answer)
	}
	var q queueState
	if err := json.Unmarshal(answer, &q); err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", q.Name)
	fmt.Fprintf(w, "ready\t%d\n", q.Counts.Ready)
	fmt.Fprintf(w, "leased\t%d\n", q.Counts.Leased)
	fmt.Fprintf(w, "delayed\t%d\n", q.Counts.Delayed)
	fmt.Fprintf(w, "dead\t%d\n", q.Counts.Dead)
	fmt.Fprintf(w, "bytes\t%d\n", q.Counts.Bytes)
	fmt.Fprintf(w, "oldest\t%s\n", orDash(q.OldestAge))
	q.Paused.show(w)
	q.queueNumbers.show(w)
	if err := printConfig(w, "", q.Config); err != nil {
		return err
	}
	return w.Flush()
}

// printConfig shows settings one a line, in the server's order, inner ones as retry.policy.
func printConfig(w io.Writer, prefix string, config jsontext.Value) error {
	d := jsontext.NewDecoder(bytes.NewReader(config))
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return fmt.Errorf("read the settings: %w", err)
		}
		key := prefix + name.String()
		value, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("read the setting %s: %w", key, err)
		}
		if value.Kind() == '{' {
			if err := printConfig(w, key+".", value); err != nil {
				return err
			}
			continue
		}
		text := value.String()
		if value.Kind() == '"' {
			if unquoted, err := jsontext.AppendUnquote(nil, value); err == nil {
				text = string(unquoted)
			}
		}
		fmt.Fprintf(w, "%s\t%s\n", key, text)
	}
	return nil
}

type createOptions struct {
	visibility, delay, retention, wait span
	maxReceives                        uint32
	deadLetter                         string
	fifo                               bool
	config                             string
	replace                            bool
}

func newQueuesCreate(p program, o *queuesOptions) *cobra.Command {
	var create createOptions
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a queue",
		Example: `  dabba queues create orders
  dabba queues create orders --visibility 2m --max-receives 5 --dead-letter orders-dead
  dabba queues create orders.fifo --fifo
  echo '{"retry":{"policy":"fixed","base":"10s"}}' | dabba queues create orders --settings -`,
		Args: one("the name of a queue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			config, err := create.settings(p)
			if err != nil {
				return err
			}
			put := request{method: http.MethodPut, path: queuePath(args[0], ""), body: config, repeat: create.replace}
			if !create.replace {
				// Not repeated: the second try could find the queue that the first one made.
				put.header = http.Header{"If-None-Match": {"*"}}
			}
			var answer jsontext.Value
			if err := c.call(cmd.Context(), put, &answer); err != nil {
				return create.explain(args[0], err)
			}
			if o.json {
				return printJSON(p.out, answer)
			}
			var made struct {
				Warnings []struct {
					Detail string `json:"detail"`
				} `json:"warnings"`
			}
			if err := json.Unmarshal(answer, &made); err != nil {
				return fmt.Errorf("read the queue: %w", err)
			}
			for _, w := range made.Warnings {
				fmt.Fprintln(p.errOut, "dabba: note: "+w.Detail)
			}
			_, err = fmt.Fprintf(p.out, "queue %s is ready\n", args[0])
			return err
		},
	}
	f := cmd.Flags()
	f.Var(&create.visibility, "visibility", "how long a received message is hidden from others, like 30s")
	f.Var(&create.delay, "delay", "how long a new message is held back")
	f.Var(&create.retention, "retention", "how long a message may stay, like 4d")
	f.Var(&create.wait, "wait", "how long a receive waits for messages")
	f.Uint32Var(&create.maxReceives, "max-receives", 0, "`deliveries` after which a message is dead (0: no limit)")
	f.StringVar(&create.deadLetter, "dead-letter", "", "`queue` that takes dead messages")
	f.BoolVar(&create.fifo, "fifo", false, "keep the order of each group; the name ends in .fifo")
	f.StringVar(&create.config, "settings", "", "`file` with all settings as JSON, - for standard input; the other flags change them")
	f.BoolVar(&create.replace, "replace", false, "if the queue exists, replace its settings")
	return cmd
}

// explain says what to do about a queue that is there, which creating it again would quietly reset, and about a setting
// that the server refused.
func (o *createOptions) explain(name string, err error) error {
	if a, ok := errors.AsType[*answerError](err); ok && a.Status == http.StatusPreconditionFailed {
		return fmt.Errorf("the queue %s exists already: --replace gives it these settings", name)
	}
	given := flagsOf{}
	for field, flag := range o.spans() {
		if flag.text != "" {
			given[field] = field
		}
	}
	if o.maxReceives > 0 {
		given["retry.max_receives"] = "max-receives"
	}
	if o.deadLetter != "" {
		given["dead_letter.queue"] = "dead-letter"
	}
	if o.fifo {
		given["fifo"] = "fifo"
	}
	err = given.blame(err)
	if a, ok := errors.AsType[*answerError](err); ok && !isUsage(err) && !strings.Contains(a.Detail, a.Field) {
		return fmt.Errorf("%s: %w", a.Field, err) // it came from --settings
	}
	return err
}

// spans are the settings that are lengths of time, by their name, which is also that of their flag.
func (o *createOptions) spans() map[string]span {
	return map[string]span{"visibility": o.visibility, "delay": o.delay, "retention": o.retention, "wait": o.wait}
}

func (o *createOptions) settings(p program) (map[string]any, error) {
	config := map[string]any{}
	if o.config != "" {
		var data []byte
		var err error
		if o.config == "-" {
			data, err = io.ReadAll(p.in)
		} else {
			data, err = os.ReadFile(o.config)
		}
		if err != nil {
			return nil, usagef("--settings: %w", err)
		}
		if err := json.Unmarshal(data, &config); err != nil {
			return nil, usagef("--settings %s is not a JSON object: %w", o.config, err)
		}
	}
	for name, value := range o.spans() {
		if value.text != "" {
			config[name] = value.text
		}
	}
	if o.maxReceives > 0 {
		inner(config, "retry")["max_receives"] = o.maxReceives
	}
	if o.deadLetter != "" {
		inner(config, "dead_letter")["queue"] = o.deadLetter
	}
	if o.fifo {
		config["fifo"] = true
	}
	return config, nil
}

// inner is an object within the settings, made if it is absent.
func inner(config map[string]any, name string) map[string]any {
	if m, ok := config[name].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	config[name] = m
	return m
}

func newQueuesDelete(p program, o *queuesOptions) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a queue",
		Args:  one("the name of a queue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			err = c.call(cmd.Context(), request{
				method: http.MethodDelete, path: queuePath(args[0], ""),
				query: url.Values{"force": {strconv.FormatBool(force)}},
			}, nil)
			if err != nil {
				return adviseOnKnown(args[0], err)
			}
			if o.json {
				return nil
			}
			_, err = fmt.Fprintf(p.out, "queue %s is deleted\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "delete it with its messages")
	return cmd
}

// adviseOnKnown adds to an error what to do about a queue that should be there but is not: creating it is no advice.
func adviseOnKnown(name string, err error) error {
	if a, ok := errors.AsType[*answerError](err); ok && a.Code == "not_found" {
		return fmt.Errorf("there is no queue %q: dabba queues list shows those there are", name)
	}
	return err
}

// printJSON prints a value for people and programs.
func printJSON(out io.Writer, value any) error {
	data, err := json.Marshal(value, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = out.Write(append(data, '\n'))
	return err
}
