package segment

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

func TestCheckTellsInWords(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		ranges(nil):                           "",
		ranges([]store.Seq{7}):                "7",
		ranges([]store.Seq{1, 2, 3, 5, 9, 8}): "1-3, 5, 9, 8",
		tellConfigured(model.Configured{Created: true, Settings: store.Settings{Revision: 3}}):                                    "created: revision 3",
		tellConfigured(model.Configured{Settings: store.Settings{Revision: 4, MaxReceives: 5, Lazy: true, Retention: time.Hour}}): "changed: revision 4, dead after 5 deliveries (at the next receive), kept for 1h0m0s",
		tellConfigured(model.Configured{Settings: store.Settings{Revision: 5, Mode: store.FIFO, Tail: true}}):                     "changed: revision 5, FIFO, groups locked from the first message in flight on",
		tellClaimed(model.Claimed{Deadline: 1000, Token: 6, Consumer: "w", Seqs: []store.Seq{1, 2}, Died: []store.Seq{3}}):        `leased 1-2 until 1970-01-01T00:00:01.000Z with token 6 by "w"; dead 3`,
		tellClaimed(model.Claimed{Expired: []store.Seq{4}}):                                                                       "expired 4",
		tellSettled(model.Settled{Changes: []model.Change{
			{Seq: 1, Target: store.Done},
			{Seq: 2, Target: store.Ready, Due: 1500, Uncount: true},
			{Seq: 3, Target: store.Leased, Due: 2000},
			{Seq: 4, Target: store.Dead, Reason: "no milk"},
		}}): `done 1; ready 2 from 1970-01-01T00:00:01.500Z, not counted; leased 3 until 1970-01-01T00:00:02.000Z; dead 4, reason "no milk"`,
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}
