package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dabba-mq/dabba/store"
)

// lease is long enough not to end by itself in a case that is not about the end of leases.
const lease = 30 * time.Second

// fixture is one fresh store with what a case needs around it. Its methods stop the test when a call that should work
// does not.
type fixture struct {
	*testing.T
	harness  Harness
	clock    *Clock
	store    store.Store
	revision map[store.QueueID]uint64
	last     store.QueueID
	restless bool // the store is closed and opened again before each call
}

func setup(t *testing.T, h Harness) *fixture {
	t.Helper()
	f := &fixture{T: t, harness: h, clock: NewClock(), revision: make(map[store.QueueID]uint64)}
	f.store = h.Open(t, f.clock)
	t.Cleanup(func() { h.close(t, f.store) })
	return f
}

// reopen closes the store and opens what it kept.
func (f *fixture) reopen() {
	f.Helper()
	f.store = f.harness.Reopen(f.T, f.store)
}

// pause is called before each call: nobody can see that the store was closed and opened again in between.
func (f *fixture) pause() {
	f.Helper()
	if f.restless {
		f.reopen()
	}
}

// queue configures a new queue at revision 1.
func (f *fixture) queue(s store.Settings) store.QueueID {
	f.Helper()
	f.last++
	// Spread over the whole range: an identity is any number but zero.
	q := f.last * 0x9E3779B97F4A7C15
	f.configure(q, s)
	return q
}

// configure gives the queue settings under its next revision.
func (f *fixture) configure(q store.QueueID, s store.Settings) {
	f.Helper()
	f.pause()
	s.Revision = f.revision[q] + 1
	if err := f.store.Configure(f.Context(), q, s); err != nil {
		f.Fatalf("Configure(%v, %+v) = %v, want nil", q, s, err)
	}
	f.revision[q] = s.Revision
}

// entry is a message whose size is that of its payload.
func entry(body string) store.Entry {
	return store.Entry{Payload: []byte(body), Size: uint32(len(body))}
}

func entries(bodies ...string) []store.Entry {
	list := make([]store.Entry, len(bodies))
	for i, body := range bodies {
		list[i] = entry(body)
	}
	return list
}

func delayed(body string, d time.Duration) store.Entry {
	e := entry(body)
	e.Delay = d
	return e
}

// lasting is a message with a time to live.
func lasting(body string, ttl time.Duration) store.Entry {
	e := entry(body)
	e.TTL = ttl
	return e
}

// grouped is a message of a group.
func grouped(body, group string) store.Entry {
	e := entry(body)
	e.Group = group
	return e
}

// prioritized is a message with a priority.
func prioritized(body string, priority uint8) store.Entry {
	e := entry(body)
	e.Priority = priority
	return e
}

func (f *fixture) send(q store.QueueID, bodies ...string) store.SendResult {
	f.Helper()
	return f.sendEntries(q, entries(bodies...)...)
}

func (f *fixture) sendEntries(q store.QueueID, list ...store.Entry) store.SendResult {
	f.Helper()
	return f.sendOnce(q, nil, list...)
}

func (f *fixture) sendOnce(q store.QueueID, once *store.Once, list ...store.Entry) store.SendResult {
	f.Helper()
	return f.sendWith(store.SendParams{Queue: q, Revision: f.revision[q], Entries: list, Once: once})
}

func (f *fixture) sendWith(p store.SendParams) store.SendResult {
	f.Helper()
	f.pause()
	r, err := f.store.Send(f.Context(), p)
	if err != nil {
		f.Fatalf("Send(%d entries, once %+v) = %v, want nil", len(p.Entries), p.Once, err)
	}
	return r
}

// sendGroup sends messages of one group.
func (f *fixture) sendGroup(q store.QueueID, group string, bodies ...string) store.SendResult {
	f.Helper()
	list := entries(bodies...)
	for i := range list {
		list[i].Group = group
	}
	return f.sendEntries(q, list...)
}

// claimParams ask for up to limit messages without a bound on their sizes.
func (f *fixture) claimParams(q store.QueueID, limit int) store.ClaimParams {
	return store.ClaimParams{
		Queue: q, Revision: f.revision[q], Max: limit, MaxBytes: 1 << 40, Visibility: lease, Consumer: "consumer",
	}
}

func (f *fixture) claim(q store.QueueID, limit int) store.ClaimResult {
	f.Helper()
	return f.claimWith(f.claimParams(q, limit))
}

func (f *fixture) claimFor(q store.QueueID, limit int, visibility time.Duration) store.ClaimResult {
	f.Helper()
	p := f.claimParams(q, limit)
	p.Visibility = visibility
	return f.claimWith(p)
}

func (f *fixture) claimWith(p store.ClaimParams) store.ClaimResult {
	f.Helper()
	f.pause()
	r, err := f.store.Claim(f.Context(), p)
	if err != nil {
		f.Fatalf("Claim(%+v) = %v, want nil", p, err)
	}
	return r
}

// wantClaim claims up to limit messages and expects exactly these, in this order.
func (f *fixture) wantClaim(q store.QueueID, limit int, want ...string) store.ClaimResult {
	f.Helper()
	r := f.claim(q, limit)
	f.equal(fmt.Sprintf("Claim(max %d)", limit), bodies(r), want)
	return r
}

// claimOne claims exactly one message.
func (f *fixture) claimOne(q store.QueueID) (store.Delivery, store.Token) {
	f.Helper()
	r := f.claim(q, 1)
	if len(r.Messages) != 1 {
		f.Fatalf("Claim(max 1): got %d messages, want 1", len(r.Messages))
	}
	return r.Messages[0], r.Token
}

