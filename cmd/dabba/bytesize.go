package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag that holds a number of bytes and is written like 64KiB, 128MiB or 1GiB.
type byteSize int64

// units from the largest, so that a size is shown in the largest one that fits it.
var units = []struct {
	name  string
	bytes byteSize
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Set implements pflag.Value.
func (s *byteSize) Set(text string) error {
	number, unit := text, byteSize(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = n, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return fmt.Errorf("a size is a number of bytes or like 64KiB, 128MiB or 1GiB, not %q", text)
	}
	*s = byteSize(n) * unit
	return nil
}

// String implements pflag.Value.
func (s *byteSize) String() string {
	for _, u := range units {
		if *s != 0 && *s%u.bytes == 0 {
			return strconv.FormatInt(int64(*s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Type implements pflag.Value.
func (s *byteSize) Type() string { return "size" }
