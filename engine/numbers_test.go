package engine

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// at is a moment of the test's life.
func at(d time.Duration) moment { return moment(d) }

func TestRatesAreOfTheLastMinute(t *testing.T) {
	t.Parallel()
	n := &numbers{begun: at(time.Minute)}
	n.span.Store(int64(n.begun / rateSpan))
	for s := range 300 { // two a second come in, one is acked
		now := n.begun + at(time.Duration(s)*time.Second)
		n.slot(now).in.Add(2)
		n.slot(now).acked.Add(1)
	}
	end := n.begun + at(300*time.Second)
	got := n.read(end, Counts{Ready: 100})
	if math.Abs(got.In-2) > 0.01 || math.Abs(got.Acked-1) > 0.01 || got.Out != 0 {
		t.Errorf("rates of 2 in and 1 acked a second: got %v in, %v out, %v acked", got.In, got.Out, got.Acked)
	}
	if got.Drain >= 0 {
		t.Errorf("drain of a queue that fills: got %v, want none", got.Drain)
	}
	// Half a minute later half of it is left, two minutes later nothing.
	if got := n.read(end+at(30*time.Second), Counts{}).In; math.Abs(got-1) > 0.1 {
		t.Errorf("rate half a minute after the last message: got %v, want about 1", got)
	}
	if got := n.read(end+at(2*time.Minute), Counts{}).In; got != 0 {
		t.Errorf("rate two minutes after the last message: got %v, want 0", got)
	}
	// What comes then does not bring back what was before.
	later := end + at(10*time.Minute)
	n.slot(later).in.Add(60)
	if got := n.read(later, Counts{}).In; math.Abs(got-1) > 0.1 {
		t.Errorf("rate of 60 messages in the last minute: got %v, want about 1", got)
	}
}

func TestRateOfAQueueThatHasJustBegun(t *testing.T) {
	t.Parallel()
	n := &numbers{begun: at(5 * time.Second)}
	n.span.Store(int64(n.begun / rateSpan))
	n.slot(n.begun).in.Add(10)
	if got := n.read(n.begun, Counts{}).In; got != 10 {
		t.Errorf("rate of 10 messages just now: got %v, want 10", got)
	}
	if got := n.read(n.begun+at(5*time.Second), Counts{}).In; got != 2 {
		t.Errorf("rate of 10 messages in 5 s: got %v, want 2", got)
	}
}

func TestDrainAndWorkers(t *testing.T) {
	t.Parallel()
	n := &numbers{}
	// Two workers take a message every two seconds and hold it for one and a half.
	for s := 0; s < 120; s += 2 {
		take, done := at(time.Duration(s)*time.Second), at(time.Duration(s)*time.Second+1500*time.Millisecond)
		n.slot(take).out.Add(2)
		n.slot(take).lease(take, +2)
		n.slot(done).acked.Add(2)
		n.slot(done).lease(done, -2)
	}
	got := n.read(at(2*time.Minute), Counts{Ready: 600})
	if d := got.Drain; d < 595*time.Second || d > 605*time.Second {
		t.Errorf("drain of 600 messages at 1 a second: got %v, want about 10 min", d)
	}
	// One that is always busy does one in 1.5 s, so 600 messages in 5 min take 3 of them.
	if got.Workers != 3 {
		t.Errorf("workers for 600 messages in 5 min, each taking 1.5 s: got %d, want 3", got.Workers)
	}
	if got := n.read(at(2*time.Minute), Counts{}); got.Drain != 0 || got.Workers != 0 {
		t.Errorf("nothing to do: got drain %v and %d workers, want none", got.Drain, got.Workers)
	}
	if got := (*numbers)(nil).read(0, Counts{Ready: 1}); got.Drain >= 0 || got.Workers >= 0 || got.Waits != nil {
		t.Errorf("nothing known: got drain %v, %d workers and waits %v, want them unknown", got.Drain, got.Workers, got.Waits)
	}
}

// TestLeasesThatRunOut has more leases begin than end, which must not look like workers.
func TestLeasesThatRunOut(t *testing.T) {
	t.Parallel()
	n := &numbers{}
	n.slot(0).out.Add(10)
	n.slot(0).lease(0, +10)
	n.slot(0).acked.Add(1)
	n.slot(0).lease(0, -1)
	if got := n.read(at(30*time.Second), Counts{Ready: 9}); got.Workers >= 0 {
		t.Errorf("workers: got %d, want unknown", got.Workers)
	}
}

func TestCountsFromManyGoroutinesAreComplete(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 20_000
	q := &queue{}
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range each {
				now := at(time.Duration(i) * 2 * time.Millisecond) // 40 s
				s := q.numbersOf(now).slot(now)
				s.in.Add(1)
				s.lease(now, +1)
			}
		})
	}
	done.Wait()
	n := q.numbers.Load()
	sum := uint32(0)
	for i := range n.slots {
		sum += n.slots[i].in.Load()
	}
	if sum != workers*each {
		t.Errorf("counted %d of %d messages", sum, workers*each)
	}
}

func TestWaitBuckets(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]time.Duration{
		0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 6: 6, 11: 8, 12: 12, 1023: 768, 1024: 1024,
	} {
		if got := waitStart(waitBucket(ms)); got != want*time.Millisecond {
			t.Errorf("%d ms: in the bucket from %v, want %v", ms, got, want*time.Millisecond)
		}
	}
	for b := range waitBuckets - 1 {
		if next := waitStart(b + 1); next < waitStart(b) {
			t.Errorf("bucket %d from %v, the next from %v", b, waitStart(b), next)
		}
	}
	if got := waitBucket(math.MaxInt64); got != waitBuckets-1 {
		t.Errorf("the longest wait: in bucket %d, want the last", got)
	}
}

func TestWaitQuantiles(t *testing.T) {
	t.Parallel()
	var w waits
	if got := w.read(); got != nil {
		t.Errorf("no waits: got %v, want nil", got)
	}
	sent := time.Unix(1000, 0)
	var batch []store.Delivery
	for ms := range 1000 { // a tenth of them was delivered before
		d := store.Delivery{SentAt: sent.Add(time.Duration(1000-ms) * time.Millisecond), AvailableAt: sent, Entered: 1}
		batch = append(batch, d)
		if ms%10 == 0 {
			d.Entered = 2
			d.SentAt = sent.Add(-time.Hour)
			batch = append(batch, d)
		}
	}
	w.add(batch, sent.Add(time.Second))
	got := w.read()
	if got.Count != 1000 || got.Sum != 999*500*time.Millisecond {
		t.Errorf("waits of 0 to 999 ms: got %d with sum %v, want 1000 with sum %v", got.Count, got.Sum, 999*500*time.Millisecond)
	}
	for part, want := range map[float64]time.Duration{0.5: 500, 0.9: 900, 0.99: 990} {
		if q := got.Quantile(part); math.Abs(float64(q)/float64(want*time.Millisecond)-1) > 0.25 {
			t.Errorf("quantile %v of 0 to 999 ms: got %v, want about %v", part, q, want*time.Millisecond)
		}
	}
	if n := got.UpTo(256 * time.Millisecond); n != 256 {
		t.Errorf("waits below 256 ms: got %d, want 256", n)
	}
}
