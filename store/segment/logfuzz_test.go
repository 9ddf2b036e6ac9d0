package segment

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// logSection is a section of a checkpoint about a log with two partitions.
func logSection(tb testing.TB) []byte {
	tb.Helper()
	l := newLog(9, model.NewLog(9))
	l.state.Configure(1000, store.LogSettings{Revision: 1, Partitions: 2, RetentionAge: 500})
	l.grow()
	_, _, _, err := l.state.Append(1000, store.AppendParams{
		Revision: 1, Once: &store.Once{Key: [16]byte{1}, Window: 1 << 40, Note: []byte("note")},
		Parts: []store.AppendPart{{Partition: 1, Records: []store.LogRecord{{Size: 10}, {Size: 20}}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	l.parts[1].where.extents = []*extent{{file: 1, first: 1, last: 2, live: 2, bytes: 30, points: []point{{0, 4160}}}}
	l.parts[1].where.placed = 2
	section, _ := l.freeze(nil, make(map[uint32]bool))
	return section
}

// TestLogSectionComesBack decodes what was encoded.
func TestLogSectionComesBack(t *testing.T) {
	want := logSection(t)
	l, err := decodeLog(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := l.freeze(nil, make(map[uint32]bool)); string(got) != string(want) {
		t.Errorf("section encodes to %x, want %x", got, want)
	}
	for n := range want {
		if _, err := decodeLog(want[:n]); err == nil {
			t.Errorf("the first %d bytes of %d were accepted", n, len(want))
		}
	}
}
