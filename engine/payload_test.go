package engine

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

func encode(m *Message) []byte { return append(appendHead(nil, m), m.Body...) }

func TestPayloadKeepsMessage(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]Message{
		"empty":   {},
		"body":    {Body: []byte("hello")},
		"id":      {Body: []byte("hello"), DedupID: "d", ContentType: "text/plain"},
		"headers": {Body: []byte{0, 1}, ContentType: "image/jpeg", TraceParent: "00-ab-cd-01"},
		"attributes": {Attributes: []Attribute{
			{Name: "b", Type: "Binary", Value: []byte{0xff}},
			{Name: "a", Value: []byte("text")},
			{Name: "empty", Type: "Custom.type", Value: []byte{}},
		}},
		"long": {Body: bytes.Repeat([]byte("x"), 20_000), Attributes: []Attribute{{Name: "n", Value: make([]byte, 300)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := encode(&m)
			if bound := payloadBound(&m); len(p) > bound {
				t.Errorf("encoded message has %d bytes, payloadBound promised at most %d", len(p), bound)
			}
			var d Delivery
			if err := decodePayload(p, &d); err != nil {
				t.Fatalf("decodePayload(%.20x): %v", p, err)
			}
			got := Message{Body: d.Body, ContentType: d.ContentType, Attributes: d.Attributes, TraceParent: d.TraceParent, DedupID: d.DedupID}
			if m.Body == nil {
				m.Body = []byte{}
			}
			if diff := cmp.Diff(m, got); diff != "" {
				t.Errorf("message changed on the way (-sent +got):\n%s", diff)
			}
		})
	}
}

func TestPayloadSharesMemory(t *testing.T) {
	t.Parallel()
	p := encode(&Message{Body: []byte("body"), Attributes: []Attribute{{Name: "n", Value: []byte("value")}}})
	var d Delivery
	if err := decodePayload(p, &d); err != nil {
		t.Fatal(err)
	}
	if &d.Body[0] != &p[len(p)-4] {
		t.Error("the body was copied")
	}
	if cap(d.Attributes[0].Value) != len(d.Attributes[0].Value) {
		t.Error("appending to an attribute's value would overwrite what follows it")
	}
}

func TestPayloadCutShortIsCorrupt(t *testing.T) {
	t.Parallel()
	m := Message{ContentType: "text/plain", TraceParent: "tp", Attributes: []Attribute{{Name: "n", Type: "t", Value: []byte("v")}}}
	p := encode(&m)
	for n := range len(p) {
		if err := decodePayload(p[:n], new(Delivery)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("decodePayload of the first %d of %d bytes: got %v, want ErrCorrupt", n, len(p), err)
		}
	}
	p[0] = payloadVersion + 1
	if err := decodePayload(p, new(Delivery)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("decodePayload of another version: got %v, want ErrCorrupt", err)
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(encode(&Message{Body: []byte("b"), ContentType: "c", Attributes: []Attribute{{Name: "n", Type: "t", Value: []byte("v")}}}))
	f.Add([]byte{payloadVersion, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, p []byte) {
		var d Delivery
		if decodePayload(p, &d) != nil {
			return
		}
		m := Message{Body: d.Body, ContentType: d.ContentType, Attributes: d.Attributes, TraceParent: d.TraceParent}
		var again Delivery
		if err := decodePayload(encode(&m), &again); err != nil {
			t.Fatalf("decodePayload of what was decoded: %v", err)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatalf("decoded message changed when encoded again:\n%s", diff)
		}
	})
}
