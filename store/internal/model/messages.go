package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings that carry messages, version 3. Version 2 had no waits for the wall clock.
//
//	sent   head | contents
//	moved  head | contents
//	head   at i64 | first u64 | n u32 | head length u32 | CRC32C u32 | flags u8 | [once] | [groups] | [extra] |
//	       [source queue u64, if moved] | table
//	flags  1 once, 2 delays, 4 moved, 8 groups, 16 priorities, 32 times to live, 64 dedup keys, 128 extra
//	once   key 16 | fingerprint 16 | window i64 (ns) | note blob
//	groups n u32 | n × text
//	extra  fates text | n u32 | n × { before entry u32 | evicted seq u64 }
//	table  n × { size u32 | end u32 | CRC32C of the content u32 | [delay i64 (ms), or minus what the wall clock has to show] | [number of the group u32] |
//	             [priority u8, plus 128 if in order] | [time to live i64 (ms)] | [dedup key 16] |
//	             [source seq u64 | expires i64 | alias u32, if moved] }
//	content, sent   payload
//	content, moved  queue u64 | seq u64 | sent at i64 | receives u32 | label text | reason text | payload;
//	                with alias 0, for a message that is new in the target, payload alone
//
// The table says where, counted from the end of the head, each content ends. The checksum of the head covers the queue's
// generation and the head without the checksum. So one message out of a large record can be read, and checked, without
// reading all of it.
//
// Time and first sequence are known only under the queue's lock: the rest is encoded before it is taken, and [Stamp] adds
// these two and the checksum.

