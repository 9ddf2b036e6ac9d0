package memlimit

import (
	"errors"
	"sync"
	"testing"
)

func TestABudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	b := New(10)
	if b.Take(6) != nil || b.Take(5) == nil || b.Take(4) != nil || b.Take(1) == nil {
		t.Errorf("a budget of 10 gave something else than 6 and 4; used is %d", b.Used())
	}
	b.Give(6)
	if b.Take(6) != nil || b.Used() != 10 || b.Refused() != 2 {
		t.Errorf("used = %d after giving back, want 10; refused %d, want 2", b.Used(), b.Refused())
	}
}

// Whatever large shares do, small ones find room.
func TestLargeSharesLeaveRoomForSmallOnes(t *testing.T) {
	t.Parallel()
	b := New(16 << 20)
	large := b.Share()
	if err := large.Grow(14 << 20); err != nil {
		t.Fatalf("a large share of 14 of 16 MiB: %v", err)
	}
	if err := large.Grow(1 << 20); err == nil {
		t.Error("a large share got what is kept for small ones")
	}
	var small []*Share
	for range 30 {
		s := b.Share()
		if err := s.Grow(Small); err != nil {
			t.Fatalf("small share %d: %v", len(small), err)
		}
		small = append(small, s)
	}
	large.Release()
	for _, s := range small {
		s.Release()
	}
	if b.Used() != 0 {
		t.Errorf("used = %d after all was released, want 0", b.Used())
	}
}

func TestWhatNeverFitsIsKnown(t *testing.T) {
	t.Parallel()
	b := New(16 << 20)
	var short *Error
	if err := b.Share().Grow(15 << 20); !errors.As(err, &short) || !short.Never {
		t.Errorf("15 of 16 MiB: %v, want that it never fits", err)
	}
	if err := b.Possible(15 << 20); !errors.As(err, &short) || !short.Never {
		t.Errorf("15 of 16 MiB is possible: %v", err)
	}
	s := b.Share()
	if err := s.Grow(13 << 20); err != nil {
		t.Fatal(err)
	}
	if err := b.Share().Grow(2 << 20); !errors.As(err, &short) || short.Never {
		t.Errorf("2 MiB beside 13: %v, want that it may fit later", err)
	}
}

// What the collector finds alive beyond the shares is not there for requests.
func TestTheLimitFollowsWhatIsAlive(t *testing.T) {
	t.Parallel()
	b := New(100 << 20)
	b.Force(10 << 20)
	for _, tt := range []struct{ alive, limit int64 }{
		{50 << 20, 60 << 20},
		{5 << 20, 100 << 20},
		{1000 << 20, 100 << 20 / lowest},
	} {
		if b.Collected(tt.alive); b.Limit() != tt.limit {
			t.Errorf("with %d bytes alive the limit is %d, want %d", tt.alive, b.Limit(), tt.limit)
		}
	}
	if !b.Full() {
		t.Error("a budget of which nearly all is alive elsewhere is not full")
	}
	if b.Collected(80 << 20); b.Full() {
		t.Error("a budget of which 70 of 100 MiB are alive elsewhere is full")
	}
	measured := 0
	b.Measure = func() { measured++ }
	if b.Share().Grow(50<<20) == nil || measured != 1 {
		t.Errorf("a refusal below the whole budget measured %d times, want once", measured)
	}
}

func TestSharesOfManyAddUp(t *testing.T) {
	t.Parallel()
	b := New(1 << 30)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s := b.Share()
			for i := range int64(1000) {
				_ = s.Grow(i * int64(n))
				s.Shrink(i * int64(n) / 2)
				s.Force(i)
			}
			s.Release()
			if s.Size() != 0 {
				t.Errorf("a share has %d bytes after its release", s.Size())
			}
		})
	}
	all.Wait()
	if b.Used() != 0 {
		t.Errorf("used = %d after all was released, want 0", b.Used())
	}
}

func TestNobodysShareIsNotCounted(t *testing.T) {
	t.Parallel()
	if err := Charge(t.Context(), 1<<40); err != nil {
		t.Errorf("a charge without a share: %v", err)
	}
	b := New(1 << 20)
	ctx := With(t.Context(), b.Share())
	if err := Charge(ctx, 1<<30); err == nil {
		t.Error("a charge of a share took more than the budget has")
	}
	if err := Charge(ctx, covered); err != nil || b.Used() != 0 {
		t.Errorf("what a connection covers: %v, used %d", err, b.Used())
	}
	if err := Charge(ctx, 1000); err != nil || b.Used() != 1000 {
		t.Errorf("1000 bytes more: %v, used %d", err, b.Used())
	}
}

func BenchmarkSmallShare(b *testing.B) {
	budget := New(Usual)
	b.RunParallel(func(pb *testing.PB) {
		s := budget.Share()
		for pb.Next() {
			_ = s.Grow(1 << 10)
			s.Release()
		}
	})
}
