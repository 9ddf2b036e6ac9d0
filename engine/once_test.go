package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

func TestNoteKeepsOutcomes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 4, 5, MaxBatch} {
		first := make([]SendOutcome, n)
		for i := range first {
			first[i].Err = []*Error{nil, invalid("x", ""), {Code: CodeTooLarge}}[i%3]
		}
		b := note(first)
		if len(b) > 1024 {
			t.Errorf("note of %d outcomes has %d bytes; the store allows 1024", n, len(b))
		}
		repeat := make([]SendOutcome, n)
		repeat[n-1].Err = invalid("y", "")
		if err := recall(repeat, b); err != nil {
			t.Fatalf("recall(%x): %v", b, err)
		}
		for i := range first {
			if got, want := verdictBits(repeat[i].Err), verdictBits(first[i].Err); got != want {
				t.Errorf("outcome %d of %d: got %v, want %v", i, n, repeat[i].Err, first[i].Err)
			}
		}
		if err := recall(make([]SendOutcome, n+1), b); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("recall of a note for %d messages with %d: got %v, want ErrCorrupt", n, n+1, err)
		}
	}
}

func TestOnceTellsRequestsApart(t *testing.T) {
	t.Parallel()
	second, minute := time.Second, time.Minute
	at := time.Unix(1, 0)
	requests := []SendRequest{
		{Messages: []Message{{Body: []byte("ab")}}},
		{Messages: []Message{{Body: []byte("a")}, {Body: []byte("b")}}},
		{Messages: []Message{{Body: []byte("ab"), ContentType: "text/plain"}}},
		{Messages: []Message{{Body: []byte("ab"), TraceParent: "text/plain"}}},
		{Messages: []Message{{Body: []byte("ab"), Attributes: []Attribute{{Name: "n"}}}}},
		{Messages: []Message{{Body: []byte("ab"), Attributes: []Attribute{{Type: "n"}}}}},
		{Messages: []Message{{Body: []byte("ab"), Delay: &second}}},
		{Messages: []Message{{Body: []byte("ab"), Delay: &minute}}},
		{Messages: []Message{{Body: []byte("ab"), DeliverAt: &at}}},
		{Messages: []Message{{Body: []byte("ab"), Group: "g"}}},
		{Messages: []Message{{Body: []byte("ab"), DedupID: "g"}}},
		{Messages: []Message{{Body: []byte("ab"), Priority: 1}}},
		{Messages: []Message{{Body: []byte("ab"), TTL: &second}}},
		{Messages: []Message{{Body: []byte("ab"), TTL: &minute}}},
	}
	seen := make(map[[16]byte]int)
	for i, r := range requests {
		r.Key = &IdempotencyKey{"p", "/x", "k"}
		o := once("t", r, make([]SendOutcome, len(r.Messages)))
		if j, twice := seen[o.Fingerprint]; twice {
			t.Errorf("requests %d and %d have the same fingerprint", j, i)
		}
		seen[o.Fingerprint] = i
	}
	keys := make(map[[16]byte]IdempotencyKey)
	for _, k := range []IdempotencyKey{{"p", "x", "k"}, {"px", "", "k"}, {"p", "xk", ""}, {"", "px", "k"}} {
		for _, tenant := range []string{"t", "tp"} {
			o := once(tenant, SendRequest{Key: &k}, nil)
			if other, twice := keys[o.Key]; twice {
				t.Errorf("%+v of tenant %s and %+v are the same key", k, tenant, other)
			}
			keys[o.Key] = k
		}
	}
}
