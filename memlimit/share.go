package memlimit

import (
	"context"
	"sync/atomic"
)

// Share is what one request takes. Its methods are safe for concurrent use, but for Release, which is called when nobody
// uses it any more; the share may be used again afterwards. A nil share is that of nobody: it grows without being counted.
type Share struct {
	budget *Budget
	size   atomic.Int64
}

// Share is a new share without a byte.
func (b *Budget) Share() *Share { return &Share{budget: b} }

// Grow takes n bytes more, or returns an [*Error] and takes none.
func (s *Share) Grow(n int64) error {
	if s == nil || n <= 0 {
		return nil
	}
	size := s.size.Add(n)
	more := counted(size) - counted(size-n)
	if more == 0 {
		return nil
	}
	if err := s.budget.take(more, size); err != nil {
		s.size.Add(-n)
		return err
	}
	return nil
}

// Force takes n bytes more, whether they fit or not: for what is in memory already. Others are refused meanwhile.
func (s *Share) Force(n int64) {
	if s == nil || n <= 0 {
		return
	}
	size := s.size.Add(n)
	s.budget.used.Add(counted(size) - counted(size-n))
}

// Shrink gives n bytes back.
func (s *Share) Shrink(n int64) {
	if s == nil || n <= 0 {
		return
	}
	size := s.size.Add(-n)
	if less := counted(size+n) - counted(size); less != 0 {
		s.budget.Give(less)
	}
}

// Size is how much the share has, in bytes.
func (s *Share) Size() int64 {
	if s == nil {
		return 0
	}
	return s.size.Load()
}

// Release gives everything back.
func (s *Share) Release() { s.Shrink(s.Size()) }

// counted is the part of a share that is taken from the budget.
func counted(size int64) int64 { return max(0, size-covered) }

// Full is that of the budget which a context charges.
func Full(ctx context.Context) bool {
	s := From(ctx)
	return s != nil && s.budget.Full()
}

type shareKey struct{}

// With is a context in which s is charged.
func With(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// From is the share that a context charges; nil for none.
func From(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// Charge grows the share of a context by n bytes: see [Share.Grow]. Without a share it does nothing.
func Charge(ctx context.Context, n int64) error {
	if n <= 0 {
		return nil
	}
	return From(ctx).Grow(n)
}
