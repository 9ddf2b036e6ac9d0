package main

import (
	"fmt"
	"io"
)

// queueNumbers are what is shown of what the server has done with a queue since it started.
type queueNumbers struct {
	Rates struct {
		In    float64 `json:"in"`
		Out   float64 `json:"out"`
		Acked float64 `json:"acked"`
	} `json:"rates"`
	WaitTime struct {
		P50 *string `json:"p50"`
		P90 *string `json:"p90"`
		P99 *string `json:"p99"`
	} `json:"wait_time"`
	DrainSeconds     *float64 `json:"drain_seconds"`
	SuggestedWorkers *int     `json:"suggested_workers"`
	Dropped          int64    `json:"dropped"`
	Expired          int64    `json:"expired"`
}

// show shows - for what is not known.
func (n queueNumbers) show(w io.Writer) {
	fmt.Fprintf(w, "rates\t%g in, %g out, %g acked a second\n", n.Rates.In, n.Rates.Out, n.Rates.Acked)
	fmt.Fprintf(w, "waits\t%s, %s, %s (p50, p90, p99)\n",
		orDash(n.WaitTime.P50), orDash(n.WaitTime.P90), orDash(n.WaitTime.P99))
	drain, workers := "-", "-"
	if n.DrainSeconds != nil {
		drain = fmt.Sprintf("in %g s", *n.DrainSeconds)
	}
	if n.SuggestedWorkers != nil {
		workers = fmt.Sprintf("%d suggested", *n.SuggestedWorkers)
	}
	fmt.Fprintf(w, "drained\t%s\n", drain)
	fmt.Fprintf(w, "workers\t%s\n", workers)
	fmt.Fprintf(w, "dropped\t%d\n", n.Dropped)
	fmt.Fprintf(w, "expired\t%d\n", n.Expired)
}