func bodies(r store.ClaimResult) []string {
	list := make([]string, len(r.Messages))
	for i, m := range r.Messages {
		list[i] = string(m.Payload)
	}
	return list
}

// item settles a message.
func item(seq store.Seq, token store.Token, target store.Target, after time.Duration) store.SettleItem {
	return store.SettleItem{Seq: seq, Token: token, Target: target, After: after}
}

// items turn all messages of a claim into the same thing.
func items(r store.ClaimResult, target store.Target, after time.Duration) []store.SettleItem {
	list := make([]store.SettleItem, len(r.Messages))
	for i, m := range r.Messages {
		list[i] = item(m.Seq, r.Token, target, after)
	}
	return list
}

func (f *fixture) settle(q store.QueueID, list ...store.SettleItem) store.SettleResult {
	f.Helper()
	return f.settleWith(store.SettleParams{Queue: q, Revision: f.revision[q], Items: list})
}

func (f *fixture) settleWith(p store.SettleParams) store.SettleResult {
	f.Helper()
	f.pause()
	r, err := f.store.Settle(f.Context(), p)
	if err != nil {
		f.Fatalf("Settle(%+v) = %v, want nil", p, err)
	}
	if p.Select == nil && len(r.Outcomes) != len(p.Items) {
		f.Fatalf("Settle(%+v): got %d outcomes, want %d", p, len(r.Outcomes), len(p.Items))
	}
	return r
}

// wantSettle settles one message and expects this outcome.
func (f *fixture) wantSettle(q store.QueueID, i store.SettleItem, want store.Outcome) {
	f.Helper()
	if got := f.settle(q, i).Outcomes[0]; got != want {
		f.Fatalf("Settle(%+v): got outcome %d, want %d", i, got, want)
	}
}

// wantStrict does the same with Strict set.
func (f *fixture) wantStrict(q store.QueueID, i store.SettleItem, want store.Outcome) {
	f.Helper()
	p := store.SettleParams{Queue: q, Revision: f.revision[q], Items: []store.SettleItem{i}, Strict: true}
	if got := f.settleWith(p).Outcomes[0]; got != want {
		f.Fatalf("Settle(%+v, strict): got outcome %d, want %d", i, got, want)
	}
}

// finish settles all messages of a claim as done.
func (f *fixture) finish(q store.QueueID, r store.ClaimResult) {
	f.Helper()
	f.wantSettleAll(q, r, store.Done, 0)
}

// wantSettleAll settles all messages of a claim and expects that to work.
func (f *fixture) wantSettleAll(q store.QueueID, r store.ClaimResult, target store.Target, after time.Duration) {
	f.Helper()
	list := items(r, target, after)
	for i, outcome := range f.settle(q, list...).Outcomes {
		if outcome != store.Settled {
			f.Fatalf("Settle(%+v): got outcome %d, want %d", list[i], outcome, store.Settled)
		}
	}
}

// bury sends messages and makes each of them dead for the reason.
func (f *fixture) bury(q store.QueueID, reason string, bodies ...string) {
	f.Helper()
	f.send(q, bodies...)
	r := f.wantClaim(q, len(bodies), bodies...)
	list := items(r, store.Dead, 0)
	for i := range list {
		list[i].Reason = reason
	}
	for i, outcome := range f.settle(q, list...).Outcomes {
		if outcome != store.Settled {
			f.Fatalf("Settle(%+v): got outcome %d, want %d", list[i], outcome, store.Settled)
		}
	}
}

// theDead selects dead messages and nothing else, which moves the oldest first.
var theDead = store.Selection{States: store.StateDead}

func (f *fixture) move(p store.MoveParams) store.MoveResult {
	f.Helper()
	f.pause()
	r, err := f.store.Move(f.Context(), p)
	if err != nil {
		f.Fatalf("Move(%+v) = %v, want nil", p, err)
	}
	return r
}

func (f *fixture) sweep(q store.QueueID) store.SweepResult {
	f.Helper()
	f.pause()
	r, err := f.store.Sweep(f.Context(), q)
	if err != nil {
		f.Fatalf("Sweep(%v) = %v, want nil", q, err)
	}
	return r
}

func (f *fixture) stats(q store.QueueID) store.Stats {
	f.Helper()
	f.pause()
	s, err := f.store.Stats(f.Context(), q)
	if err != nil {
		f.Fatalf("Stats(%v) = %v, want nil", q, err)
	}
	return s
}

// counts are the numbers of a queue that are equal to the message at each moment.
type counts struct{ Ready, Leased, Delayed, Dead, Bytes int64 }

func (f *fixture) wantCounts(q store.QueueID, when string, want counts) {
	f.Helper()
	s := f.stats(q)
	f.equal("Stats "+when, counts{s.Ready, s.Leased, s.Delayed, s.Dead, s.Bytes}, want)
}

// equal stops the test when what a call returned is not what was wanted.
func (f *fixture) equal(call string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("%s: got %v, want %v; (-want +got):\n%s", call, got, want, diff)
	}
}

// wantError stops the test when a call did not fail with this error.
func (f *fixture) wantError(call string, got, want error) {
	f.Helper()
	if !errors.Is(got, want) {
		f.Fatalf("%s: got error %v, want %v", call, got, want)
	}
}

// canceled is a context that is over.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
