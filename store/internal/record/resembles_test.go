package record_test

import (
	"testing"

	"github.com/dabba-mq/dabba/store/internal/record"
)

// A header with any one bit flipped is told from noise and from the header of an earlier use of the file.
func TestResembles(t *testing.T) {
	const salt, file, offset = record.Salt(0x0123456789abcdef), 7, 3 * record.BlockSize
	head := make([]byte, record.BatchHeaderSize)
	record.PutBatchHeader(head, record.BatchHeader{First: 5, Count: 1, Length: 100, Synced: 4}, salt, file, offset)
	for bit := range 8 * len(head) {
		head[bit/8] ^= 1 << (bit % 8)
		if !record.Resembles(head, salt, file, offset) {
			t.Errorf("Resembles(header with bit %d flipped) = false, want true", bit)
		}
		head[bit/8] ^= 1 << (bit % 8)
	}
	for name, resembles := range map[string]bool{
		"an earlier use": record.Resembles(head, salt+1, file+1, offset),
		"another place":  record.Resembles(head, salt+1, file, offset+record.BlockSize),
		"zeros":          record.Resembles(make([]byte, len(head)), salt, file, offset),
	} {
		if resembles {
			t.Errorf("Resembles(header of %s) = true, want false", name)
		}
	}
}
