package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

// FuzzOrigin decodes anything as the past of a message. What can be decoded must encode to the same.
func FuzzOrigin(f *testing.F) {
	o := store.Origin{Queue: 1 << 63, Seq: 7, SentAt: time.UnixMilli(5).UTC(), Receives: 3, Label: "from", Reason: "because"}
	f.Add(encodeFrom(o), encodeOrigin(o))
	f.Add("1:2", []byte{})
	f.Add("1", encodeOrigin(store.Origin{}))
	f.Add(":", make([]byte, 16))
	f.Add("0:0", append(make([]byte, 12), 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, from string, rest []byte) {
		o, err := decodeOrigin(from, string(rest))
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("decodeOrigin(%q, %x) = %v, want %v", from, rest, err, store.ErrCorrupt)
			}
			return
		}
		again, err := decodeOrigin(encodeFrom(o), string(encodeOrigin(o)))
		if diff := cmp.Diff(o, again); diff != "" || err != nil {
			t.Fatalf("decodeOrigin(%q, %x), encoded and decoded again: %v (-first +again):\n%s", from, rest, err, diff)
		}
	})
}

func TestOriginOfAMessage(t *testing.T) {
	t.Parallel()
	want := store.Origin{Queue: 1 << 63, Seq: 7, SentAt: time.UnixMilli(5).UTC(), Receives: 3, Label: "from", Reason: "because"}
	got, err := decodeOrigin(encodeFrom(want), string(encodeOrigin(want)))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("decodeOrigin of what was encoded: %v (-want +got):\n%s", err, diff)
	}
}

// TestTimesForScripts: what scripts are told is never earlier than what was said.
func TestTimesForScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   time.Time
		want int64
	}{
		{time.Time{}, 0},
		{time.UnixMilli(1000), 1000},
		{time.UnixMilli(1000).Add(1), 1001},
		{time.UnixMilli(-5).Add(1), -4},
	} {
		if got := wallMillis(c.at); got != c.want {
			t.Errorf("wallMillis(%v) = %d, want %d", c.at, got, c.want)
		}
	}
	if got := exact(1<<63 + 1); got != 1<<53 {
		t.Errorf("exact of a sequence that no message has = %d, want %d", got, uint64(1)<<53)
	}
}
