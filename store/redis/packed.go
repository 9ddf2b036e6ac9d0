package redis

import "math"

// packed is a list of integers and texts as Lua's cmsgpack writes it, in the format of MessagePack. It is read from its front;
// once something else than expected comes it gives zeros.
type packed struct {
	rest string
	bad  bool
}

// unpackList reads a list of n values, fewer than 16.
func unpackList(s string, n int) packed {
	p := packed{rest: s}
	p.bad = p.number(1) != 0x90|uint64(n)
	return p
}

// ended says that everything was read and was as expected.
func (p *packed) ended() bool { return !p.bad && p.rest == "" }

// take takes n bytes.
func (p *packed) take(n uint64) string {
	if p.bad || uint64(len(p.rest)) < n {
		p.bad = true
		return ""
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

// number reads a number of so many bytes, the highest first.
func (p *packed) number(bytes uint64) (n uint64) {
	for _, b := range []byte(p.take(bytes)) {
		n = n<<8 | uint64(b)
	}
	return n
}

// int reads an integer.
func (p *packed) int() int64 {
	switch kind := p.number(1); {
	case kind < 0x80:
		return int64(kind)
	case kind >= 0xe0:
		return int64(int8(kind))
	case kind >= 0xcc && kind <= 0xcf:
		n := p.number(1 << (kind - 0xcc))
		p.bad = p.bad || n > math.MaxInt64
		return int64(n)
	case kind >= 0xd0 && kind <= 0xd3:
		bytes := uint64(1) << (kind - 0xd0)
		shift := 64 - 8*bytes
		return int64(p.number(bytes)<<shift) >> shift
	}
	p.bad = true
	return 0
}

// text reads a text.
func (p *packed) text() string {
	switch kind := p.number(1); {
	case kind >= 0xa0 && kind < 0xc0:
		return p.take(kind - 0xa0)
	case kind >= 0xd9 && kind <= 0xdb:
		return p.take(p.number(1 << (kind - 0xd9)))
	}
	p.bad = true
	return ""
}
