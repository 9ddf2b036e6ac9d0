package sqs

import "sync"

// pooledBuffer is the most a buffer may hold to be kept for the next answer.
const pooledBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// buffer is what an answer is put together in.
type buffer struct{ bytes []byte }

func newBuffer() *buffer {
	b, _ := buffers.Get().(*buffer)
	return b
}

func (b *buffer) release() {
	if cap(b.bytes) <= pooledBuffer {
		b.bytes = b.bytes[:0]
		buffers.Put(b)
	}
}
