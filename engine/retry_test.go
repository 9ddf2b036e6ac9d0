package engine

import (
	"math"
	"strings"
	"testing"
	"time"
)

func testRandom(tb testing.TB) *random {
	tb.Helper()
	r := new(random)
	if err := r.init(strings.NewReader("8 bytes!")); err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	for _, c := range []struct {
		policy    RetryPolicy
		base, cap time.Duration
		n         uint32
		want      time.Duration
	}{
		{RetryNone, s, m, 1, 0},
		{RetryFixed, s, m, 1, s},
		{RetryFixed, s, m, 100, s},
		{RetryFixed, 2 * m, m, 1, 2 * m},
		{RetryExponential, s, 5 * m, 1, s},
		{RetryExponential, s, 5 * m, 2, 2 * s},
		{RetryExponential, s, 5 * m, 3, 4 * s},
		{RetryExponential, s, 5 * m, 9, 256 * s},
		{RetryExponential, s, 5 * m, 10, 5 * m},
		{RetryExponential, s, 5 * m, math.MaxUint32, 5 * m},
		{RetryExponential, 10 * m, 5 * m, 1, 5 * m},
		{RetryExponential, 0, 5 * m, math.MaxUint32, 0},
		{RetryExponential, 1, math.MaxInt64, 63, 1 << 62},
		{RetryExponential, 1, math.MaxInt64, 64, math.MaxInt64},
		{RetryExponential, 1, math.MaxInt64, 1000, math.MaxInt64},
	} {
		r := Retry{Policy: c.policy, Base: c.base, Cap: c.cap, Jitter: JitterNone}
		if got := r.backoff(c.n, testRandom(t)); got != c.want {
			t.Errorf("%+v after delivery %d: got %v, want %v", r, c.n, got, c.want)
		}
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	const d = 1000 * time.Millisecond
	for jitter, least := range map[Jitter]time.Duration{JitterFull: 0, JitterEqual: d / 2, JitterNone: d} {
		r := Retry{Policy: RetryFixed, Base: d, Jitter: jitter}
		rnd := testRandom(t)
		low, high, sum := d, time.Duration(0), time.Duration(0)
		const rounds = 10_000
		for range rounds {
			got := r.backoff(1, rnd)
			low, high, sum = min(low, got), max(high, got), sum+got
		}
		if low < least || high > d {
			t.Errorf("jitter %s of %v: got %v to %v, want %v to %v", jitter, d, low, high, least, d)
		}
		if width := d - least; low-least > width/100 || d-high > width/100 {
			t.Errorf("jitter %s of %v: got only %v to %v in %d rounds", jitter, d, low, high, rounds)
		}
		if mean, want := sum/rounds, (least+d)/2; (mean - want).Abs() > d/50 {
			t.Errorf("jitter %s of %v: mean %v, want about %v", jitter, d, mean, want)
		}
	}
}
