package model

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// FuzzEvents feeds every decoder of events. None may panic or allocate more than the input justifies, and what decodes
// must encode to the same bytes.
func FuzzEvents(f *testing.F) {
	f.Add(uint8(0), Configured{At: 1, Created: true, Settings: store.Settings{Revision: 2}}.Encode(nil))
	f.Add(uint8(0), Configured{At: 1, Settings: store.Settings{Revision: 2, Mode: store.FIFO, Tail: true, ExpiredDead: true}}.Encode(nil))
	f.Add(uint8(1), Claimed{At: 1, Token: 3, Consumer: "c", Seqs: []store.Seq{1, 2}}.Encode(nil))
	f.Add(uint8(2), Settled{At: 1, Changes: []Change{{Seq: 1, Target: store.Ready, Reason: "r"}}}.Encode(nil))
	f.Add(uint8(3), Swept{At: 1, Expired: []store.Seq{7}}.Encode(nil))
	f.Add(uint8(7), Purged{At: 1, Seqs: []store.Seq{7}}.Encode(nil))
	f.Add(uint8(1), Claimed{At: 1, Lapsed: []store.Seq{1}, Attempt: attemptKey{1}, AttemptEnds: 5}.Encode(nil))
	f.Add(uint8(1), Claimed{At: 1, Token: 2, Seqs: []store.Seq{1}, Repeated: true}.Encode(nil))
	f.Add(uint8(2), Settled{At: 1, Changes: []Change{{Seq: 1, Target: store.Ready, Backs: true}, {Seq: 2, Target: store.Leased, Due: 9}}}.Encode(nil))
	f.Add(uint8(3), Swept{At: 1, Lapsed: []store.Seq{7, 8}}.Encode(nil))
	f.Add(uint8(4), Restarted{Reading: Reading{At: 1}}.Encode(nil))
	f.Add(uint8(5), Changed{Pair: store.Pair{Key: "k", Value: []byte("v"), Revision: 1}}.Encode(nil))
	f.Add(uint8(6), Kept{Seq: 1, Stored: Stored{Size: 1, Payload: []byte("p")}}.Encode(nil))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		var again []byte
		var err error
		switch kind % 8 {
		case 0:
			again, err = encodeAgain(DecodeConfigured(b))
		case 1:
			again, err = encodeAgain(DecodeClaimed(b))
		case 2:
			again, err = encodeAgain(DecodeSettled(b))
		case 3:
			again, err = encodeAgain(DecodeSwept(b))
		case 4:
			again, err = encodeAgain(DecodeRestarted(b))
		case 5:
			again, err = encodeAgain(DecodeChanged(b))
		case 6:
			again, err = encodeAgain(DecodeKept(b))
		case 7:
			again, err = encodeAgain(DecodePurged(b))
		}
		if err == nil && len(again) != len(b) {
			t.Errorf("kind %d: %x decodes, but encodes to %x", kind%8, b, again)
		}
	})
}

func encodeAgain[E interface{ Encode(b []byte) []byte }](ev E, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return ev.Encode(nil), nil
}

// FuzzBatch feeds the decoder of records that carry messages. Their checksum is made right, so that the fuzzer gets
// behind it.
func FuzzBatch(f *testing.F) {
	payloads := [][]byte{[]byte("one"), []byte("two")}
	plain := Sent{Entries: []Meta{{Size: 3}, {Size: 3}}}
	rich := Sent{
		Entries: []Meta{{Size: 3, Delay: 5, Group: "g", Dedup: store.DedupKey{1}}, {Size: 3, TTL: 7, Priority: 9, InOrder: true}},
		Once:    &store.Once{Note: []byte("n")}, Evictions: []Eviction{{1, 4}}, Fates: encodeFates([]store.Fate{{Verdict: store.Accepted}}),
	}
	f.Add(EncodeSent(nil, plain, payloads))
	f.Add(EncodeSent(nil, rich, payloads))
	f.Add(EncodeMoved(nil, 3, []Moved{
		{Body: Body{Seq: 4, Group: "g", Priority: 9}, Origin: &store.Origin{Queue: 2, Seq: 1, Label: "l", Reason: "r"}, NewSize: 3, Payload: []byte("two")},
		{Body: Body{Seq: 5, Group: "h"}},
	}))
	f.Add(EncodeMoved(nil, 3, []Moved{{Body: Body{Seq: 4, Group: "g", Expires: 8}, NewSize: 3, Payload: []byte("two")}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := HeadLen(b); n >= headStart && n <= len(b) {
			Stamp(b, 7, 1, 1)
		}
		batch, err := DecodeBatch(b, 7)
		if err != nil {
			return
		}
		batch.Sent()
		batch.MovedIn()
		batch.Bytes()
		for i := range min(batch.Len(), 10) {
			_, _ = batch.Message(batch.First + store.Seq(i))
		}
	})
}

// FuzzRestore feeds the decoders of whole states. A state that is accepted must work, and freeze to the same bytes.
func FuzzRestore(f *testing.F) {
	q := NewQueue(7)
	q.Configure(1000, store.Settings{
		Revision: 1, MaxReceives: 2, Retention: 1 << 40, Mode: store.FIFO, DedupWindow: 1 << 40, History: 3,
	})
	for range 3 {
		_, _, _, _ = q.Send(1000, Sending{
			Entries: []Meta{{Size: 10, Group: "g"}, {Size: 20, Delay: 4000, Group: "h", TTL: 10_000, InOrder: true}, {Dedup: store.DedupKey{1}}},
			Once:    &store.Once{Key: [16]byte{1}, Window: 1 << 40},
		})
	}
	q.Claim(1001, store.ClaimParams{Max: 1, MaxBytes: 100, Visibility: 1 << 30, Consumer: "c"})
	f.Add(q.Freeze().Encode(nil))
	for i := range uint64(8) { // of all modes, with all that a state can hold
		h := newHistory(f, rand.New(rand.NewPCG(i, 0)))
		for range 20 + 10*i {
			h.step()
		}
		f.Add(h.q.Freeze().Encode(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := RestoreKV(b); err == nil && len(b) < 12 {
			t.Errorf("a key-value state of %d bytes was accepted", len(b))
		}
		q, err := Restore(7, b)
		if err != nil {
			return
		}
		if again := q.Freeze().Encode(nil); !bytes.Equal(again, b) {
			if _, err := Restore(7, again); err != nil {
				t.Errorf("a restored state cannot be restored again: %v", err)
			}
		}
		now := max(Millis(1<<40), q.now)
		q.Stats(now)
		q.Claim(now, store.ClaimParams{Max: 10, MaxBytes: 1 << 20})
		q.Scan(now, &store.Selection{}, 10, 1<<20)
		q.Scan(now, &store.Selection{States: store.StateDead | store.StateLeased}, 10, 1<<20)
		q.Groups(now, nil, 10)
		q.Lookup(now, 7, 1)
		if q.next < 1<<60 {
			_, _, _, _ = q.Send(now, Sending{Entries: []Meta{{Size: 1, Group: "g", Dedup: store.DedupKey{1}, InOrder: true, displace: true}}})
		}
		q.Sweep(now)
		q.Settle(now, store.SettleParams{Select: &store.Selection{}, Each: store.SettleItem{Target: store.Dead}})
		q.Purge(now, &store.Selection{})
	})
}
