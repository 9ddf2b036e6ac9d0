package model

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings that carry messages, version 1. Both can be found by sequence in constant time: the table holds, for
// each message, where its content ends, counted from the end of the table.
//
//	sent   at i64 | first u64 | n u32 | flags u8 (1 once, 2 delays) | [once] | table | contents
//	       once   key 16 | fingerprint 16 | window i64 (ns) | note blob
//	       table  n × { size u32 | end u32 | [delay i64 (ms)] }
//	       content = payload
//	moved  at i64 | first u64 | n u32 | source u64 | table | contents
//	       table  n × { size u32 | end u32 | source seq u64 }
//	       content = queue u64 | seq u64 | sent at i64 | receives u32 | label text | reason text | payload
//
// Both start with time and first sequence, which are known only under the queue's lock: the rest is encoded before it
// is taken, and [Stamp] fills these two in.

const (
	hasOnce   = 1
	hasDelays = 2
	stampLen  = 16
)

// Stamp fills in the time and the first sequence of an encoded sent or moved event.
func Stamp(b []byte, at Millis, first store.Seq) {
	binary.LittleEndian.PutUint64(b, uint64(at))
	binary.LittleEndian.PutUint64(b[8:], uint64(first))
}

// EncodeSent appends a sent event without its stamp. delays count from now; nil means none.
func EncodeSent(b []byte, entries []store.Entry, delays []Millis, once *store.Once) []byte {
	w := writer{append(b, make([]byte, stampLen)...)}
	w.count(len(entries))
	var flags uint8
	if once != nil {
		flags |= hasOnce
	}
	if delays != nil {
		flags |= hasDelays
	}
	w.u8(flags)
	if once != nil {
		w.raw(once.Key[:])
		w.raw(once.Fingerprint[:])
		w.u64(uint64(once.Window))
		w.blob(once.Note)
	}
	end := 0
	for i, e := range entries {
		end += len(e.Payload)
		w.u32(e.Size)
		w.count(end)
		if delays != nil {
			w.u64(uint64(delays[i]))
		}
	}
	for _, e := range entries {
		w.raw(e.Payload)
	}
	return w.b
}

// SentLen is how many bytes EncodeSent appends at most.
func SentLen(entries []store.Entry, once *store.Once) int {
	n := stampLen + 5 + 16*len(entries)
	if once != nil {
		n += 44 + len(once.Note)
	}
	for _, e := range entries {
		n += len(e.Payload)
	}
	return n
}

// Batch is a decoded sent or moved event: its messages by place. It refers to the bytes it was decoded from.
type Batch struct {
	At     Millis
	First  store.Seq
	Source store.QueueID // of a moved event
	Once   *store.Once

	n        int
	moved    bool
	stride   int
	table    []byte
	contents []byte
}

// DecodeSent reads what EncodeSent and Stamp wrote.
func DecodeSent(b []byte) (Batch, error) {
	r := reader{b: b}
	batch := Batch{At: r.millis(), First: r.seq(), n: r.count(8), stride: 8}
	flags := r.u8()
	if flags&hasOnce != 0 {
		batch.Once = &store.Once{}
		copy(batch.Once.Key[:], r.take(16))
		copy(batch.Once.Fingerprint[:], r.take(16))
		batch.Once.Window = time.Duration(r.u64())
		batch.Once.Note = r.blob()
	}
	if flags&hasDelays != 0 {
		batch.stride = 16
	}
	return batch, batch.split(&r, "sent")
}

// DecodeMoved reads what EncodeMoved and Stamp wrote.
func DecodeMoved(b []byte) (Batch, error) {
	r := reader{b: b}
	batch := Batch{At: r.millis(), First: r.seq(), n: r.count(16), moved: true, stride: 16}
	batch.Source = store.QueueID(r.u64())
	return batch, batch.split(&r, "moved")
}

// split takes table and contents, and checks that the table fits the contents.
func (b *Batch) split(r *reader, what string) error {
	b.table = r.take(b.n * b.stride)
	b.contents = r.take(len(r.b))
	if err := r.done(what); err != nil {
		return err
	}
	end := 0
	for i := range b.n {
		e := b.end(i)
		if e < end {
			return fmt.Errorf("decode %s: message %d ends before it starts: %w", what, i, store.ErrCorrupt)
		}
		end = e
	}
	if end != len(b.contents) || b.n == 0 {
		return fmt.Errorf("decode %s: contents of %d bytes, expected %d: %w", what, len(b.contents), end, store.ErrCorrupt)
	}
	return nil
}

// Len is the number of messages.
func (b *Batch) Len() int { return b.n }

// Has says whether the message is in this batch.
func (b *Batch) Has(seq store.Seq) bool { return seq >= b.First && seq < b.First+store.Seq(b.n) }

// Bytes is the sum of the sizes.
func (b *Batch) Bytes() int64 {
	var sum int64
	for i := range b.n {
		sum += int64(b.size(i))
	}
	return sum
}

func (b *Batch) row(i int) []byte { return b.table[i*b.stride : (i+1)*b.stride] }

func (b *Batch) end(i int) int { return int(binary.LittleEndian.Uint32(b.row(i)[4:])) }

func (b *Batch) size(i int) uint32 { return binary.LittleEndian.Uint32(b.row(i)) }

