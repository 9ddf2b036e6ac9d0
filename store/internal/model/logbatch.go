package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encoding that carries records of a log, since version 2.
//
//	appended  head | contents
//	head      at i64 | parts u32 | n u32 | head length u32 | CRC32C u32 | flags u8 (1 once) | [once] |
//	          parts × { partition u32 | first u64 | count u32 } | table
//	once      key 16 | fingerprint 16 | window i64 (ns) | note blob
//	table     n × { size u32 | end u32 | CRC32C of the content u32 | time i64 }
//
// The rows of the table are those of the parts one after the other. A row says where, counted from the end of the head,
// its content ends; the time is i64 milliseconds, or the least number for that of the append. The checksum of the head
// covers the log's generation and the head without the checksum. So a few records out of many can be read, and checked,
// without reading all of them.
//
// Time and first offsets are known only under the log's lock: the rest is encoded before it is taken, and
// [StampAppended] adds these and the checksum.

const (
	logOnce = 1

	logHeadStart = 25 // up to the flags
	logPartsAt   = 8
	logRowsAt    = 12
	logLengthAt  = 16
	logSumAt     = 20
	logPartLen   = 16
	logRowLen    = 20
)

// EncodeAppended appends an appended event without its stamp.
func EncodeAppended(b []byte, parts []store.AppendPart, once *store.Once) []byte {
	n := 0
	for _, p := range parts {
		n += len(p.Records)
	}
	w := writer{b}
	start := len(b)
	w.raw(make([]byte, logHeadStart))
	head := w.b[start:]
	binary.LittleEndian.PutUint32(head[logPartsAt:], uint32(len(parts)))
	binary.LittleEndian.PutUint32(head[logRowsAt:], uint32(n))
	if once != nil {
		head[logHeadStart-1] = logOnce
		w.raw(once.Key[:])
		w.raw(once.Fingerprint[:])
		w.u64(uint64(once.Window))
		w.blob(once.Note)
	}
	for _, p := range parts {
		w.u32(p.Partition)
		w.u64(0)
		w.count(len(p.Records))
	}
	end := 0
	for _, p := range parts {
		for _, r := range p.Records {
			end += len(r.Payload)
			w.u32(r.Size)
			w.count(end)
			w.u32(crc32.Checksum(r.Payload, castagnoli))
			w.millis(recordTime(r.Time))
		}
	}
	binary.LittleEndian.PutUint32(w.b[start+logLengthAt:], uint32(len(w.b)-start))
	for _, p := range parts {
		for _, r := range p.Records {
			w.raw(r.Payload)
		}
	}
	return w.b
}

// AppendedLen is how many bytes EncodeAppended appends at most.
func AppendedLen(parts []store.AppendPart, once *store.Once) int {
	n := logHeadStart + logPartLen*len(parts)
	if once != nil {
		n += 44 + len(once.Note)
	}
	for _, p := range parts {
		n += logRowLen * len(p.Records)
		for _, r := range p.Records {
			n += len(r.Payload)
		}
	}
	return n
}

// StampAppended fills in the time and the first offsets of an encoded appended event, and the checksum of its head.
func StampAppended(b []byte, id store.LogID, ev Appended) {
	head := b[:binary.LittleEndian.Uint32(b[logLengthAt:])]
	binary.LittleEndian.PutUint64(head, uint64(ev.At))
	rows := int(binary.LittleEndian.Uint32(head[logRowsAt:]))
	at := len(head) - rows*logRowLen - len(ev.Parts)*logPartLen
	for _, p := range ev.Parts {
		binary.LittleEndian.PutUint64(head[at+4:], uint64(p.First))
		at += logPartLen
	}
	binary.LittleEndian.PutUint32(head[logSumAt:], logHeadSum(head, id))
}

func logHeadSum(head []byte, id store.LogID) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(id))
	sum := crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, head[:logSumAt])
	return crc32.Update(sum, castagnoli, head[logSumAt+4:])
}

// LogBatch is a decoded appended event. It refers to the bytes it was decoded from.
type LogBatch struct {
	At   Millis
	Once *store.Once
	// HeadLen is where the contents begin.
	HeadLen int
	Runs    []LogRun

	table    []byte
	contents []byte // nil when only the head was decoded
}

// LogRun are the records of one partition: offsets First and the Count-1 after it.
type LogRun struct {
	Partition uint32
	First     store.Offset
	Count     int

	row int // the first one in the table
}

// Has says whether the run has the record.
func (r LogRun) Has(o store.Offset) bool { return o >= r.First && o < r.First+store.Offset(r.Count) }

// LogHeadLen says how long the head is that begins with b, of which [LogHeadPeek] bytes are needed; 0 if b is too short.
func LogHeadLen(b []byte) int {
	if len(b) < LogHeadPeek {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[logLengthAt:]))
}

// LogHeadPeek is how many bytes LogHeadLen needs.
const LogHeadPeek = logHeadStart

