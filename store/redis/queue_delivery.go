package redis

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/dabba-mq/dabba/store"
)

// shownValues is how many values a script shows of a message.
const shownValues = 5

// delivery reads what a script shows of a message.
func (r *reply) delivery() store.Delivery {
	d := store.Delivery{Seq: store.Seq(r.int()), Entered: uint32(r.int()), AvailableAt: tickTime(r.int()), Payload: bytesOf(r.text())}
	d.Receives = d.Entered
	stored := r.text()
	f := unpackList(stored, 7)
	d.Size = uint32(f.int())
	sent := instantOf(f.int())
	d.SentAt = sent
	d.Group, d.Priority = f.text(), uint8(f.int())
	d.ExpiresAt = momentOf(f.int())
	from, origin := f.text(), f.text()
	if !f.ended() {
		r.fail(fmt.Sprintf("facts of message %d", d.Seq), stored)
		return d
	}
	if from == "" {
		return d
	}
	o, err := decodeOrigin(from, origin)
	if err != nil {
		r.fail("where message "+strconv.FormatUint(uint64(d.Seq), 10)+" came from", origin)
		return d
	}
	o.MovedAt = sent
	d.Origin, d.SentAt = &o, o.SentAt
	d.Receives += o.Receives
	return d
}

// bytesOf is a text of a reply as bytes that belong to whoever gets them: nobody else has the text. To copy it would take as
// much memory again.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// encodeFrom says where a message was first sent, encodeOrigin the rest of its past:
//
//	sent at i64 (ms) | receives u32 | length of the label u32 | label | reason
func encodeFrom(o store.Origin) string { return fmt.Sprintf("%d:%d", o.Queue, o.Seq) }

func encodeOrigin(o store.Origin) []byte {
	b := make([]byte, 0, 16+len(o.Label)+len(o.Reason))
	b = binary.LittleEndian.AppendUint64(b, uint64(o.SentAt.UnixMilli()))
	b = binary.LittleEndian.AppendUint32(b, o.Receives)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(o.Label)))
	b = append(b, o.Label...)
	return append(b, o.Reason...)
}

func decodeOrigin(from, rest string) (o store.Origin, err error) {
	queue, seq, found := strings.Cut(from, ":")
	q, err := strconv.ParseUint(queue, 10, 64)
	if err != nil || !found {
		return o, fmt.Errorf("origin %q: %w", from, store.ErrCorrupt)
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return o, fmt.Errorf("origin %q: %w", from, store.ErrCorrupt)
	}
	b := []byte(rest)
	if len(b) < 16 || uint64(len(b)-16) < uint64(binary.LittleEndian.Uint32(b[12:])) {
		return o, fmt.Errorf("origin of %d bytes: %w", len(b), store.ErrCorrupt)
	}
	o.Queue, o.Seq = store.QueueID(q), store.Seq(n)
	o.SentAt = time.UnixMilli(int64(binary.LittleEndian.Uint64(b))).UTC()
	o.Receives = binary.LittleEndian.Uint32(b[8:])
	label := 16 + binary.LittleEndian.Uint32(b[12:])
	o.Label, o.Reason = string(b[16:label]), string(b[label:])
	return o, nil
}
