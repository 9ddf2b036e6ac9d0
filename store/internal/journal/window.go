package journal

import (
	"errors"
	"io"
	"sync"
)

const (
	minStep = 16 << 10
	maxStep = 1 << 20
	maxKept = 64 << 10
)

// window reads a file forward with few calls: each reads ahead more than the one before.
type window struct {
	f io.ReaderAt
	// end is where reading stops.
	end int64
	// at is the offset of buf in the file.
	at   int64
	buf  []byte
	step int
}

// windows are used again, since a buffer for each read of a message would keep the collector busy.
var windows = sync.Pool{New: func() any { return new(window) }}

// open points the window at a file. It forgets a buffer that has grown large.
func (w *window) open(f io.ReaderAt, end int64) {
	buf := w.buf[:0]
	if cap(buf) > maxKept {
		buf = nil
	}
	*w = window{f: f, end: end, buf: buf}
}

// bytes returns n bytes at off, or fewer if the window's end comes first. They are valid until the next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	n = int(max(0, min(int64(n), w.end-off)))
	if off < w.at || off+int64(n) > w.at+int64(len(w.buf)) {
		if err := w.read(off, n); err != nil {
			return nil, err
		}
	}
	have := w.buf[min(int64(len(w.buf)), off-w.at):]
	return have[:min(n, len(have))], nil
}

func (w *window) read(off int64, n int) error {
	w.step = min(max(2*w.step, minStep), maxStep)
	want := int(min(int64(max(n, w.step)), w.end-off))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf = w.buf[:want]
	got, err := w.f.ReadAt(w.buf, off)
	w.at, w.buf = off, w.buf[:got]
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
