package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings that carry messages, version 1.
//
//	sent   head | contents
//	moved  head | contents
//	head   at i64 | first u64 | n u32 | head length u32 | CRC32C u32 | flags u8 (1 once, 2 delays, 4 moved) |
//	       [once] | [source queue u64, if moved] | table
//	once   key 16 | fingerprint 16 | window i64 (ns) | note blob
//	table  n × { size u32 | end u32 | CRC32C of the content u32 | [delay i64 (ms)] | [source seq u64, if moved] }
//	content, sent   payload
//	content, moved  queue u64 | seq u64 | sent at i64 | receives u32 | label text | reason text | payload
//
// The table says where, counted from the end of the head, each content ends. The checksum of the head covers the queue's
// generation and the head without the checksum. So one message out of a large record can be read, and checked, without
// reading all of it.
//
// Time and first sequence are known only under the queue's lock: the rest is encoded before it is taken, and [Stamp] adds
// these two and the checksum.

const (
	hasOnce   = 1
	hasDelays = 2
	isMoved   = 4

	headStart = 29 // up to the flags
	sumAt     = 24
	rowLen    = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stamp fills in the time and the first sequence of an encoded sent or moved event, and the checksum of its head.
func Stamp(b []byte, q store.QueueID, at Millis, first store.Seq) {
	binary.LittleEndian.PutUint64(b, uint64(at))
	binary.LittleEndian.PutUint64(b[8:], uint64(first))
	binary.LittleEndian.PutUint32(b[sumAt:], headSum(b[:binary.LittleEndian.Uint32(b[20:])], q))
}

func headSum(head []byte, q store.QueueID) uint32 {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], uint64(q))
	sum := crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, head[:sumAt])
	return crc32.Update(sum, castagnoli, head[sumAt+4:])
}

// head begins an encoded event; finish ends its head.
func beginHead(b []byte, n int, flags uint8) (w writer, start int) {
	start = len(b)
	w = writer{append(b, make([]byte, headStart)...)}
	binary.LittleEndian.PutUint32(w.b[start+16:], uint32(n))
	w.b[start+headStart-1] = flags
	return w, start
}

func (w *writer) finishHead(start int) {
	binary.LittleEndian.PutUint32(w.b[start+20:], uint32(len(w.b)-start))
}

// EncodeSent appends a sent event without its stamp. delays count from now; nil means none.
func EncodeSent(b []byte, entries []store.Entry, delays []Millis, once *store.Once) []byte {
	var flags uint8
	if once != nil {
		flags |= hasOnce
	}
	if delays != nil {
		flags |= hasDelays
	}
	w, start := beginHead(b, len(entries), flags)
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
		w.u32(crc32.Checksum(e.Payload, castagnoli))
		if delays != nil {
			w.millis(delays[i])
		}
	}
	w.finishHead(start)
	for _, e := range entries {
		w.raw(e.Payload)
	}
	return w.b
}

// SentLen is how many bytes EncodeSent appends at most.
func SentLen(entries []store.Entry, once *store.Once) int {
	n := headStart + (rowLen+8)*len(entries)
	if once != nil {
		n += 44 + len(once.Note)
	}
	for _, e := range entries {
		n += len(e.Payload)
	}
	return n
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
	w, start := beginHead(b, len(list), isMoved)
	w.u64(uint64(source))
	var contents writer
	for _, m := range list {
		from := len(contents.b)
		contents.origin(m.Origin)
		contents.raw(m.Payload)
		w.u32(m.Size)
		w.count(len(contents.b))
		w.u32(crc32.Checksum(contents.b[from:], castagnoli))
		w.seq(m.Seq)
	}
	w.finishHead(start)
	w.raw(contents.b)
	return w.b
}

// Batch is a decoded sent or moved event: its messages by place. It refers to the bytes it was decoded from.
type Batch struct {
	At     Millis
	First  store.Seq
	Source store.QueueID // of a moved event
	Once   *store.Once
	// HeadLen is where the contents begin.
	HeadLen int

	n        int
	flags    uint8
	stride   int
	table    []byte
	contents []byte // nil when only the head was decoded
}

// HeadLen says how long the head is that begins with b, of which [HeadPeek] bytes are needed; 0 if b is too short.
func HeadLen(b []byte) int {
	if len(b) < HeadPeek {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[20:]))
}

// HeadPeek is how many bytes HeadLen needs.
const HeadPeek = headStart

