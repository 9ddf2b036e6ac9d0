package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// BenchmarkLook measures looking at queues of 1,000,000 messages, which a queue's lock is held for.
func BenchmarkLook(b *testing.B) {
	const n = 1_000_000
	deep := newTestQueue(store.Settings{})
	fifo := newTestQueue(store.Settings{Mode: store.FIFO})
	for i := range n {
		deep.add(testNow, Meta{Size: 1, Delay: Millis(i % 3), Alias: uint32(i) * 2654435761})
		fifo.add(testNow, Meta{Size: 1, Group: fmt.Sprintf("g%05d", i%100_000)})
	}
	deep.advance(testNow)
	for _, q := range []*Queue{deep, fifo} {
		q.Claim(testNow, store.ClaimParams{Max: 10_000, MaxBytes: n, Visibility: time.Hour})
	}
	deep.Settle(testNow, store.SettleParams{Select: &store.Selection{States: store.StateLeased}, Each: store.SettleItem{Target: store.Dead}})
	for name, sel := range map[string]store.Selection{
		"scheduled": {States: store.StateDelayed}, "dead": {States: store.StateDead}, "leased": {States: store.StateLeased, From: 20_000},
	} {
		b.Run("scan/"+name, func(b *testing.B) {
			for b.Loop() {
				if views, _ := deep.Scan(testNow, &sel, 100, n); len(views) != 100 && name != "leased" {
					b.Fatalf("%d views", len(views))
				}
			}
		})
	}
	b.Run("lookup", func(b *testing.B) {
		for b.Loop() {
			deep.Lookup(testNow, 9, 1)
		}
	})
	b.Run("groups", func(b *testing.B) {
		for b.Loop() {
			if list := fifo.Groups(testNow, nil, 100); len(list) != 100 {
				b.Fatalf("%d groups", len(list))
			}
		}
	})
}

// BenchmarkRemember measures removing messages of a queue that keeps a history.
func BenchmarkRemember(b *testing.B) {
	q := newTestQueue(store.Settings{History: 1000})
	b.ReportAllocs()
	for b.Loop() {
		q.add(testNow, Meta{Size: 1})
		q.erase(testNow, q.next-1, store.Acked)
	}
}

// BenchmarkTail measures giving back and receiving again the first message of a group of which 10,000 are leased, in short
// groups and in long ones.
func BenchmarkTail(b *testing.B) {
	for _, n := range []int{20_000, 1_000_000} {
		q := newTestQueue(store.Settings{Mode: store.FIFO, Tail: true})
		for range n {
			q.add(testNow, Meta{Size: 1, Group: "g"})
		}
		p := store.ClaimParams{Max: 10_000, MaxBytes: 1 << 40, Visibility: time.Hour}
		first, _, _ := q.Claim(testNow, p)
		p.Max = 1
		b.Run(fmt.Sprintf("%d messages", n), func(b *testing.B) {
			token := q.slots.slab[q.mustFind(first.Seqs[0])].token
			for b.Loop() {
				q.Settle(testNow, store.SettleParams{Items: []store.SettleItem{{Seq: first.Seqs[0], Token: token, Target: store.Ready}}})
				ev, _, _ := q.Claim(testNow, p)
				if len(ev.Seqs) != 1 {
					b.Fatalf("claimed %v, want the first alone", ev.Seqs)
				}
				token = ev.Token
			}
		})
	}
}
