package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// TestFewLeftOfMany leaves every fiftieth message in the queue. The server must let go of the memory of the others, and
// nobody may see where the rest is.
func TestFewLeftOfMany(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	s := w.stores[0].(*Store)
	w.configure(store.Settings{Mode: store.Fair, History: 4})
	for range 6 {
		w.send(1000, 10, 0)
		r := w.claim(1000, time.Hour)
		p := store.SettleParams{Queue: 1, Revision: w.revision}
		for i, m := range r.Messages {
			if i%50 > 0 {
				p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done})
			}
		}
		ask(w, "Settle", func(to store.Store) (store.SettleResult, error) { return to.Settle(w.Context(), p) })
	}
	stream, err := s.client.XInfoStream(t.Context(), s.keys('q', 1, "s")[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	if stream.RadixTreeKeys > 30 {
		t.Errorf("the stream has %d nodes for %d messages, want no more than 30: full ones hold 100", stream.RadixTreeKeys, stream.Length)
	}
	w.stats()
	for _, sel := range []store.Selection{{}, {From: 100, UpTo: 4000}, {States: store.StateLeased}, {Group: new("3")}} {
		w.scan(sel)
	}
	w.lookup(1)
	w.clock.Advance(time.Hour)
	r := w.claim(50, time.Hour)
	w.settle(r, 2, store.Ready, 0)
	w.settle(r, 3, store.Done, 0)
	w.configure(store.Settings{Levels: 3, History: 60})
	w.claim(1000, time.Hour)
	w.purge(store.Selection{UpTo: 1000})
	w.purge(store.Selection{})
	for seq := store.Seq(1); seq <= 6000; seq += 50 {
		w.lookup(seq)
	}
	w.send(10, 1, 0)
	w.claim(100, time.Hour)
}

// scan looks at all messages of a selection.
func (w *twin) scan(sel store.Selection) {
	w.Helper()
	ask(w, fmt.Sprintf("Scan(%+v)", sel), func(to store.Store) (views []store.View, err error) {
		p := store.ScanParams{Queue: 1, Select: sel, Limit: 7, MaxBytes: 1 << 30}
		for {
			r, err := to.Scan(w.Context(), p)
			views = append(views, r.Views...)
			if err != nil || r.Next == 0 {
				return views, err
			}
			p.Select.From = r.Next
		}
	})
}

func (w *twin) purge(sel store.Selection) {
	w.Helper()
	ask(w, fmt.Sprintf("Purge(%+v)", sel), func(to store.Store) (int64, error) {
		r, err := to.Purge(w.Context(), 1, sel)
		return r.Purged, err
	})
}