// DecodeHead reads and checks the head of a sent or moved event in queue q. b may be longer.
func DecodeHead(b []byte, q store.QueueID) (Batch, error) {
	n := HeadLen(b)
	if n < headStart || n > len(b) {
		return Batch{}, fmt.Errorf("decode messages: head of %d bytes in %d: %w", n, len(b), store.ErrCorrupt)
	}
	if headSum(b[:n], q) != binary.LittleEndian.Uint32(b[sumAt:]) {
		return Batch{}, fmt.Errorf("decode messages: checksum of the head: %w", store.ErrCorrupt)
	}
	r := reader{b: b[:n]}
	batch := Batch{At: r.millis(), First: r.seq(), n: r.count(rowLen), HeadLen: n, stride: rowLen}
	r.take(8)
	batch.flags = r.u8()
	if batch.flags&hasOnce != 0 {
		batch.Once = &store.Once{}
		copy(batch.Once.Key[:], r.take(16))
		copy(batch.Once.Fingerprint[:], r.take(16))
		batch.Once.Window = time.Duration(r.u64())
		batch.Once.Note = r.blob()
	}
	if batch.flags&isMoved != 0 {
		batch.Source = store.QueueID(r.u64())
	}
	if batch.flags&(hasDelays|isMoved) != 0 {
		batch.stride += 8
	}
	batch.table = r.take(batch.n * batch.stride)
	return batch, r.done("messages")
}

// DecodeBatch reads and checks a whole sent or moved event in queue q.
func DecodeBatch(b []byte, q store.QueueID) (Batch, error) {
	batch, err := DecodeHead(b, q)
	if err != nil {
		return Batch{}, err
	}
	batch.contents = b[batch.HeadLen:]
	end := 0
	for i := range batch.n {
		e := batch.end(i)
		if e < end {
			return Batch{}, fmt.Errorf("decode messages: message %d ends before it starts: %w", i, store.ErrCorrupt)
		}
		end = e
	}
	if end != len(batch.contents) || batch.n == 0 {
		return Batch{}, fmt.Errorf("decode messages: contents of %d bytes, expected %d: %w", len(batch.contents), end, store.ErrCorrupt)
	}
	return batch, nil
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

func (b *Batch) size(i int) uint32 { return binary.LittleEndian.Uint32(b.row(i)) }

func (b *Batch) end(i int) int { return int(binary.LittleEndian.Uint32(b.row(i)[4:])) }

func (b *Batch) sum(i int) uint32 { return binary.LittleEndian.Uint32(b.row(i)[8:]) }

// Sent is the event, for a sent batch.
func (b *Batch) Sent() Sent {
	ev := Sent{At: b.At, First: b.First, Once: b.Once, Entries: make([]Meta, b.n)}
	for i := range ev.Entries {
		ev.Entries[i].Size = b.size(i)
		if b.flags&hasDelays != 0 {
			ev.Entries[i].Due = b.At + Millis(binary.LittleEndian.Uint64(b.row(i)[rowLen:]))
		}
	}
	return ev
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
		ev.Seqs[i] = store.Seq(binary.LittleEndian.Uint64(b.row(i)[rowLen:]))
	}
	return ev
}

// Span is where the content of a message lies, counted from the end of the head.
func (b *Batch) Span(seq store.Seq) (from, to int) {
	i := int(seq - b.First)
	if i > 0 {
		from = b.end(i - 1)
	}
	return from, b.end(i)
}

// Message returns one message of a whole batch; its payload refers to the batch's bytes.
func (b *Batch) Message(seq store.Seq) (Stored, error) {
	from, to := b.Span(seq)
	return b.MessageOf(seq, b.contents[from:to:to])
}

// MessageOf returns a message given its content, which it checks; the payload refers to it.
func (b *Batch) MessageOf(seq store.Seq, content []byte) (Stored, error) {
	i := int(seq - b.First)
	if crc32.Checksum(content, castagnoli) != b.sum(i) {
		return Stored{}, fmt.Errorf("checksum of message %d: %w", seq, store.ErrCorrupt)
	}
	m := Stored{Size: b.size(i), SentAt: b.At, Payload: content}
	if b.flags&isMoved == 0 {
		return m, nil
	}
	r := reader{b: content}
	m.Origin = r.origin(b.At)
	m.Payload = r.take(len(r.b))
	return m, r.done("content of a moved message")
}

// Stored is a message as it is kept.
type Stored struct {
	Size    uint32
	SentAt  Millis // when it came to this queue
	Payload []byte
	Origin  *store.Origin
}

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
