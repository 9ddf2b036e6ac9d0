package model

import (
	"bytes"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// FuzzEvents feeds every decoder of events. None may panic or allocate more than the input justifies, and what decodes
// must encode to the same bytes.
func FuzzEvents(f *testing.F) {
	f.Add(uint8(0), Configured{At: 1, Created: true, Settings: store.Settings{Revision: 2}}.Encode(nil))
	f.Add(uint8(1), Claimed{At: 1, Token: 3, Consumer: "c", Seqs: []store.Seq{1, 2}}.Encode(nil))
	f.Add(uint8(2), Settled{At: 1, Changes: []Change{{Seq: 1, Target: store.Ready, Reason: "r"}}}.Encode(nil))
	f.Add(uint8(3), Swept{At: 1, Expired: []store.Seq{7}}.Encode(nil))
	f.Add(uint8(4), Restarted{At: 1}.Encode(nil))
	f.Add(uint8(5), Changed{Pair: store.Pair{Key: "k", Value: []byte("v"), Revision: 1}}.Encode(nil))
	f.Add(uint8(6), Kept{Seq: 1, Stored: Stored{Size: 1, Payload: []byte("p")}}.Encode(nil))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		var again []byte
		var err error
		switch kind % 7 {
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
		}
		if err == nil && len(again) != len(b) {
			t.Errorf("kind %d: %x decodes, but encodes to %x", kind%7, b, again)
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
	entries := []store.Entry{{Payload: []byte("one"), Size: 3}, {Payload: []byte("two"), Size: 3}}
	f.Add(EncodeSent(nil, entries, nil, nil))
	f.Add(EncodeSent(nil, entries, []Millis{0, 5}, &store.Once{Note: []byte("n")}))
	f.Add(EncodeMoved(nil, 3, []Moved{{Seq: 4, Size: 3, Payload: []byte("two")}}))
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
	q.Configure(1000, store.Settings{Revision: 1, MaxReceives: 2, Retention: 1 << 40})
	for range 3 {
		_, _, _, _ = q.Send(1000, []Meta{{Size: 10}, {Size: 20, Due: 5000}}, &store.Once{Key: [16]byte{1}, Window: 1 << 40})
	}
	q.Claim(1001, store.ClaimParams{Max: 1, MaxBytes: 100, Visibility: 1 << 30, Consumer: "c"})
	f.Add(q.Freeze().Encode(nil))
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
		q.Stats(1 << 40)
		q.Claim(1<<40, store.ClaimParams{Max: 10, MaxBytes: 1 << 20})
	})
}
