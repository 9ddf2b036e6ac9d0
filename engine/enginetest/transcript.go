package enginetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/*.txt")

const divider = "----"

func runTranscripts(t *testing.T, newStore NewStore) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = replay(setup(t, newStore), string(text)) })
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: answers differ (-want +got); -update accepts them:\n%s", file, cmp.Diff(string(text), got))
		})
	}
}

// replay performs the commands of a transcript and gives it with the answers there were.
func replay(b *bundle, text string) string {
	s := newSession(b)
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == "" || strings.HasPrefix(line, "# ") {
			fmt.Fprintln(&out, line)
			continue
		}
		fmt.Fprintf(&out, "%s\n%s\n%s", line, divider, s.do(line))
		for i+1 < len(lines) && lines[i+1] != "" {
			i++ // the former answer
		}
	}
	s.end()
	return out.String()
}
