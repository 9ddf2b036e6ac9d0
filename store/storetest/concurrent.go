package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var concurrentCases = []testCase{
	{"lets one of many sends with the same key through", onceConcurrent},
	{"claimers never share a message", concurrentClaimers},
	{"senders each keep their order", concurrentSenders},
	{"of two settles with one token one wins", concurrentSettles},
	{"moves take each message once", concurrentMoves},
	{"moves in a circle do not lock up", concurrentCircle},
	{"writers of a key each see the other", concurrentKV},
	{"calls go on while queues come and go", concurrentDrop},
}

// together runs the function n times at once and waits.
func together(n int, run func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	done.Wait()
}

func concurrentClaimers(f *fixture) {
	q := f.queue(store.Settings{})
	const messages, claimers = 2000, 8
	list := make([]store.Entry, messages/10)
	for range 10 {
		f.sendEntries(q, list...)
	}
	var mu sync.Mutex
	held := make(map[store.Seq]store.Token)
	together(claimers, func(i int) {
		for {
			r, err := f.store.Claim(f.Context(), f.claimParams(q, 1+i))
			if err != nil {
				f.Errorf("concurrent Claim = %v, want nil", err)
				return
			}
			if len(r.Messages) == 0 {
				return
			}
			mu.Lock()
			for _, m := range r.Messages {
				if other, taken := held[m.Seq]; taken {
					f.Errorf("concurrent Claim: message %d was given out under token %d and %d", m.Seq, other, r.Token)
				}
				held[m.Seq] = r.Token
			}
			mu.Unlock()
		}
	})
	f.equal("messages given out", len(held), messages)
	f.wantCounts(q, "with all leased", counts{Leased: messages})
}

func concurrentSenders(f *fixture) {
	q := f.queue(store.Settings{})
	const senders, each = 8, 50
	together(senders, func(i int) {
		for n := range each {
			_, err := f.store.Send(f.Context(), store.SendParams{
				Queue: q, Revision: 1, Entries: entries(fmt.Sprint(i, " ", 2*n), fmt.Sprint(i, " ", 2*n+1)),
			})
			if err != nil {
				f.Errorf("concurrent Send = %v, want nil", err)
				return
			}
		}
	})
	r := f.claim(q, 2*senders*each)
	f.equal("messages sent", len(r.Messages), 2*senders*each)
	var next [senders]int
	for i, m := range r.Messages {
		var sender, n int
		if _, err := fmt.Sscan(string(m.Payload), &sender, &n); err != nil {
			f.Fatalf("Claim: got payload %q, want two numbers", m.Payload)
		}
		f.equal("Claim: Seq", m.Seq, store.Seq(i+1))
		f.equal(fmt.Sprintf("Claim: next message of sender %d", sender), n, next[sender])
		if n%2 == 1 {
			f.equal("Claim: message before the second of a batch", string(r.Messages[i-1].Payload), fmt.Sprint(sender, " ", n-1))
		}
		next[sender]++
	}
}

func concurrentSettles(f *fixture) {
	q := f.queue(store.Settings{})
	for range 20 {
		f.send(q, "a")
		r := f.claim(q, 1)
		var settled, gone atomic.Int32
		together(4, func(int) {
			got, err := f.store.Settle(f.Context(), store.SettleParams{Queue: q, Revision: 1, Items: items(r, store.Done, 0)})
			switch {
			case err != nil:
				f.Errorf("concurrent Settle = %v, want nil", err)
			case got.Outcomes[0] == store.Settled:
				settled.Add(1)
			case got.Outcomes[0] == store.Gone:
				gone.Add(1)
			}
		})
		f.equal("settled and gone", [2]int32{settled.Load(), gone.Load()}, [2]int32{1, 3})
	}
}

func concurrentMoves(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	const messages = 200
	f.sendEntries(source, make([]store.Entry, messages)...)
	f.settle(source, items(f.claim(source, messages), store.Dead, 0)...)
	var moved atomic.Int64
	together(4, func(int) {
		for {
			r, err := f.store.Move(f.Context(), store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 7})
			if err != nil {
				f.Errorf("concurrent Move = %v, want nil", err)
				return
			}
			moved.Add(int64(r.Moved))
			if r.Next == 0 {
				return
			}
		}
	})
	f.equal("moved altogether", moved.Load(), int64(messages))
	f.wantCounts(source, "of the source", counts{})
	origins := make(map[store.Seq]bool)
	for _, m := range f.claim(target, messages+1).Messages {
		origins[m.Origin.Seq] = true
	}
	f.equal("different messages in the target", len(origins), messages)
}

func concurrentCircle(f *fixture) {
	var ring [3]store.QueueID
	for i := range ring {
		ring[i] = f.queue(store.Settings{})
		f.send(ring[i], "a", "b", "c")
	}
	together(len(ring), func(i int) {
		for range 30 {
			from, to := ring[i], ring[(i+1)%len(ring)]
			r, err := f.store.Claim(f.Context(), f.claimParams(from, 2))
			if err == nil && len(r.Messages) > 0 {
				_, err = f.store.Settle(f.Context(), store.SettleParams{Queue: from, Revision: 1, Items: items(r, store.Dead, 0)})
			}
			if err == nil {
				_, err = f.store.Move(f.Context(), store.MoveParams{Source: from, Target: to, Select: theDead, Limit: 2})
			}
			if err != nil {
				f.Errorf("a claim, reject and move in a circle = %v, want nil", err)
			}
		}
	})
	var total int64
	for _, q := range ring {
		s := f.stats(q)
		total += s.Ready + s.Leased + s.Delayed + s.Dead
	}
	f.equal("messages in the circle", total, int64(9))
}

func concurrentKV(f *fixture) {
	f.put("counter", []byte("0"), 0)
	const writers, each = 6, 20
	together(writers, func(int) {
		for done := 0; done < each; {
			p, err := f.store.Get(f.Context(), "counter")
			if err != nil {
				f.Errorf("concurrent Get = %v, want nil", err)
				return
			}
			var n int
			if _, err := fmt.Sscan(string(p.Value), &n); err != nil {
				f.Errorf("concurrent Get: got value %q, want a number", p.Value)
				return
			}
			if _, err := f.store.Put(f.Context(), "counter", fmt.Append(nil, n+1), p.Revision); err == nil {
				done++
			}
		}
	})
	p, err := f.store.Get(f.Context(), "counter")
	f.wantError("Get", err, nil)
	f.equal("counter", string(p.Value), fmt.Sprint(writers*each))
}

func concurrentDrop(f *fixture) {
	steady := f.queue(store.Settings{})
	const rounds = 30
	together(3, func(i int) {
		for n := range rounds {
			q := store.QueueID(1000*(i+1) + n)
			err := f.store.Configure(f.Context(), q, store.Settings{Revision: 1})
			if err == nil {
				_, err = f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("a")})
			}
			if err == nil {
				_, err = f.store.Send(f.Context(), store.SendParams{Queue: steady, Revision: 1, Entries: entries("a")})
			}
			if err == nil {
				_, err = f.store.Queues(f.Context(), 0, 100)
			}
			if err == nil {
				err = f.store.Drop(f.Context(), q)
			}
			if err != nil {
				f.Errorf("create, send and drop = %v, want nil", err)
			}
		}
	})
	f.equal("Queues in the end", f.queues(0, 100), []store.QueueID{steady})
	f.clock.Advance(time.Second)
	f.wantCounts(steady, "of the steady queue", counts{Ready: 3 * rounds, Bytes: 3 * rounds})
}
