package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// comparison is one phase of one round: the server beside the handler measured just before it, and on Redis what a client
// makes of the same scripts and of a stream, measured just after it.
type comparison struct {
	server, handler measured
	bare, stream    *measured
}

// benchReport is what a run found out. All figures are medians over its rounds.
type benchReport struct {
	Version     string `json:"version"`
	Machine     string `json:"machine"`
	Connections int    `json:"connections"`
	Size        int    `json:"size_bytes"`
	Duration    string `json:"duration"`
	Rounds      int    `json:"rounds"`
	Groups      int    `json:"groups,omitzero"`
	// Redis is how a Redis keeps what it is given that the server is on.
	Redis  string        `json:"redis,omitzero"`
	Phases []phaseReport `json:"phases"`
	Depth  *depthReport  `json:"depth,omitzero"`

	rounds []map[string]comparison
}

// phaseReport is one row of the table. What could not be measured is absent.
type phaseReport struct {
	Phase string `json:"phase"`
	// Rate is messages a second; Handler is requests a second of the empty handler; Ratio is the median of their
	// quotients, round by round, all of which are in Ratios.
	Rate    float64   `json:"messages_per_second"`
	Handler float64   `json:"handler_requests_per_second"`
	Ratio   float64   `json:"ratio"`
	Ratios  []float64 `json:"ratios"`
	// OfStandard is, for a FIFO queue, its rate by that of the standard queue in the same round, the median of them.
	OfStandard float64 `json:"of_standard_queue,omitzero"`
	// OfNative is, over the SQS wire, its rate by that of the native one in the same round, the median of them.
	OfNative float64      `json:"of_native_wire,omitzero"`
	Beside   *redisReport `json:"beside_redis,omitzero"`
	// processor time
	Micros        float64 `json:"server_us_per_message,omitzero"`
	HandlerMicros float64 `json:"handler_us_per_request,omitzero"`
	// disk syncs
	PerSync float64 `json:"messages_per_sync,omitzero"`
	Syncs   float64 `json:"syncs_per_second,omitzero"`
	// time of one unit of work
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

func newBenchReport(o *benchOptions) *benchReport {
	groups := 0
	if o.fifo {
		groups = o.groups
	}
	return &benchReport{
		Groups:      groups,
		Version:     version(),
		Machine:     fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Connections: o.connections,
		Size:        o.size,
		Duration:    o.duration.String(),
		Rounds:      o.rounds,
	}
}

func (r *benchReport) add(round map[string]comparison) { r.rounds = append(r.rounds, round) }

// finish turns the rounds into medians.
func (r *benchReport) finish() {
	for _, phase := range phaseNames {
		if _, measured := r.rounds[0][phase]; !measured {
			continue
		}
		over := func(of func(comparison) float64) float64 {
			var all []float64
			for _, round := range r.rounds {
				all = append(all, of(round[phase]))
			}
			return median(all)
		}
		row := phaseReport{
			Phase:         phase,
			Rate:          over(func(c comparison) float64 { return c.server.perSecond() }),
			Handler:       over(func(c comparison) float64 { return c.handler.perSecond() }),
			Micros:        over(func(c comparison) float64 { return microsPer(c.server) }),
			HandlerMicros: over(func(c comparison) float64 { return microsPer(c.handler) }),
			PerSync:       over(func(c comparison) float64 { return perSync(c.server) }),
			Syncs:         over(func(c comparison) float64 { return max(0, float64(c.server.syncs)/c.server.elapsed.Seconds()) }),
			P50:           over(func(c comparison) float64 { return millis(c.server.quantile(0.5)) }),
			P99:           over(func(c comparison) float64 { return millis(c.server.quantile(0.99)) }),
		}
		for _, round := range r.rounds {
			row.Ratios = append(row.Ratios, round[phase].server.perSecond()/round[phase].handler.perSecond())
		}
		row.Ratio = median(row.Ratios)
		row.OfStandard = r.against(phase, onFIFO)
		row.OfNative = r.against(phase, onSQS)
		row.Beside = r.besideRedis(phase)
		r.Phases = append(r.Phases, row)
	}
}

// against is the rate of a phase whose name has the prefix by that of the phase without it in the same round, the median
// of all rounds; 0 for other phases.
func (r *benchReport) against(phase, prefix string) float64 {
	plain, ok := strings.CutPrefix(phase, prefix)
	if !ok {
		return 0
	}
	var all []float64
	for _, round := range r.rounds {
		all = append(all, round[phase].server.perSecond()/round[plain].server.perSecond())
	}
	return median(all)
}

// microsPer is the server's processor time for each message, in µs; 0 when unknown.
func microsPer(m measured) float64 {
	if m.cpu < 0 || m.messages == 0 {
		return 0
	}
	return float64(m.cpu.Nanoseconds()) / 1e3 / float64(m.messages)
}

// perSync is how many messages share one disk sync; 0 when unknown.
func perSync(m measured) float64 {
	if m.syncs <= 0 {
		return 0
	}
	return float64(m.messages) / float64(m.syncs)
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func (r *benchReport) print(out io.Writer) error {
	fmt.Fprintf(out, "dabba %s on %s: %d connections, %d-byte bodies, median of %d rounds of %s\n\n",
		r.Version, r.Machine, r.Connections, r.Size, r.Rounds, r.Duration)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tmessages/s\tempty handler\tratio\tserver µs\thandler µs\tmessages\tsyncs\tp50\tp99\t")
	fmt.Fprintln(w, "\t\trequests/s\t\tper message\tper request\tper sync\tper s\tms\tms\t")
	for _, p := range r.Phases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t\n", p.Phase, thousands(p.Rate), thousands(p.Handler),
			p.Ratio, known(p.Micros), known(p.HandlerMicros), known(p.PerSync), known(p.Syncs), p.P50, p.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nratio: messages/s by the handler's requests/s, each round on its own. send 10 and receive 10 have ten messages a request.\n"+
		"p50 and p99 are of one request, or of one receive together with its ack. - is not known, as syncs are on Redis.")
	if r.Groups > 0 {
		fmt.Fprintf(out, "\nFIFO queues with %s groups, by the standard queue of the same round:\n", thousands(float64(r.Groups)))
		for _, p := range r.Phases {
			if p.OfStandard > 0 {
				fmt.Fprintf(out, "  %s: %.2f\n", p.Phase, p.OfStandard)
			}
		}
	}
	heading := "\nThe SQS wire, by the native one of the same round:\n"
	for _, p := range r.Phases {
		if p.OfNative > 0 {
			fmt.Fprintf(out, "%s  %s: %.2f\n", heading, p.Phase, p.OfNative)
			heading = ""
		}
	}
	if err := r.printRedis(out); err != nil {
		return err
	}
	if r.Depth == nil {
		return nil
	}
	d := r.Depth
	fmt.Fprintf(out, "\nreceive 10, ack 10, send 10 at a steady backlog: %s messages/s at %s, %s at %s: ratio %.2f\n",
		thousands(d.DeepRate), thousands(float64(d.Backlog)), thousands(d.ShallowRate), thousands(float64(d.Shallow)), d.Ratio)
	_, err := fmt.Fprintf(out, "server µs per message: %s and %s; resident MB before, filled, after: %.0f, %.0f, %.0f; filled in %.1f s\n",
		known(d.DeepMicros), known(d.ShallowMicros), megabytes(d.ResidentBefore), megabytes(d.ResidentFilled), megabytes(d.ResidentAfter), d.FillSeconds)
	return err
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// known shows a figure that may be missing.
func known(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v >= 1000:
		return thousands(v)
	}
	return fmt.Sprintf("%.1f", v)
}

// thousands shows a whole number with its thousands apart.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
