package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// TestAppendsThatFailHalfWay makes appends fail in each way, and then again: each record is there once, and none that was not
// acknowledged before.
func TestAppendsThatFailHalfWay(t *testing.T) {
	t.Parallel()
	h := newHalves(t)
	ctx := t.Context()
	l := store.LogID(0)
	for _, keyed := range []bool{false, true} {
		for _, command := range []string{"hset", "hdel", "zadd", "xadd", "xtrim", "spublish", "s", "f", "1s", "1f", "o", "e"} {
			l++
			what := fmt.Sprintf("append (keyed: %t) without %s", keyed, command)
			if err := h.ConfigureLog(ctx, l, store.LogSettings{Revision: 1, Partitions: 2}); err != nil {
				t.Fatal(err)
			}
			record := func(body string) store.LogRecord { return store.LogRecord{Payload: []byte(body), Size: 1} }
			p := store.AppendParams{Log: l, Revision: 1, Parts: []store.AppendPart{
				{Partition: 0, Records: []store.LogRecord{record("a")}}, {Partition: 1, Records: []store.LogRecord{record("a"), record("a")}},
			}}
			if _, err := h.Append(ctx, p); err != nil {
				t.Fatal(err)
			}
			p.Parts[0].Records, p.Parts[1].Records = []store.LogRecord{record("b"), record("b")}, []store.LogRecord{record("b")}
			if keyed {
				p.Once = &store.Once{Key: [16]byte{1}, Fingerprint: [16]byte{1}, Window: time.Hour}
			}
			_, failed := appendInTrouble(h, l, command, p)
			if failed != nil && !errors.Is(failed, store.ErrUnknown) && !errors.Is(failed, store.ErrUnavailable) {
				t.Errorf("%s = %v, want ErrUnknown", what, failed)
			}
			before, err := h.Bounds(ctx, l)
			if err != nil {
				t.Fatal(err)
			}
			if failed != nil && command != "spublish" && (before[0].Next != 1 || before[1].Next != 2) {
				t.Errorf("%s = %v, but the partitions end at %d and %d, want 1 and 2", what, failed, before[0].Next, before[1].Next)
			}
			res, err := h.Append(ctx, p)
			if err != nil {
				t.Errorf("%s: again = %v, want nil", what, err)
				continue
			}
			for i, want := range [][]string{{"a", "b", "b"}, {"a", "a", "b"}} {
				got, err := h.Fetch(ctx, store.FetchParams{Log: l, Partition: uint32(i), Max: 10, MaxBytes: 100})
				var bodies []string
				for _, r := range got.Records {
					bodies = append(bodies, string(r.Payload))
				}
				again := want
				if failed == nil && !keyed || command == "spublish" && !keyed {
					again = append(again, want[len(want)-len(p.Parts[i].Records):]...) // it was done twice
				}
				if err != nil || strings.Join(bodies, "") != strings.Join(again, "") {
					t.Errorf("%s, and again: partition %d has %q (%v), want %q; places %+v", what, i, bodies, err, again, res.Parts)
				}
			}
		}
	}
}

// appendInTrouble appends while a command is denied, or a key of the log is a string.
func appendInTrouble(h *halves, l store.LogID, what string, p store.AppendParams) (store.AppendResult, error) {
	h.Helper()
	if len(what) > 2 {
		h.acl("-" + what)
		defer h.acl("+" + what)
		return h.Append(h.Context(), p)
	}
	name := what
	if name == "s" || name == "f" {
		name = "0" + name
	}
	key := h.logKeys(l, []string{name})[0]
	there := h.admin.Rename(h.Context(), key, "aside").Err() == nil
	h.admin.Set(h.Context(), key, "x", 0)
	defer func() {
		h.admin.Del(h.Context(), key)
		if there {
			h.admin.Rename(h.Context(), "aside", key)
		}
	}()
	return h.Append(h.Context(), p)
}
