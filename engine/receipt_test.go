package engine

import (
	"crypto/aes"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func testReceipts(tb testing.TB) receiptCipher {
	tb.Helper()
	block, err := aes.NewCipher([]byte("sixteen byte key"))
	if err != nil {
		tb.Fatal(err)
	}
	return receiptCipher{block}
}

func TestReceiptNamesDelivery(t *testing.T) {
	t.Parallel()
	c := testReceipts(t)
	const q, token = store.QueueID(1<<64 - 1), store.Token(1<<53 - 1)
	s := c.stamper(q, token)
	check := c.checker()
	for _, want := range []receipt{
		{q, 1, token, 1},
		{q, 1<<64 - 1, token, 1<<32 - 1},
	} {
		text := string(s.append(nil, want.seq, want.entered))
		if len(text) != receiptText {
			t.Errorf("receipt %q has %d characters, want %d", text, len(text), receiptText)
		}
		got, ok := check.open(q, text)
		if !ok || got != want {
			t.Errorf("open(%q): got %+v, %t, want %+v", text, got, ok, want)
		}
	}
}

func TestReceiptOfAnotherQueueIsInvalid(t *testing.T) {
	t.Parallel()
	c := testReceipts(t)
	text := string(c.stamper(7, 1).append(nil, 1, 1))
	if _, ok := c.checker().open(8, text); ok {
		t.Error("queue 8 accepted a receipt of queue 7")
	}
}

func TestReceiptChangedAnywhereIsInvalid(t *testing.T) {
	t.Parallel()
	c := testReceipts(t)
	text := string(c.stamper(7, 3).append(nil, 5, 2))
	check := c.checker()
	for i := range len(text) {
		for _, r := range []string{"A", "b", "-", "_", "+", "=", "\n", "\x00"} {
			changed := text[:i] + r + text[i+1:]
			if _, ok := check.open(7, changed); ok && changed != text {
				t.Fatalf("receipt %q with character %d made %q was accepted", text, i, r)
			}
		}
	}
	for _, other := range []string{"", text[:47], text + "A", strings.Repeat("A", 48), strings.Repeat("\n", 48)} {
		if _, ok := check.open(7, other); ok {
			t.Errorf("receipt %q was accepted", other)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	c := testReceipts(f)
	f.Add(string(c.stamper(7, 3).append(nil, 5, 2)))
	f.Add(strings.Repeat("_", receiptText))
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := c.checker().open(7, text)
		if !ok {
			return
		}
		if again := string(c.stamper(r.queue, r.token).append(nil, r.seq, r.entered)); again != text {
			t.Fatalf("receipt %q was read as %+v, which is written as %q", text, r, again)
		}
	})
}

func BenchmarkReceiptStamp(b *testing.B) {
	s := testReceipts(b).stamper(7, 3)
	text := make([]byte, 0, receiptText)
	b.ReportAllocs()
	for b.Loop() {
		text = s.append(text[:0], 5, 2)
	}
}

func BenchmarkReceiptOpen(b *testing.B) {
	c := testReceipts(b)
	text := string(c.stamper(7, 3).append(nil, 5, 2))
	check := c.checker()
	b.ReportAllocs()
	for b.Loop() {
		check.open(7, text)
	}
}
