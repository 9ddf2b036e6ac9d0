package journal

import (
	"testing"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// TestASealDoesNotMoveTheMark looks between the two halves of rolling over: a manifest that named the place behind the
// seal could not be opened.
func TestASealDoesNotMoveTheMark(t *testing.T) {
	j, err := Open(Options{FS: disk.NewSim(), Dir: "data", FileSize: MinFileSize}, Start{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := make([]byte, record.HeaderSize+10)
	record.Seal(rec, 1, 1, 1)
	lsn, err := j.Append(rec, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(lsn); err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(); err != nil { // the committer is idle now
		t.Fatal(err)
	}
	before := j.Mark()
	if err := j.seal(2); err != nil {
		t.Fatal(err)
	}
	if after := j.Mark(); after.File != before.File || after.Offset != before.Offset {
		t.Errorf("the mark moved from %+v to %+v with the seal", before, after)
	}
}
