package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// killed is a server that syncs before it answers, with what callers know of a queue, a log and a key when it is killed.
type killed struct {
	*testing.T
	server *redistest.Server
	store  *Store

	mu        sync.Mutex
	sent      map[string]bool // messages; false if it is not known whether they were accepted
	acked     map[string]bool // the same of acknowledgements
	appended  map[store.Offset]string
	revisions map[string]store.Revision // keys by the last revision that is known
	calls     int
}

// TestKilledServer kills the server under load, again and again. What it has acknowledged is there when it is back, what
// was deleted is not, and the store goes on without being opened again.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	k := &killed{
		T: t, server: redistest.Start(t, "--appendfsync", "always"),
		sent: make(map[string]bool), acked: make(map[string]bool), appended: make(map[store.Offset]string),
		revisions: make(map[string]store.Revision),
	}
	k.store = open(t, Options{URL: k.server.URL})
	ctx := t.Context()
	if err := k.store.Configure(ctx, 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if err := k.store.ConfigureLog(ctx, 1, store.LogSettings{Revision: 1, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		k.round(round)
		k.check(round)
	}
	t.Logf("%d calls, %d messages, %d records", k.calls, len(k.sent), len(k.appended))
}

// round lets callers work until each has met the end of the server, and starts it again.
func (k *killed) round(round int) {
	k.Helper()
	const callers = 4
	var work sync.WaitGroup
	busy := make(chan struct{}, 1000)
	for i := range callers {
		for name, call := range map[string]func(context.Context, string) error{
			"send": k.send, "consume": k.consume, "append": k.append, "put": k.put,
		} {
			work.Go(func() {
				for n := 0; ; n++ {
					err := call(k.Context(), fmt.Sprintf("%d.%s.%d.%d", round, name, i, n))
					if err != nil {
						k.wantDown(name, err)
						return
					}
					select {
					case busy <- struct{}{}:
					default:
					}
				}
			})
		}
	}
	for range 200 { // calls later, in the middle of others
		<-busy
	}
	k.server.Kill()
	work.Wait()
	k.server.Restart(k.T)
}

// wantDown expects an error that a killed server explains.
func (k *killed) wantDown(call string, err error) {
	if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) {
		k.Errorf("%s while the server was killed = %v, want %v or %v", call, err, store.ErrUnknown, store.ErrUnavailable)
	}
}

// note keeps what a call has taught about something, unless nothing was changed.
func (k *killed) note(known map[string]bool, what string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if err == nil || errors.Is(err, store.ErrUnknown) {
		known[what] = err == nil
	}
}

func (k *killed) send(ctx context.Context, body string) error {
	_, err := k.store.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte(body)}}})
	k.note(k.sent, body, err)
	return err
}

// consume receives a message and acknowledges it.
func (k *killed) consume(ctx context.Context, name string) error {
	r, err := k.store.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 1, MaxBytes: 1, Visibility: time.Millisecond})
	if err != nil || len(r.Messages) == 0 {
		return err
	}
	m := r.Messages[0]
	s, err := k.store.Settle(ctx, store.SettleParams{Queue: 1, Revision: 1, Items: []store.SettleItem{{Seq: m.Seq, Token: r.Token, Target: store.Done}}})
	if err == nil && s.Outcomes[0] != store.Settled {
		return nil // its lease had ended, and another one has it
	}
	k.note(k.acked, string(m.Payload), err)
	return err
}

func (k *killed) append(ctx context.Context, body string) error {
	r, err := k.store.Append(ctx, store.AppendParams{
		Log: 1, Revision: 1, Parts: []store.AppendPart{{Records: []store.LogRecord{{Payload: []byte(body)}}}},
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if err == nil {
		k.appended[r.Parts[0].First] = body
	}
	return err
}

func (k *killed) put(ctx context.Context, key string) error {
	r, err := k.store.Put(ctx, key, []byte(key), store.AnyRevision)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if err == nil {
		k.revisions[key] = r
	}
	return err
}

// check compares what is there with what is known.
func (k *killed) check(round int) {
	k.Helper()
	there := make(map[string]bool)
	for from, more := store.Seq(1), true; more; more = from != 0 {
		r, err := k.store.Scan(k.Context(), store.ScanParams{Queue: 1, Select: store.Selection{From: from}, Limit: 1000, MaxBytes: 1 << 20})
		if err != nil {
			k.Fatalf("Scan after the server came back for the %d. time = %v, want nil", round+1, err)
		}
		for _, v := range r.Views {
			there[string(v.Payload)] = true
		}
		from = r.Next
	}
	for body, sure := range k.sent {
		if done, tried := k.acked[body]; sure && !tried && !there[body] {
			k.Errorf("message %s was acknowledged and is lost", body)
		} else if done && there[body] {
			k.Errorf("message %s was deleted and is there", body)
		}
	}
	for o, body := range k.appended {
		r, err := k.store.Fetch(k.Context(), store.FetchParams{Log: 1, Offset: o, Max: 1})
		if err != nil || len(r.Records) != 1 || string(r.Records[0].Payload) != body {
			k.Errorf("Fetch(%d) = %+v, %v; want %s, which was acknowledged", o, r.Records, err, body)
		}
	}
	keys := make([]string, 0, len(k.revisions))
	for key := range k.revisions {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if p, err := k.store.Get(k.Context(), key); err != nil || p.Revision != k.revisions[key] {
			k.Errorf("Get(%s) = %+v, %v; want revision %d, which was acknowledged", key, p, err, k.revisions[key])
		}
	}
}
