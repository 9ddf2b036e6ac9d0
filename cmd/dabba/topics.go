package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

type topicsOptions struct {
	client clientOptions
	json   bool
}

func newTopics(p program) *cobra.Command {
	var o topicsOptions
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "List, create, describe and delete topics",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: dabba topics takes list, create, describe or delete", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o.client.register(cmd)
	cmd.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON as the server answers it")
	cmd.AddCommand(newTopicsList(p, &o), newTopicsCreate(p, &o), newTopicsDescribe(p, &o), newTopicsDelete(p, &o))
	return cmd
}

// topicPath is the path of a topic.
func topicPath(name string) string { return "/v1/topics/" + url.PathEscape(name) }

// topicState is what is shown of a topic.
type topicState struct {
	Name       string         `json:"name"`
	Config     jsontext.Value `json:"config"`
	Partitions []struct {
		Partition     uint32 `json:"partition"`
		FirstOffset   uint64 `json:"first_offset"`
		HighWatermark uint64 `json:"high_watermark"`
		Bytes         int64  `json:"bytes"`
		Missing       uint64 `json:"missing"`
	} `json:"partitions"`
}

func newTopicsList(p program, o *topicsOptions) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the topics",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			all, err := c.listAll(cmd.Context(), "topics", prefix)
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(p.out, map[string]any{"topics": all})
			}
			return printTopics(p.out, all)
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only topics whose name begins with this `text`")
	return cmd
}

func printTopics(out io.Writer, all []jsontext.Value) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PARTITIONS\tRECORDS\tBYTES\t  NAME")
	for _, value := range all {
		var t topicState
		if err := json.Unmarshal(value, &t); err != nil {
			return fmt.Errorf("read a topic: %w", err)
		}
		var records uint64
		var bytes int64
		for _, p := range t.Partitions {
			records += p.HighWatermark - p.FirstOffset - p.Missing
			bytes += p.Bytes
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t  %s\n", len(t.Partitions), records, bytes, t.Name)
	}
	return w.Flush()
}

func newTopicsDescribe(p program, o *topicsOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a topic's settings and partitions",
		Args:  one("the name of a topic"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			var answer jsontext.Value
			if err := c.call(cmd.Context(), request{method: http.MethodGet, path: topicPath(args[0]), repeat: true}, &answer); err != nil {
				return adviseOnTopic(args[0], err)
			}
			return o.printTopic(p.out, answer)
		},
	}
}

func (o *topicsOptions) printTopic(out io.Writer, answer jsontext.Value) error {
	if o.json {
		return printJSON(out, answer)
	}
	var t topicState
	if err := json.Unmarshal(answer, &t); err != nil {
		return fmt.Errorf("read the topic: %w", err)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", t.Name)
	if err := printConfig(w, "", t.Config); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nPARTITION\tFIRST OFFSET\tHIGH WATERMARK\tBYTES\t")
	for _, p := range t.Partitions {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t\n", p.Partition, p.FirstOffset, p.HighWatermark, p.Bytes)
	}
	return w.Flush()
}

type topicsCreateOptions struct {
	partitions uint32
	retention  span
	bytes      int64
	replace    bool
}

func newTopicsCreate(p program, o *topicsOptions) *cobra.Command {
	var create topicsCreateOptions
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a topic",
		Example: `  dabba topics create clicks --partitions 6
  dabba topics create clicks --retention 30d --retention-bytes 1073741824 --replace`,
		Args: one("the name of a topic"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			put := request{method: http.MethodPut, path: topicPath(args[0]), body: create.settings(), repeat: create.replace}
			if !create.replace {
				// Not repeated: the second try could find the topic that the first one made.
				put.header = http.Header{"If-None-Match": {"*"}}
			}
			var answer jsontext.Value
			if err := c.call(cmd.Context(), put, &answer); err != nil {
				return create.explain(args[0], err)
			}
			if o.json {
				return printJSON(p.out, answer)
			}
			_, err = fmt.Fprintf(p.out, "topic %s is ready\n", args[0])
			return err
		},
	}
	f := cmd.Flags()
	f.Uint32Var(&create.partitions, "partitions", 0, "`number` of partitions (0: 1 for a new topic)")
	f.Var(&create.retention, "retention", "how long a record stays, like 7d")
	f.Int64Var(&create.bytes, "retention-bytes", 0, "the most `bytes` in each partition (0: no bound)")
	f.BoolVar(&create.replace, "replace", false, "if the topic exists, replace its settings")
	return cmd
}

func (o *topicsCreateOptions) settings() map[string]any {
	config := map[string]any{}
	if o.partitions > 0 {
		config["partitions"] = o.partitions
	}
	if o.retention.text != "" {
		inner(config, "retention")["age"] = o.retention.text
	}
	if o.bytes != 0 {
		inner(config, "retention")["bytes"] = o.bytes
	}
	return config
}

// explain says what to do about a topic that is there, and about a setting that the server refused.
func (o *topicsCreateOptions) explain(name string, err error) error {
	if a, ok := errors.AsType[*answerError](err); ok && a.Status == http.StatusPreconditionFailed {
		return fmt.Errorf("the topic %s exists already: --replace gives it these settings", name)
	}
	given := flagsOf{}
	if o.partitions > 0 {
		given["partitions"] = "partitions"
	}
	if o.retention.text != "" {
		given["retention.age"] = "retention"
	}
	if o.bytes != 0 {
		given["retention.bytes"] = "retention-bytes"
	}
	return given.blame(err)
}

func newTopicsDelete(p program, o *topicsOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a topic with its records",
		Args:  one("the name of a topic"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client.client(p, cmd)
			if err != nil {
				return err
			}
			if err := c.call(cmd.Context(), request{method: http.MethodDelete, path: topicPath(args[0])}, nil); err != nil {
				return adviseOnTopic(args[0], err)
			}
			if o.json {
				return nil
			}
			_, err = fmt.Fprintf(p.out, "topic %s is deleted\n", args[0])
			return err
		},
	}
}

// adviseOnTopic says what to do about a topic that is not there.
func adviseOnTopic(name string, err error) error {
	if a, ok := errors.AsType[*answerError](err); ok && a.Code == "not_found" {
		return fmt.Errorf("there is no topic %q: dabba topics list shows those there are", name)
	}
	return err
}