// DecodeLogHead reads and checks the head of an appended event in log id. b may be longer.
func DecodeLogHead(b []byte, id store.LogID) (LogBatch, error) {
	n := LogHeadLen(b)
	if n < logHeadStart || n > len(b) {
		return LogBatch{}, fmt.Errorf("decode records: head of %d bytes in %d: %w", n, len(b), store.ErrCorrupt)
	}
	if logHeadSum(b[:n], id) != binary.LittleEndian.Uint32(b[logSumAt:]) {
		return LogBatch{}, fmt.Errorf("decode records: checksum of the head: %w", store.ErrCorrupt)
	}
	r := reader{b: b[:n]}
	batch := LogBatch{At: r.millis(), HeadLen: n}
	parts, rows := r.count(logPartLen), r.count(logRowLen)
	r.take(8)
	if r.u8()&logOnce != 0 {
		batch.Once = &store.Once{}
		copy(batch.Once.Key[:], r.take(16))
		copy(batch.Once.Fingerprint[:], r.take(16))
		batch.Once.Window = time.Duration(r.u64())
		batch.Once.Note = r.blob()
	}
	if parts*logPartLen > len(r.b) {
		parts, r.failed = 0, true
	}
	row := 0
	for range parts {
		run := LogRun{r.u32(), store.Offset(r.u64()), int(r.u32()), row}
		row += run.Count
		if run.Count == 0 || row > rows {
			r.failed = true
			break
		}
		batch.Runs = append(batch.Runs, run)
	}
	batch.table = r.take(rows * logRowLen)
	if row != rows || rows == 0 {
		r.failed = true
	}
	return batch, r.done("records")
}

// DecodeLogBatch reads and checks a whole appended event in log id.
func DecodeLogBatch(b []byte, id store.LogID) (LogBatch, error) {
	batch, err := DecodeLogHead(b, id)
	if err != nil {
		return LogBatch{}, err
	}
	batch.contents = b[batch.HeadLen:]
	end := 0
	for row := range len(batch.table) / logRowLen {
		e := batch.end(row)
		if e < end {
			return LogBatch{}, fmt.Errorf("decode records: record %d ends before it starts: %w", row, store.ErrCorrupt)
		}
		end = e
	}
	if end != len(batch.contents) {
		return LogBatch{}, fmt.Errorf("decode records: contents of %d bytes, expected %d: %w", len(batch.contents), end, store.ErrCorrupt)
	}
	return batch, nil
}

func (b *LogBatch) row(i int) []byte { return b.table[i*logRowLen : (i+1)*logRowLen] }

func (b *LogBatch) size(row int) uint32 { return binary.LittleEndian.Uint32(b.row(row)) }

func (b *LogBatch) end(row int) int { return int(binary.LittleEndian.Uint32(b.row(row)[4:])) }

// Run is that of a partition, or false if it has none here.
func (b *LogBatch) Run(partition uint32) (LogRun, bool) {
	for _, r := range b.Runs {
		if r.Partition == partition {
			return r, true
		}
	}
	return LogRun{}, false
}

// Bytes is the sum of the sizes of a run's records from an offset on.
func (b *LogBatch) Bytes(r LogRun, from store.Offset) int64 {
	var sum int64
	for o := max(from, r.First); r.Has(o); o++ {
		sum += int64(b.size(r.row + int(o-r.First)))
	}
	return sum
}

// Size is that of one record.
func (b *LogBatch) Size(r LogRun, o store.Offset) uint32 { return b.size(r.row + int(o-r.First)) }

// Time is that of one record by the wall clock, which is ahead: its own, or when it was appended.
func (b *LogBatch) Time(r LogRun, o store.Offset, ahead Ahead) Millis {
	if t := b.own(r, o); t != NoTime {
		return t
	}
	return b.At + Millis(ahead)
}

// own is the time of its own that a record has, or NoTime.
func (b *LogBatch) own(r LogRun, o store.Offset) Millis {
	return Millis(binary.LittleEndian.Uint64(b.row(r.row + int(o-r.First))[12:]))
}

// Span is where the content of a record lies, counted from the end of the head.
func (b *LogBatch) Span(r LogRun, o store.Offset) (from, to int) {
	row := r.row + int(o-r.First)
	if row > 0 {
		from = b.end(row - 1)
	}
	return from, b.end(row)
}

// Record returns one record of a whole batch; its payload refers to the batch's bytes.
func (b *LogBatch) Record(r LogRun, o store.Offset, ahead Ahead) (store.Fetched, error) {
	from, to := b.Span(r, o)
	return b.RecordOf(r, o, b.contents[from:to:to], ahead)
}

// RecordOf returns a record given its content, which it checks; the payload refers to it.
func (b *LogBatch) RecordOf(r LogRun, o store.Offset, content []byte, ahead Ahead) (store.Fetched, error) {
	row := b.row(r.row + int(o-r.First))
	if crc32.Checksum(content, castagnoli) != binary.LittleEndian.Uint32(row[8:]) {
		return store.Fetched{}, fmt.Errorf("checksum of record %d of partition %d: %w", o, r.Partition, store.ErrCorrupt)
	}
	return store.Fetched{Offset: o, Payload: content, Size: b.Size(r, o), Time: Time(b.Time(r, o, ahead))}, nil
}

// Appended is the event.
func (b *LogBatch) Appended() Appended {
	ev := Appended{At: b.At, Once: b.Once}
	for _, r := range b.Runs {
		p := AppendedPart{r.Partition, r.First, make([]LogMeta, r.Count)}
		for i := range p.Records {
			o := r.First + store.Offset(i)
			p.Records[i] = LogMeta{b.Size(r, o), b.own(r, o)}
		}
		ev.Parts = append(ev.Parts, p)
	}
	return ev
}
