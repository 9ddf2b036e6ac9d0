package main

import "testing"

func TestCommandIsWhatWasTyped(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                                    "dabba",
		"dabba":                               "dabba",
		"bin/dabba":                           "bin/dabba",
		"/tmp/go-build2917/b001/exe/dabba":    "go run ./cmd/dabba",
		"/home/me/.cache/go-build/a0-d/dabba": "go run ./cmd/dabba",
	}
	for name, want := range tests {
		if got := (program{name: name}).command(); got != want {
			t.Errorf("called as %q: %q, want %q", name, got, want)
		}
	}
}
