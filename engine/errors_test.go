package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func TestStoreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		code    Code
		outcome Outcome
		retry   bool
	}{
		{store.ErrGone, CodeNotFound, NotApplied, false},
		{store.ErrStaleConfig, CodeUnavailable, NotApplied, true},
		{store.ErrConflict, CodeUnavailable, NotApplied, true},
		{store.ErrKeyReused, CodeIdempotencyKeyReused, NotApplied, false},
		{store.ErrTooLarge, CodeTooLarge, NotApplied, false},
		{store.ErrFull, CodeStorageFull, NotApplied, true},
		{store.ErrUnknown, CodeUnavailable, Unknown, true},
		{store.ErrClosed, CodeUnavailable, NotApplied, true},
		{store.ErrCorrupt, CodeUnavailable, NotApplied, false},
		{context.Canceled, CodeUnavailable, NotApplied, true},
		{context.DeadlineExceeded, CodeUnavailable, NotApplied, true},
		{errors.New("never heard of"), CodeUnavailable, Unknown, true},
	} {
		wrapped := fmt.Errorf("send to secret-place: %w", c.err)
		got := fromStore(wrapped)
		if got.Code != c.code || got.Outcome != c.outcome || (got.RetryAfter > 0) != c.retry {
			t.Errorf("fromStore(%v): got %s, %s, retry after %v, want %s, %s, retry %t",
				c.err, got.Code, got.Outcome, got.RetryAfter, c.code, c.outcome, c.retry)
		}
		if !errors.Is(got, c.err) {
			t.Errorf("fromStore(%v) does not wrap it", c.err)
		}
		if got.Detail == "" || strings.Contains(got.Detail, "secret-place") {
			t.Errorf("fromStore(%v): detail is %q, want words for a client", c.err, got.Detail)
		}
		if log := got.Error(); !strings.Contains(log, "secret-place") || !strings.Contains(log, string(c.code)) {
			t.Errorf("fromStore(%v): for the log it is %q, want all there is", c.err, log)
		}
	}
}

func TestErrorOf(t *testing.T) {
	t.Parallel()
	own := invalid("max", "Give less.")
	if got := ErrorOf(fmt.Errorf("receive: %w", own)); got != own {
		t.Errorf("ErrorOf of a wrapped Error: got %v, want the Error itself", got)
	}
	if got := ErrorOf(errors.New("other")); got.Code != CodeUnavailable || got.Outcome != Unknown {
		t.Errorf("ErrorOf of another error: got %v, want unavailable with an unknown outcome", got)
	}
	if got, want := own.Error(), "invalid_request max: Give less."; got != want {
		t.Errorf("Error(): got %q, want %q", got, want)
	}
}