const (
	hasOnce       = 1
	hasDelays     = 2
	isMoved       = 4
	hasGroups     = 8
	hasPriorities = 16
	hasTTLs       = 32
	hasDedups     = 64
	hasExtra      = 128

	headStart  = 29 // up to the flags
	sumAt      = 24
	rowLen     = 12
	priorities = 127
	inOrder    = 128
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

// EncodeSent appends a sent event without its stamp, with the payloads of its entries.
func EncodeSent(b []byte, ev Sent, payloads [][]byte) []byte {
	flags := flagsOf(ev.Entries)
	if ev.Once != nil {
		flags |= hasOnce
	}
	if len(ev.Evictions) > 0 || ev.Fates != "" {
		flags |= hasExtra
	}
	w, start := beginHead(b, len(ev.Entries), flags)
	if ev.Once != nil {
		w.raw(ev.Once.Key[:])
		w.raw(ev.Once.Fingerprint[:])
		w.u64(uint64(ev.Once.Window))
		w.blob(ev.Once.Note)
	}
	number := w.groups(ev.Entries, flags)
	if flags&hasExtra != 0 {
		w.text(ev.Fates)
		w.count(len(ev.Evictions))
		for _, e := range ev.Evictions {
			w.u32(e.Before)
			w.seq(e.Seq)
		}
	}
	end := 0
	for i, m := range ev.Entries {
		end += len(payloads[i])
		w.row(m, flags, end, payloads[i], number)
	}
	w.finishHead(start)
	for _, p := range payloads {
		w.raw(p)
	}
	return w.b
}

// flagsOf says which columns the table needs.
func flagsOf(entries []Meta) (flags uint8) {
	for i := range entries {
		m := &entries[i]
		if m.Delay > 0 || m.NotBefore > 0 {
			flags |= hasDelays
		}
		if m.Group != "" {
			flags |= hasGroups
		}
		if m.Priority > 0 || m.InOrder {
			flags |= hasPriorities
		}
		if m.TTL > 0 {
			flags |= hasTTLs
		}
		if m.Dedup != (store.DedupKey{}) {
			flags |= hasDedups
		}
	}
	return flags
}

// groups writes the names of groups and numbers them.
func (w *writer) groups(entries []Meta, flags uint8) map[string]uint32 {
	if flags&hasGroups == 0 {
		return nil
	}
	number := make(map[string]uint32)
	var names []string
	for i := range entries {
		if _, known := number[entries[i].Group]; !known {
			number[entries[i].Group] = uint32(len(names))
			names = append(names, entries[i].Group)
		}
	}
	w.count(len(names))
	for _, name := range names {
		w.text(name)
	}
	return number
}

// row writes one row of the table, up to what only moved messages have.
func (w *writer) row(m Meta, flags uint8, end int, content []byte, number map[string]uint32) {
	w.u32(m.Size)
	w.count(end)
	w.u32(crc32.Checksum(content, castagnoli))
	if flags&hasDelays != 0 {
		w.millis(m.Delay - m.NotBefore)
	}
	if flags&hasGroups != 0 {
		w.u32(number[m.Group])
	}
	if flags&hasPriorities != 0 {
		p := m.Priority & priorities
		if m.InOrder {
			p |= inOrder
		}
		w.u8(p)
	}
	if flags&hasTTLs != 0 {
		w.millis(m.TTL)
	}
	if flags&hasDedups != 0 {
		w.raw(m.Dedup[:])
	}
}

// SentLen is how many bytes EncodeSent appends at most, fates and evictions apart.
func SentLen(ev Sent, payloads [][]byte) int {
	n := headStart + 4 + (rowLen+37)*len(ev.Entries)
	if ev.Once != nil {
		n += 44 + len(ev.Once.Note)
	}
	for i, p := range payloads {
		n += len(p)
		if g := ev.Entries[i].Group; g != "" {
			n += 4 + len(g)
		}
	}
	return n
}

// Moved is one message of a moved event, to be encoded.
type Moved struct {
	Body                 // in the source
	Origin *store.Origin // nil for one that is new in the target
	// Size and Payload are those in the target.
	NewSize uint32
	Payload []byte
}

// Meta is what the target keeps of it.
func (m *Moved) Meta() Meta {
	meta := Meta{Size: m.NewSize, Group: m.Group, Priority: m.Priority, Expires: m.Expires}
	if m.Origin != nil {
		meta.Alias = alias(m.Origin.Queue, m.Origin.Seq)
	}
	return meta
}

// NewMoved is a message that is to be moved as p says, given what is kept of it in p.Source.
func NewMoved(b Body, m Stored, p *store.MoveParams) Moved {
	moved := Moved{Body: b, NewSize: b.Size, Payload: m.Payload}
	if !p.Renew {
		moved.Origin = follow(p.Source, b, m, p.Label)
	}
	if p.Replace != nil {
		moved.NewSize, moved.Payload = p.Replace.Size, p.Replace.Payload
	}
	return moved
}

// EncodeMoved appends a moved event without its stamp.
func EncodeMoved(b []byte, source store.QueueID, list []Moved) []byte {
	metas := make([]Meta, len(list))
	for i := range list {
		metas[i] = list[i].Meta()
	}
	flags := flagsOf(metas) | isMoved
	w, start := beginHead(b, len(list), flags)
	number := w.groups(metas, flags)
	w.u64(uint64(source))
	var contents writer
	for i, m := range list {
		from := len(contents.b)
		if m.Origin != nil {
			contents.origin(*m.Origin)
		}
		contents.raw(m.Payload)
		w.row(metas[i], flags, len(contents.b), contents.b[from:], number)
		w.seq(m.Seq)
		w.millis(m.Expires)
		w.u32(metas[i].Alias)
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

	n         int
	flags     uint8
	groups    int    // how many names there are
	names     []byte // not decoded: whoever reads one message has no use for them
	fates     string
	evictions []Eviction
	stride    int
	table     []byte
	contents  []byte // nil when only the head was decoded
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
	batch := Batch{At: r.millis(), First: r.seq(), n: r.count(rowLen), HeadLen: n}
	r.take(8)
	batch.flags = r.u8()
	if batch.flags&hasOnce != 0 {
		batch.Once = &store.Once{}
		copy(batch.Once.Key[:], r.take(16))
		copy(batch.Once.Fingerprint[:], r.take(16))
		batch.Once.Window = time.Duration(r.u64())
		batch.Once.Note = r.blob()
	}
	if batch.flags&hasGroups != 0 {
		batch.groups = r.count(4)
		batch.names = r.b
		for range batch.groups {
			r.blob()
		}
	}
	if batch.flags&hasExtra != 0 {
		batch.fates = r.text()
		batch.evictions = make([]Eviction, r.count(12))
		for i := range batch.evictions {
			batch.evictions[i] = Eviction{r.u32(), r.seq()}
		}
	}
	if batch.flags&isMoved != 0 {
		batch.Source = store.QueueID(r.u64())
	}
	batch.stride = stride(batch.flags)
	batch.table = r.take(batch.n * batch.stride)
	if err := r.done("messages"); err != nil {
		return Batch{}, err
	}
	return batch, batch.check()
}

// stride is the length of a row.
func stride(flags uint8) int {
	n := rowLen
	if flags&hasDelays != 0 {
		n += 8
	}
	if flags&hasGroups != 0 {
		n += 4
	}
	if flags&hasPriorities != 0 {
		n++
	}
	if flags&hasTTLs != 0 {
		n += 8
	}
	if flags&hasDedups != 0 {
		n += 16
	}
	if flags&isMoved != 0 {
		n += 20
	}
	return n
}

// check refuses numbers of groups that there are not.
func (b *Batch) check() error {
	if b.flags&hasGroups == 0 {
		return nil
	}
	at := rowLen
	if b.flags&hasDelays != 0 {
		at += 8
	}
	for i := range b.n {
		if n := binary.LittleEndian.Uint32(b.row(i)[at:]); int64(n) >= int64(b.groups) {
			return fmt.Errorf("decode messages: message %d has an impossible group: %w", i, store.ErrCorrupt)
		}
	}
	return nil
}

// groupNames decodes them.
func (b *Batch) groupNames() []string {
	names := make([]string, b.groups)
	r := reader{b: b.names}
	for i := range names {
		names[i] = r.text()
	}
	return names
}

// meta reads a row.
func (b *Batch) meta(r *reader, groups []string) (m Meta) {
	m.Size = r.u32()
	r.take(8)
	if b.flags&hasDelays != 0 {
		if m.Delay = r.millis(); m.Delay < 0 {
			m.Delay, m.NotBefore = 0, -m.Delay
		}
	}
	if b.flags&hasGroups != 0 {
		m.Group = groups[r.u32()]
	}
	if b.flags&hasPriorities != 0 {
		p := r.u8()
		m.Priority, m.InOrder = p&priorities, p&inOrder != 0
	}
	if b.flags&hasTTLs != 0 {
		m.TTL = r.millis()
	}
	if b.flags&hasDedups != 0 {
		copy(m.Dedup[:], r.take(16))
	}
	return m
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

// Renewed says whether the first message of a moved batch is new in the target: then all are.
func (b *Batch) Renewed() bool { return b.n > 0 && b.renewed(0) }

func (b *Batch) renewed(i int) bool {
	row := b.row(i)
	return binary.LittleEndian.Uint32(row[len(row)-4:]) == 0
}

func (b *Batch) sum(i int) uint32 { return binary.LittleEndian.Uint32(b.row(i)[8:]) }

// Sent is the event, for a sent batch.
func (b *Batch) Sent() Sent {
	ev := Sent{
		At: b.At, First: b.First, Once: b.Once, Entries: make([]Meta, b.n), Evictions: b.evictions, Fates: b.fates,
	}
	groups := b.groupNames()
	for i := range ev.Entries {
		ev.Entries[i] = b.meta(&reader{b: b.row(i)}, groups)
	}
	return ev
}

// MovedIn is the event on the target, for a moved batch.
func (b *Batch) MovedIn() MovedIn {
	ev := MovedIn{At: b.At, First: b.First, Entries: make([]Meta, b.n)}
	groups := b.groupNames()
	for i := range ev.Entries {
		r := reader{b: b.row(i)}
		m := b.meta(&r, groups)
		r.take(8)
		m.Expires, m.Alias = r.millis(), r.u32()
		ev.Entries[i] = m
	}
	return ev
}

// MovedOut is the event on the source, for a moved batch.
func (b *Batch) MovedOut() MovedOut {
	ev := MovedOut{At: b.At, Seqs: make([]store.Seq, b.n)}
	for i := range ev.Seqs {
		row := b.row(i)
		ev.Seqs[i] = store.Seq(binary.LittleEndian.Uint64(row[len(row)-20:]))
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
	if b.flags&isMoved == 0 || b.renewed(i) {
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
	Origin  *store.Origin // of one that was moved here, unless it is new here
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

// follow is the origin of a message that is moved on: its identity and first send stay, its deliveries add up.
func follow(from store.QueueID, c Body, m Stored, label string) *store.Origin {
	o := store.Origin{Queue: from, Seq: c.Seq, SentAt: Time(m.SentAt)}
	if m.Origin != nil {
		o = *m.Origin
	}
	o.Receives += c.Entered
	o.Label, o.Reason = label, c.Reason
	return &o
}

// Deliver is the delivery of a stored message.
func (m Stored) Deliver(l Lease) store.Delivery {
	d := store.Delivery{
		Seq: l.Seq, Payload: m.Payload, Size: m.Size, SentAt: Time(m.SentAt), AvailableAt: Time(l.Avail),
		Receives: l.Entered, Entered: l.Entered, Origin: m.Origin, Group: l.Group, Priority: l.Priority,
	}
	if l.Expires > 0 {
		d.ExpiresAt = Time(l.Expires)
	}
	m.trace(&d)
	return d
}

// trace adds what happened before the message came here.
func (m Stored) trace(d *store.Delivery) {
	if m.Origin != nil {
		d.Receives += m.Origin.Receives
		d.SentAt = m.Origin.SentAt
	}
}

// Fill adds to a view what the message says.
func (m Stored) Fill(v *store.View) {
	v.Payload, v.Origin, v.SentAt, v.Receives = m.Payload, m.Origin, Time(m.SentAt), v.Entered
	m.trace(&v.Delivery)
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
