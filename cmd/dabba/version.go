package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  none,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.out, "dabba %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// released is the version of a build that has no repository around it, such as that of the container image. The linker
// sets it: -ldflags "-X main.released=v1.2.3".
var released string

// version is the one given to the build or, without one, what the Go tool recorded in the binary: the module's version
// where it was built from one, else the commit.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	return strings.Trim("devel-"+revision+dirty, "-")
}
