package redis

import "testing"

// What a store is measured against does the same work: what is sent comes, once.
func TestBare(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	b, err := OpenBare(t.Context(), Options{URL: url, Prefix: freshPrefix(t, url)}, 4, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	if got := b.Promise(t.Context()); got == "unknown" {
		t.Errorf("Promise = %q", got)
	}
	for range 2 {
		if err := b.Renew(t.Context()); err != nil {
			t.Fatalf("Renew = %v, want nil", err)
		}
		for name, c := range map[string]struct {
			send    func(n int) error
			receive func(n int) (int, error)
		}{
			"scripts": {
				func(n int) error { return b.Send(t.Context(), n) },
				func(n int) (int, error) { return b.Receive(t.Context(), n) },
			},
			"stream": {
				func(n int) error { return b.StreamSend(t.Context(), n) },
				func(n int) (int, error) { return b.StreamReceive(t.Context(), n) },
			},
		} {
			for _, n := range []int{1, 10, 2} {
				if err := c.send(n); err != nil {
					t.Errorf("%s: send %d = %v, want nil", name, n, err)
				}
			}
			for _, want := range []int{10, 3, 0} {
				if got, err := c.receive(10); err != nil || got != want {
					t.Errorf("%s: receive 10 = %d, %v; want %d", name, got, err, want)
				}
			}
		}
	}
	if stats, err := b.store.Stats(t.Context(), b.queue); err != nil || stats.Ready+stats.Leased != 0 {
		t.Errorf("Stats = %+v, %v; want nothing left", stats, err)
	}
}
