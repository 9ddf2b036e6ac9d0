package engine

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// unbounded is more than any test has.
var unbounded = budget{matches: math.MaxInt, answer: math.MaxInt64, payloads: math.MaxInt64, time: time.Hour}

// withMessages opens an engine that has a queue with so many messages, whose bodies are body 0, body 1 and so on.
func withMessages(t *testing.T, n int) (*Engine, *queue) {
	t.Helper()
	e, err := Open(t.Context(), memory.New(memory.Options{Now: time.Now}), Options{Now: time.Now, Rand: cryptorand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	ref := Ref{"acme", "work"}
	if _, _, err := e.PutQueue(t.Context(), ref, DefaultConfig(), Condition{}); err != nil {
		t.Fatal(err)
	}
	var req SendRequest
	for i := range n {
		req.Messages = append(req.Messages, Message{Body: fmt.Appendf(nil, "body %d", i)})
		if len(req.Messages) == MaxBatch || i == n-1 {
			if _, err := e.Send(t.Context(), ref, req); err != nil {
				t.Fatal(err)
			}
			req.Messages = nil
		}
	}
	q, _, err := e.lookup(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return e, q
}

func (e *Engine) mustScan(t *testing.T, q *queue, f Filter, from store.Seq, b budget) catch {
	t.Helper()
	s, err := e.sieve(t.Context(), q, &f)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.scan(t.Context(), q, s, from, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScanStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	e, q := withMessages(t, 3*scanMessages)
	for name, tc := range map[string]struct {
		filter  Filter
		change  func(*budget)
		matches int
		scanned int
		next    store.Seq
	}{
		"all":                    {Filter{}, func(*budget) {}, 3 * scanMessages, 3 * scanMessages, 0},
		"matches":                {Filter{}, func(b *budget) { b.matches = 3 }, 3, 3, 4},
		"matches among many":     {Filter{Contains: "9"}, func(b *budget) { b.matches = 2 }, 2, 20 + 9, 20 + 10},
		"answer":                 {Filter{}, func(b *budget) { b.answer = 3 * int64(len("body 0")) }, 3, 3, 4},
		"answer of one too big":  {Filter{}, func(b *budget) { b.answer = 1 }, 1, 1, 2},
		"payloads":               {Filter{Contains: "none"}, func(b *budget) { b.payloads = 1 }, 0, 1, 2},
		"time":                   {Filter{Contains: "none"}, func(b *budget) { b.time = 0 }, 0, scanMessages, scanMessages + 1},
		"nothing there":          {Filter{States: []State{StateDead}}, func(*budget) {}, 0, 0, 0},
		"no id":                  {Filter{IDs: []MessageID{}}, func(*budget) {}, 0, 0, 0},
		"an id that never was":   {Filter{IDs: []MessageID{{1}}}, func(*budget) {}, 0, 0, 0},
		"not old enough":         {Filter{OlderThan: new(time.Hour)}, func(*budget) {}, 0, 0, 0},
		"attribute of no use":    {Filter{Attributes: map[string]string{"a": "b"}}, func(*budget) {}, 0, 3 * scanMessages, 0},
		"group that is not here": {Filter{Group: new("a")}, func(*budget) {}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := unbounded
			tc.change(&b)
			c := e.mustScan(t, q, tc.filter, 0, b)
			if len(c.views) != tc.matches || c.scanned != tc.scanned || c.next != tc.next {
				t.Errorf("scan = %d matches, %d scanned, next %d; want %d, %d, %d",
					len(c.views), c.scanned, c.next, tc.matches, tc.scanned, tc.next)
			}
		})
	}
}

// TestScanGoesOnWhereItStopped follows scans with random budgets to the end: each match is found once, in order.
func TestScanGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const n = 1000
	e, q := withMessages(t, n)
	var want []string
	for i := range n {
		if body := fmt.Sprintf("body %d", i); strings.Contains(body, "7") {
			want = append(want, body)
		}
	}
	for range 20 {
		var got []string
		for from := store.Seq(0); ; {
			c := e.mustScan(t, q, Filter{Contains: "7"}, from, budget{
				matches: 1 + random.IntN(50), answer: 1 + random.Int64N(200), payloads: 1 + random.Int64N(5000), time: time.Hour,
			})
			for i := range c.views {
				var d Delivery
				if err := decodePayload(c.views[i].Payload, &d); err != nil {
					t.Fatal(err)
				}
				got = append(got, string(d.Body))
			}
			if from = c.next; from == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("bodies with a 7 (-want +got):\n%s", diff)
		}
	}
}

func TestSieveLooksIntoMessages(t *testing.T) {
	t.Parallel()
	m := Message{
		Body: []byte("caf\xc3\xa9 \x00\xff"),
		Attributes: []Attribute{
			{Name: "color", Value: []byte("red")}, {Name: "size", Type: "Number", Value: []byte("12")}, {Name: "empty"},
		},
	}
	payload := append(appendHead(nil, &m), m.Body...)
	for name, tc := range map[string]struct {
		filter Filter
		want   bool
	}{
		"nothing":             {Filter{}, true},
		"text":                {Filter{Contains: "fé"}, true},
		"bytes":               {Filter{Contains: "\x00\xff"}, true},
		"half a character":    {Filter{Contains: "\xa9"}, true},
		"other text":          {Filter{Contains: "tea"}, false},
		"text of attributes":  {Filter{Contains: "red"}, false},
		"attribute":           {Filter{Attributes: map[string]string{"color": "red"}}, true},
		"typed attribute":     {Filter{Attributes: map[string]string{"size": "12"}}, true},
		"empty attribute":     {Filter{Attributes: map[string]string{"empty": ""}}, true},
		"missing attribute":   {Filter{Attributes: map[string]string{"weight": ""}}, false},
		"part of a value":     {Filter{Attributes: map[string]string{"color": "re"}}, false},
		"all of several":      {Filter{Contains: "caf", Attributes: map[string]string{"color": "red", "size": "12"}}, true},
		"one of several":      {Filter{Attributes: map[string]string{"color": "red", "size": "13"}}, false},
		"text, not attribute": {Filter{Contains: "caf", Attributes: map[string]string{"color": "blue"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sieve{contains: []byte(tc.filter.Contains), attributes: tc.filter.Attributes}
			if got, err := s.passes(payload); got != tc.want || err != nil {
				t.Errorf("passes = %v, %v; want %v", got, err, tc.want)
			}
		})
	}
	s := sieve{contains: []byte("x")}
	if _, err := s.passes(payload[:3]); err == nil {
		t.Error("passes takes a message that is cut short")
	}
}

func TestFilterIsValidated(t *testing.T) {
	t.Parallel()
	for field, f := range map[string]Filter{
		"state":      {States: []State{StateReady, StateRemoved}},
		"older_than": {OlderThan: new(-time.Second)},
		"ids":        {IDs: make([]MessageID, MaxBatch+1)},
		"contains":   {Contains: strings.Repeat("x", MaxFilterBytes), Attributes: map[string]string{"a": ""}},
	} {
		if err := f.validate(); err == nil || err.Code != CodeInvalidRequest || err.Field != field {
			t.Errorf("validate of a wrong %s = %v", field, err)
		}
	}
}
