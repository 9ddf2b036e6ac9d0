package engine

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Waits are counted in buckets of milliseconds: one for less than 1, then two for each doubling, up to a little less than
// four days; the last bucket has all that is longer.
//
//	bucket   0     1     2     3     4     5     6     7     8
//	from     0     1     1.5   2     3     4     6     8     12 …
const waitBuckets = 1 + 2*28

// waits count how long messages waited.
type waits struct {
	buckets [waitBuckets]atomic.Uint64
	// milliseconds is the sum.
	milliseconds atomic.Int64
}

// add counts the messages that are delivered from this queue for the first time: from the moment each became available
// to the given one.
func (w *waits) add(messages []store.Delivery, at time.Time) {
	sum, bucket, run := int64(0), 0, uint64(0)
	for i := range messages {
		m := &messages[i]
		if m.Entered != 1 {
			continue
		}
		available := m.AvailableAt
		if m.SentAt.After(available) {
			available = m.SentAt // which is the same, but not rounded to a tick
		}
		ms := max(0, at.Sub(available).Milliseconds())
		sum += ms
		if b := waitBucket(ms); b != bucket {
			w.count(bucket, run)
			bucket, run = b, 0
		}
		run++
	}
	w.count(bucket, run)
	if sum > 0 {
		w.milliseconds.Add(sum)
	}
}

func (w *waits) count(bucket int, n uint64) {
	if n > 0 {
		w.buckets[bucket].Add(n)
	}
}

// waitBucket is the bucket of so many milliseconds.
func waitBucket(ms int64) int {
	if ms < 1 {
		return 0
	}
	double := bits.Len64(uint64(ms)) - 1
	half := 0
	if double > 0 {
		half = int(ms >> (double - 1) & 1)
	}
	return min(1+2*double+half, waitBuckets-1)
}

// waitStart is where a bucket begins.
func waitStart(bucket int) time.Duration {
	if bucket == 0 {
		return 0
	}
	double, half := (bucket-1)/2, (bucket-1)%2
	return time.Millisecond<<double + time.Duration(half)*(time.Millisecond<<double)/2
}

// Waits tell how long messages waited in one queue: each from when it became available there to its first delivery.
// The values are exact to a quarter.
type Waits struct {
	// Count of the messages.
	Count uint64
	// Sum of their waits.
	Sum time.Duration

	buckets [waitBuckets]uint64
}

// read is nil if nothing was counted.
func (w *waits) read() *Waits {
	out := &Waits{Sum: time.Duration(w.milliseconds.Load()) * time.Millisecond}
	for i := range w.buckets {
		out.buckets[i] = w.buckets[i].Load()
		out.Count += out.buckets[i]
	}
	if out.Count == 0 {
		return nil
	}
	return out
}

// Quantile is the wait that a part of the messages, from 0 to 1, did not exceed.
func (w *Waits) Quantile(part float64) time.Duration {
	rank := part * float64(w.Count)
	below := 0.0
	for i, n := range w.buckets {
		if n == 0 || below+float64(n) < rank {
			below += float64(n)
			continue
		}
		if i == waitBuckets-1 {
			return waitStart(i)
		}
		start := waitStart(i)
		return start + time.Duration((rank-below)/float64(n)*float64(waitStart(i+1)-start))
	}
	return waitStart(waitBuckets - 1)
}

// UpTo counts the messages that waited less than d; d is a power of two of milliseconds.
func (w *Waits) UpTo(d time.Duration) uint64 {
	var n uint64
	for i := 0; i < waitBuckets && waitStart(i) < d; i++ {
		n += w.buckets[i]
	}
	return n
}
