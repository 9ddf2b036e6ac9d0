package main

import "testing"

func TestByteSize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		want  byteSize
		shown string
	}{
		{"0", 0, "0"},
		{"4097", 4097, "4097"},
		{"65536", 64 << 10, "64KiB"},
		{"64KiB", 64 << 10, "64KiB"},
		{"1024KiB", 1 << 20, "1MiB"},
		{"128MiB", 128 << 20, "128MiB"},
		{"2GiB", 2 << 30, "2GiB"},
	}
	for _, tt := range tests {
		var got byteSize
		if err := got.Set(tt.text); err != nil || got != tt.want || got.String() != tt.shown {
			t.Errorf("Set(%q) = %v, %d, shown as %q; want %d, %q", tt.text, err, int64(got), got.String(), int64(tt.want), tt.shown)
		}
	}
}

func TestNoByteSize(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "64kb", "64 KiB", "9223372036854775808", "9007199254740992KiB"} {
		var got byteSize
		if err := got.Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, int64(got))
		}
	}
}
