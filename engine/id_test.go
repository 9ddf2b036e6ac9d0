package engine

import (
	"crypto/aes"
	"regexp"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher([]byte("sixteen byte key"))
	if err != nil {
		t.Fatal(err)
	}
	c := idCipher{block}
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for q := store.QueueID(1); q <= 10; q++ {
		for seq := store.Seq(1); seq <= 1000; seq++ {
			var id MessageID
			c.put(&id, q, seq)
			s := id.String()
			if !form.MatchString(s) {
				t.Fatalf("id of queue %d, sequence %d is %q, not in the form of a UUID", q, seq, s)
			}
			if seen[s] {
				t.Fatalf("id of queue %d, sequence %d is %q, as one before", q, seq, s)
			}
			seen[s] = true
		}
	}
}
