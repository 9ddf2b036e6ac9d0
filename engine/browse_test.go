package engine

import (
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	e, q := withMessages(t, 0)
	for _, seq := range []store.Seq{0, 1, 1 << 62} {
		if got, err := e.ids().seqAt(q.id, e.ids().placeOf(q.id, seq)); got != seq || err != nil {
			t.Errorf("seqAt(placeOf(%d)) = %d, %v", seq, got, err)
		}
	}
	for name, p := range map[string]Place{
		"another queue": e.ids().placeOf(q.id+1, 1),
		"too short":     "x",
		"made up":       "sixteen bytes id",
		"too long":      e.ids().placeOf(q.id, 1) + "x",
	} {
		if _, err := e.ids().seqAt(q.id, p); ErrorOf(err).Field != "cursor" {
			t.Errorf("seqAt of a place that is %s = %v, want a refusal of the cursor", name, err)
		}
	}
}