// Entries is what the machine needs to know of the messages of a sent event.
func (b *Batch) Entries() []Meta {
	metas := make([]Meta, b.n)
	for i := range metas {
		metas[i].Size = b.size(i)
		if !b.moved && b.stride == 16 {
			metas[i].Due = b.At + Millis(binary.LittleEndian.Uint64(b.row(i)[8:]))
		}
	}
	return metas
}

// Sent is the event, for a sent batch.
func (b *Batch) Sent() Sent {
	return Sent{At: b.At, First: b.First, Entries: b.Entries(), Once: b.Once}
}

// MovedIn is the event on the target, for a moved batch.
func (b *Batch) MovedIn() MovedIn {
	ev := MovedIn{At: b.At, First: b.First, Sizes: make([]uint32, b.n)}
	for i := range ev.Sizes {
		ev.Sizes[i] = b.size(i)
	}
	return ev
}

// MovedOut is the event on the source, for a moved batch.
func (b *Batch) MovedOut() MovedOut {
	ev := MovedOut{At: b.At, Seqs: make([]store.Seq, b.n)}
	for i := range ev.Seqs {
		ev.Seqs[i] = store.Seq(binary.LittleEndian.Uint64(b.row(i)[8:]))
	}
	return ev
}

// Stored is a message as it is kept.
type Stored struct {
	Size    uint32
	SentAt  Millis // when it came to this queue
	Payload []byte
	Origin  *store.Origin
}

// Message returns one message of the batch; its payload refers to the batch's bytes.
func (b *Batch) Message(seq store.Seq) (Stored, error) {
	i, start := int(seq-b.First), 0
	if i > 0 {
		start = b.end(i - 1)
	}
	m := Stored{Size: b.size(i), SentAt: b.At, Payload: b.contents[start:b.end(i):b.end(i)]}
	if !b.moved {
		return m, nil
	}
	r := reader{b: m.Payload}
	m.Origin = r.origin(b.At)
	m.Payload = r.take(len(r.b))
	return m, r.done("content of a moved message")
}

// Moved is one message of a moved event, to be encoded.
type Moved struct {
	Seq  store.Seq // in the source
	Size uint32
	store.Origin
	Payload []byte
}

// EncodeMoved appends a moved event without its stamp.
func EncodeMoved(b []byte, source store.QueueID, list []Moved) []byte {
	w := writer{append(b, make([]byte, stampLen)...)}
	w.count(len(list))
	w.u64(uint64(source))
	end := 0
	for _, m := range list {
		end += originLen(m.Origin) + len(m.Payload)
		w.u32(m.Size)
		w.count(end)
		w.seq(m.Seq)
	}
	for _, m := range list {
		w.origin(m.Origin)
		w.raw(m.Payload)
	}
	return w.b
}

func originLen(o store.Origin) int { return 36 + len(o.Label) + len(o.Reason) }

func (w *writer) origin(o store.Origin) {
	w.u64(uint64(o.Queue))
	w.seq(o.Seq)
	w.u64(uint64(o.SentAt.UnixMilli()))
	w.u32(o.Receives)
	w.text(o.Label)
	w.text(o.Reason)
}

func (r *reader) origin(movedAt Millis) *store.Origin {
	return &store.Origin{
		Queue: store.QueueID(r.u64()), Seq: r.seq(), SentAt: Time(r.millis()), Receives: r.u32(),
		Label: r.text(), Reason: r.text(), MovedAt: Time(movedAt),
	}
}

// Follow is the origin of a message that is moved on: its identity and first send stay, its deliveries add up.
func Follow(from store.QueueID, c Corpse, m Stored, label string) store.Origin {
	o := store.Origin{Queue: from, Seq: c.Seq, SentAt: Time(m.SentAt)}
	if m.Origin != nil {
		o = *m.Origin
	}
	o.Receives += c.Entered
	o.Label, o.Reason = label, c.Reason
	return o
}

// Deliver is the delivery of a stored message.
func (m Stored) Deliver(seq store.Seq, entered uint32) store.Delivery {
	d := store.Delivery{
		Seq: seq, Payload: m.Payload, Size: m.Size, SentAt: Time(m.SentAt),
		Receives: entered, Entered: entered, Origin: m.Origin,
	}
	if m.Origin != nil {
		d.Receives += m.Origin.Receives
		d.SentAt = m.Origin.SentAt
	}
	return d
}

// Kept is one message that was copied out of its data file when the rest of that file was given up:
//
//	kept  at i64 | seq u64 | size u32 | moved u8 | content, as in sent or moved
type Kept struct {
	Seq store.Seq
	Stored
}

// Encode appends the message.
func (k Kept) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(k.SentAt)
	w.seq(k.Seq)
	w.u32(k.Size)
	w.flag(k.Origin != nil)
	if k.Origin != nil {
		w.origin(*k.Origin)
	}
	w.raw(k.Payload)
	return w.b
}

// DecodeKept reads what Encode wrote; the payload refers to b.
func DecodeKept(b []byte) (Kept, error) {
	r := reader{b: b}
	k := Kept{}
	k.SentAt, k.Seq = r.millis(), r.seq()
	k.Size = r.u32()
	if r.flag() {
		k.Origin = r.origin(k.SentAt)
	}
	k.Payload = r.take(len(r.b))
	return k, r.done("kept message")
}
