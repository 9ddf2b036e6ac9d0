package engine

import (
	"crypto/aes"
	"regexp"
	"strings"
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
			if back, ok := ParseMessageID(strings.ToUpper(s)); !ok || back != id {
				t.Fatalf("ParseMessageID(%q) = %v, %v; want %v", s, back, ok, id)
			}
			if of, at := c.place(id); of != q || at != seq {
				t.Fatalf("place of %s = queue %d, sequence %d; want %d, %d", s, of, at, q, seq)
			}
		}
	}
}

func TestWhatIsNoMessageID(t *testing.T) {
	t.Parallel()
	sound := MessageID{1, 2, 3}.String()
	for _, s := range []string{"", "x", sound[1:], sound + "0", "g" + sound[1:], sound[:8] + "0" + sound[9:], strings.ReplaceAll(sound, "-", "")} {
		if id, ok := ParseMessageID(s); ok {
			t.Errorf("ParseMessageID(%q) = %v, want a refusal", s, id)
		}
	}
}
