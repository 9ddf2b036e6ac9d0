// Command dabba is the server, its tools and a small client in one binary: see dabba --help.
//
// There is one file for each sub-command. What a command shares with others lives in root.go (exit codes, signals),
// config.go (files and environment) and client.go (the HTTP API).
package main

import (
	"os"
	_ "time/tzdata" // schedules name time zones, which a bare container does not know
)

func main() {
	os.Exit(run(program{
		name:   os.Args[0],
		in:     os.Stdin,
		out:    os.Stdout,
		errOut: os.Stderr,
		env:    os.Environ(),
	}, os.Args[1:]))
}
