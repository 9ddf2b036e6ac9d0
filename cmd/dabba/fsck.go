package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/segment"
)

func newFsck(p program) *cobra.Command {
	var dump, asJSON bool
	cmd := &cobra.Command{
		Use:   "fsck DIR",
		Short: "Check a data folder, changing nothing",
		Long: "Reads a data folder that no server has open, checks every checksum, rebuilds the state as a start would, and\n" +
			"makes sure that each message is where it should be. Exit code 1 when something is damaged.",
		Args: one("the data folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			o := segment.CheckOptions{Dir: args[0]}
			if dump {
				o.Record = func(r segment.RecordInfo) {
					line, _ := json.Marshal(r) // numbers and strings only
					fmt.Fprintf(p.out, "%s\n", line)
				}
			}
			found, err := segment.Check(o)
			if err != nil {
				return err
			}
			report := newCheckReport(found)
			if asJSON {
				err = json.NewEncoder(p.out).Encode(report)
			} else {
				err = report.print(p.out)
			}
			if err == nil && len(report.Problems) > 0 {
				err = fmt.Errorf("%s in %s: restore the folder from a copy, or start with --quarantine to set damaged parts aside",
					counted(len(report.Problems), "problem"), args[0])
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dump, "dump", false, "print every record as a line of JSON first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// checkReport is what fsck prints: what the store found, with the names of the queues.
type checkReport struct {
	Checkpoint uint64               `json:"checkpoint"`
	Files      []segment.FileReport `json:"files"`
	Queues     []checkedQueue       `json:"queues"`
	Topics     []checkedTopic       `json:"topics"`
	Keys       []string             `json:"keys"`
	Problems   []string             `json:"problems"`
}

// checkedQueue is a queue as of the last record in the folder.
type checkedQueue struct {
	// ID is what records call it.
	ID string `json:"id"`
	// Tenant and Name are null for a queue that the catalog does not list: it was about to be deleted.
	Tenant  *string `json:"tenant"`
	Name    *string `json:"name"`
	Ready   int64   `json:"ready"`
	Leased  int64   `json:"leased"`
	Delayed int64   `json:"delayed"`
	Dead    int64   `json:"dead"`
	Bytes   int64   `json:"bytes"`
	// OldestAge is in seconds, null when no message is ready.
	OldestAge *float64 `json:"oldest_age_seconds"`
	Revision  uint64   `json:"revision"`
	// NextDue is when time alone changes something, null for never.
	NextDue *time.Time `json:"next_due"`
}

func newCheckReport(found segment.Report) checkReport {
	r := checkReport{
		Checkpoint: found.Checkpoint,
		Files:      append([]segment.FileReport{}, found.Files...),
		Queues:     []checkedQueue{},
		Keys:       []string{},
		Problems:   found.Problems,
	}
	names := make(map[store.QueueID]engine.Ref)
	for _, pair := range found.Pairs {
		r.Keys = append(r.Keys, pair.Key)
		ref, id, ok, err := engine.CatalogEntry(pair)
		if err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
		if ok {
			names[id] = ref
		}
	}
	for _, q := range found.Queues {
		shown := checkedQueue{
			ID: fmt.Sprintf("%016x", uint64(q.ID)), Revision: q.Revision,
			Ready: q.Ready, Leased: q.Leased, Delayed: q.Delayed, Dead: q.Dead, Bytes: q.Bytes,
		}
		if ref, ok := names[q.ID]; ok {
			shown.Tenant, shown.Name = &ref.Tenant, &ref.Name
		}
		if q.OldestAge >= 0 {
			shown.OldestAge = new(q.OldestAge.Seconds())
		}
		if q.NextDue != store.NoDue {
			shown.NextDue = new(q.At.Add(q.NextDue).UTC().Truncate(time.Millisecond))
		}
		r.Queues = append(r.Queues, shown)
	}
	var err error
	if r.Topics, err = newCheckedTopics(found); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	return r
}

func (r checkReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "FILE\tBYTES\tRECORDS\tLIVE MESSAGES\tTORN BYTES\t")
	for _, f := range r.Files {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t\n", f.File, f.Size, f.Records, f.Live, f.Torn)
	}
	fmt.Fprintln(t, "\nREADY\tLEASED\tDELAYED\tDEAD\tBYTES\tID\t  NAME")
	for _, q := range r.Queues {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%s\t  %s\n", q.Ready, q.Leased, q.Delayed, q.Dead, q.Bytes, q.ID, title(q.Tenant, q.Name))
	}
	printCheckedTopics(t, r.Topics)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nCheckpoint %d, %s, %s, %s, %s.\n", r.Checkpoint, counted(len(r.Files), "data file"),
		counted(len(r.Queues), "queue"), counted(len(r.Topics), "topic"), counted(len(r.Keys), "key"))
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "PROBLEM: %s\n", problem)
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(w, "No damage found.")
	}
	return nil
}

// title is a name, with the tenant's before it unless that is the usual one.
func title(tenant, name *string) string {
	switch {
	case name == nil:
		return "(not in the catalog)"
	case *tenant == auth.DefaultTenant:
		return *name
	}
	return *tenant + "/" + *name
}
