package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

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
			report, err := segment.Check(o)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(p.out).Encode(report)
			} else {
				err = printReport(p.out, report)
			}
			if err == nil && len(report.Problems) > 0 {
				err = fmt.Errorf("%d problems in %s: restore the folder from a copy, or start with --quarantine to set damaged parts aside",
					len(report.Problems), args[0])
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dump, "dump", false, "print every record as a line of JSON first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func printReport(w io.Writer, r segment.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "FILE\tBYTES\tRECORDS\tLIVE MESSAGES\tTORN BYTES\t")
	for _, f := range r.Files {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t\n", f.File, f.Size, f.Records, f.Live, f.Torn)
	}
	fmt.Fprintln(t, "\nQUEUE\tREADY\tLEASED\tDELAYED\tDEAD\tBYTES\t")
	for _, q := range r.Queues {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t\n", q.Queue, q.Ready, q.Leased, q.Delayed, q.Dead, q.Bytes)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nCheckpoint %d, %d data files, %d queues, %d keys.\n", r.Checkpoint, len(r.Files), len(r.Queues), len(r.Keys))
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "PROBLEM: %s\n", problem)
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(w, "No damage found.")
	}
	return nil
}
