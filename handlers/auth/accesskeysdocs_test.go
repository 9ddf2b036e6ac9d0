package auth

import (
	"os"
	"regexp"
	"testing"
)

// keyFile finds the files of access keys that the documents show.
var keyFile = regexp.MustCompile(`(?s)\{"keys": \[.*?\n?\]\}`)

// TestAccessKeysOfTheDocumentsAreGood: a reader may copy them as they stand. A shell fills in $(…) of the one.
func TestAccessKeysOfTheDocumentsAreGood(t *testing.T) {
	t.Parallel()
	for path, keys := range map[string]int{"../../docs/sqs.md": 1, "../../docs/operating.md": 2} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		shown := regexp.MustCompile(`\$\([^)]*\)`).ReplaceAll(keyFile.Find(text), []byte(accessSecret))
		a, err := ParseAccessKeys(shown)
		if err != nil {
			t.Errorf("%s shows %s: %v", path, shown, err)
		} else if a.Len() != keys {
			t.Errorf("%s shows %d keys, want %d", path, a.Len(), keys)
		}
	}
}
