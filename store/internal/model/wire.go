package model

import (
	"encoding/binary"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// writer appends little-endian fields of explicit width.
type writer struct{ b []byte }

func (w *writer) u8(v uint8)   { w.b = append(w.b, v) }
func (w *writer) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) raw(v []byte) { w.b = append(w.b, v...) }

func (w *writer) millis(v Millis) { w.u64(uint64(v)) }
func (w *writer) seq(v store.Seq) { w.u64(uint64(v)) }
func (w *writer) count(n int)     { w.u32(uint32(n)) }
func (w *writer) text(s string)   { w.count(len(s)); w.b = append(w.b, s...) }
func (w *writer) blob(v []byte)   { w.count(len(v)); w.raw(v) }
func (w *writer) seqs(v []store.Seq) {
	w.count(len(v))
	for _, s := range v {
		w.seq(s)
	}
}

func (w *writer) flag(v bool) {
	if v {
		w.u8(1)
	} else {
		w.u8(0)
	}
}

// reader takes fields off the front. After the first field that is not there it stays failed and gives zeros; lengths
// are checked against what is left before anything is allocated.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n < 0 || n > len(r.b) {
		r.failed = true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) u8() uint8 {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if v := r.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if v := r.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (r *reader) millis() Millis { return Millis(r.u64()) }
func (r *reader) seq() store.Seq { return store.Seq(r.u64()) }
func (r *reader) flag() bool     { return r.u8() == 1 }
func (r *reader) text() string   { return string(r.blob()) }
func (r *reader) blob() []byte   { return r.take(int(r.u32())) }

// count reads the number of items that follow, each of at least size bytes.
func (r *reader) count(size int) int {
	n := int(r.u32())
	if n*size > len(r.b) {
		r.failed = true
		return 0
	}
	return n
}

func (r *reader) seqs() []store.Seq {
	n := r.count(8)
	if n == 0 {
		return nil
	}
	v := make([]store.Seq, n)
	for i := range v {
		v[i] = r.seq()
	}
	return v
}

// done says whether all fields were there and nothing else.
func (r *reader) done(what string) error {
	if r.failed || len(r.b) > 0 {
		return fmt.Errorf("decode %s: %w", what, store.ErrCorrupt)
	}
	return nil
}
