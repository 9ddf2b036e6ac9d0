package redis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPacked(t *testing.T) {
	t.Parallel()
	p := unpackList("\x97"+"\x7f\xcc\xff\xcd\x01\x00\xcf\x00\x00\x01\x9e\x00\x00\x00\x00"+"\xff\xd1\xff\x00"+"\xd9\x03abc", 7)
	ints := []int64{p.int(), p.int(), p.int(), p.int(), p.int(), p.int()}
	if diff := cmp.Diff([]int64{127, 255, 256, 0x19e00000000, -1, -256}, ints); diff != "" {
		t.Errorf("integers read (-want +got):\n%s", diff)
	}
	if got := p.text(); got != "abc" || !p.ended() {
		t.Errorf("text() = %q, ended() = %v, want abc, true", got, p.ended())
	}
}

func TestPackedIsNotAsExpected(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func() packed{
		"nothing":        func() packed { return unpackList("", 0) },
		"fewer values":   func() packed { p := unpackList("\x91\x00", 2); p.int(); p.int(); return p },
		"more values":    func() packed { return unpackList("\x91\x00", 1) },
		"cut number":     func() packed { p := unpackList("\x91\xcd\x00", 1); p.int(); return p },
		"cut text":       func() packed { p := unpackList("\x91\xa2x", 1); p.text(); return p },
		"number as text": func() packed { p := unpackList("\x91\x01", 1); p.text(); return p },
		"text as number": func() packed { p := unpackList("\x91\xa0", 1); p.int(); return p },
		"number of 2^63": func() packed { p := unpackList("\x91\xcf\x80\x00\x00\x00\x00\x00\x00\x00", 1); p.int(); return p },
	} {
		if p := read(); p.ended() {
			t.Errorf("%s: ended() = true, want false", name)
		}
	}
}
