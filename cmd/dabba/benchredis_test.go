package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rate is what a phase of a second came to.
func rate(messages int) measured { return measured{messages: messages, elapsed: time.Second} }

// The ratios are those of each round, not of the medians.
func TestBesideRedis(t *testing.T) {
	t.Parallel()
	r := newBenchReport(&benchOptions{})
	for _, round := range [][3]int{{100, 200, 1000}, {300, 300, 400}, {200, 800, 800}} {
		bare, stream := rate(round[1]), rate(round[2])
		r.add(map[string]comparison{
			phaseSingle: {server: rate(round[0]), handler: rate(1), bare: &bare, stream: &stream},
			phaseBatch:  {server: rate(round[0]), handler: rate(1)},
		})
	}
	r.Redis = "appendfsync always"
	r.finish()
	want := []*redisReport{{Bare: 300, OfBare: 0.5, Stream: 800, OfStream: 0.25}, nil}
	got := []*redisReport{r.Phases[0].Beside, r.Phases[1].Beside}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("beside Redis (-want +got):\n%s", diff)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(out.String(), "Beside clients of Redis (appendfsync always)")
	if !strings.Contains(shown, ofBare) || !strings.Contains(shown, ofStream) || strings.Count(shown, phaseSingle) != 1 || strings.Contains(shown, phaseBatch) {
		t.Errorf("the report says\n%s\nwant one phase beside Redis", out.String())
	}
}
