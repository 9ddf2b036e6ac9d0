package memlimit

import (
	"fmt"
	"sync/atomic"
)

const (
	// Small is the size up to which a share may use the part of the budget that is kept from larger ones: however much
	// others move, whoever sends and receives small messages is served.
	Small = 64 << 10
	// covered is what a request may take without being counted. Its connection counts for it.
	covered = 8 << 10
	// kept is the part of the budget, as a divisor, that only small shares may use.
	kept = 8
	// lowest is the part of the budget, as a divisor, that is left to requests however much else is alive.
	lowest = 16
	// fullAt is the part of the budget, in percent, that may be alive besides the shares before nothing more is to be kept.
	fullAt = 75
)

// Usual is the limit of a process of which nobody has limited the memory, on a machine that has plenty.
const Usual = 512 << 20

// Budget is the memory that all requests may take together. It is safe for concurrent use.
type Budget struct {
	// most is the limit when nothing else is alive. It does not change.
	most int64
	// limit is what is left of it beside what else is alive.
	limit   atomic.Int64
	used    atomic.Int64
	refused atomic.Int64
	// full says that too much else is alive for more to be kept.
	full atomic.Bool

	// Measure, unless nil, is called when something found no room although less than everything is left to requests: what else
	// is alive may be less by now. It must not block, and is set before the budget is used.
	Measure func()
}

// New allows limit bytes at a time.
func New(limit int64) *Budget {
	b := &Budget{most: limit}
	b.limit.Store(limit)
	return b
}

// Limit is how much may be taken now, in bytes.
func (b *Budget) Limit() int64 { return b.limit.Load() }

// Used is how much is taken, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused counts what did not fit since the start.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Take reserves n bytes, or returns an [*Error]. What was taken must be given back.
func (b *Budget) Take(n int64) error { return b.take(n, n) }

// Force takes n bytes whether they fit or not: for what is in memory already. Others are refused meanwhile.
func (b *Budget) Force(n int64) { b.used.Add(n) }

// Give returns n bytes.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// Possible returns an [*Error] if a share of so many bytes would not fit even if it were the only one.
func (b *Budget) Possible(size int64) error {
	if size <= b.most-b.most/kept {
		return nil
	}
	b.refused.Add(1)
	return &Error{Need: size, Limit: b.most, Never: true}
}

// Look returns an [*Error] if a share of so many bytes would not fit now, and reserves nothing. Whoever is going to take much
// step by step does not begin in vain then, and leaves the room to those that have begun.
func (b *Budget) Look(size int64) error {
	err := b.take(size, size)
	if err == nil {
		b.Give(size)
	}
	return err
}

// take reserves n bytes more for someone who then has size bytes.
func (b *Budget) take(n, size int64) error {
	limit := b.limit.Load()
	if size > Small {
		limit -= limit / kept
	}
	if b.used.Add(n) <= limit {
		return nil
	}
	b.used.Add(-n)
	b.refused.Add(1)
	if b.Measure != nil && b.limit.Load() < b.most {
		b.Measure()
	}
	return &Error{Need: size, Limit: limit, Never: size > b.most-b.most/kept}
}

// Collected adjusts the limit after a garbage collection that found so many bytes alive in the process. What is alive
// beyond the shares belongs to queues, connections and whatever was estimated too low; requests get the rest.
func (b *Budget) Collected(alive int64) {
	others := max(0, alive-b.used.Load())
	b.limit.Store(max(b.most-others, b.most/lowest))
	b.full.Store(others > b.most/100*fullAt)
}

// Full says that queues keep so much in memory that they should get nothing more, as far as the last collection has shown.
func (b *Budget) Full() bool {
	if !b.full.Load() {
		return false
	}
	b.refused.Add(1)
	if b.Measure != nil {
		b.Measure()
	}
	return true
}

// Error says that memory is short. Nothing was reserved.
type Error struct {
	// Need is what the request would have taken in all, Limit what all may take together, in bytes.
	Need, Limit int64
	// Never says that the request would not fit if it were the only one.
	Never bool
}

func (e *Error) Error() string {
	if e.Never {
		return fmt.Sprintf("it needs about %d MiB of memory, and requests may take %d MiB here: give the server more "+
			"(the memory limit of its container, or GOMEMLIMIT)", mebibytes(e.Need), mebibytes(e.Limit))
	}
	return fmt.Sprintf("the server is short of memory: requests may take %d MiB here; repeat the request shortly", mebibytes(e.Limit))
}

func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }
