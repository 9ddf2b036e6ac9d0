package middleware

import "sync/atomic"

// Budget bounds how many bytes of request bodies are in memory at a time. It never waits: a server that is short of
// memory says so at once.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget allows limit bytes at a time.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Take reserves n bytes and says whether there was room. What was taken must be given back.
func (b *Budget) Take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

// Give returns n bytes.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// Used is what is taken now, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }
