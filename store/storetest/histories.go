package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// histories runs random calls on the backend and on a plain reference, with one clock, and compares all answers. A
// failure prints the calls that lead to it, shortened as far as a few hundred tries can.
func histories(t *testing.T, h Harness) {
	t.Helper()
	s := seed(t)
	runs, length := runs(50, 10_000), size(500, 1_000)
	for run := range runs {
		calls := history(random(s, uint64(run)), length, h.Reopen != nil)
		if _, err := compare(t, h, calls); err != nil {
			calls = shorten(calls, func(c []call) bool {
				_, err := compare(t, h, c)
				return err != nil
			})
			log, err := compare(t, h, calls)
			t.Fatalf("history %d of seed %d, shortened to %d calls:\n%s\n%v", run, s, len(calls), strings.Join(log, "\n"), err)
		}
	}
}

// compare runs the calls on a fresh store and on the reference. It returns what was called and answered, and the first
// difference.
func compare(t *testing.T, h Harness, calls []call) ([]string, error) {
	t.Helper()
	clock := NewClock()
	tested := &side{store: h.Open(t, clock), numbers: make(map[claimID]int)}
	tested.reopen = func() { tested.store = h.Reopen(t, tested.store) }
	reference := &side{store: newPlain(clock), reopen: func() {}, numbers: make(map[claimID]int)}
	defer func() {
		h.close(t, tested.store)
		if err := reference.store.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}()
	w := newHistoryWorld(t.Context(), clock)
	var log []string
	for _, c := range append(calls, ending()...) {
		name, do := w.prepare(c)
		got, want := tested.answer(do), reference.answer(do)
		log = append(log, fmt.Sprintf("  %s = %s", name, want))
		if got != want {
			got, want = differing(got, want)
			return log, fmt.Errorf("%s: got\n    %s\nwant\n    %s", name, got, want)
		}
		w.learn(reference)
	}
	return log, nil
}

// differing leaves out the lines that are the same.
func differing(got, want string) (string, string) {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		return got, want
	}
	var a, b []string
	for i := range g {
		if g[i] != w[i] {
			a, b = append(a, g[i]), append(b, w[i])
		}
	}
	return strings.Join(a, "\n"), strings.Join(b, "\n")
}

// side is one of the two stores, with its own names for the things a backend is free to name.
type side struct {
	store     store.Store
	reopen    func()
	tokens    []store.Token // by number of claim
	numbers   map[claimID]int
	revisions []store.Revision // by number of put
	// claimed is what the last call handed out, under the claim with that number; sent is the last message it sent.
	claimed []store.Delivery
	claim   int
	sent    store.Seq
}

// answer carries a call out and returns its answer as text.
func (s *side) answer(do doer) string {
	s.claimed, s.sent = nil, 0
	got, err := do(s)
	if err != nil {
		return kindOf(err)
	}
	return fmt.Sprintf("%+v", got)
}

// shorten leaves out calls as long as the rest still fails.
func shorten(calls []call, fails func([]call) bool) []call {
	tries := 400
	for part := len(calls) / 2; part >= 1 && tries > 0; part /= 2 {
		for from := 0; from < len(calls) && tries > 0; {
			rest := append(append([]call{}, calls[:from]...), calls[min(from+part, len(calls)):]...)
			tries--
			if fails(rest) {
				calls = rest
			} else {
				from += part
			}
		}
	}
	return calls
}
