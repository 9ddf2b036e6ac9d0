package storetest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// scanCases: looking changes nothing.
var scanCases = []testCase{
	{"shows every message in its state", scanStates},
	{"shows what a receiver would see", scanDelivery},
	{"shows who holds a message", scanLease},
	{"counts and leases nothing", scanChangesNothing},
	{"pages", scanPages},
	{"pages while messages come and go", scanPagesOn},
	{"stops at a number of bytes", scanBytes},
	{"chooses", scanChooses},
	{"finds few among many", scanFew},
	{"shows moved messages with their origin", scanMoved},
	{"works in each mode", scanModes},
	{"refuses an unknown queue", scanRefuses},
}

// scan looks at all messages of a selection, limit at a time.
func (f *fixture) scan(q store.QueueID, sel store.Selection, limit int) []store.View {
	f.Helper()
	var list []store.View
	for range 1000 {
		f.pause()
		r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Select: sel, Limit: limit, MaxBytes: 1 << 30})
		if err != nil {
			f.Fatalf("Scan(%+v) = %v, want nil", sel, err)
		}
		if len(r.Views) > limit {
			f.Fatalf("Scan(%+v, limit %d): got %d messages", sel, limit, len(r.Views))
		}
		list = append(list, r.Views...)
		if r.Next == 0 {
			return list
		}
		if r.Next <= sel.From {
			f.Fatalf("Scan(%+v): got next %d, want it above where the call began", sel, r.Next)
		}
		sel.From = r.Next
	}
	f.Fatalf("Scan(%+v): did not come to an end within 1,000 calls", sel)
	return nil
}

// payloads are those of messages that were looked at.
func payloads(list []store.View) []string {
	var all []string
	for _, v := range list {
		all = append(all, string(v.Payload))
	}
	return all
}

func scanStates(f *fixture) {
	q, r := f.inEachState(store.Settings{})
	list := f.scan(q, store.Selection{}, 100)
	f.equal("Scan", payloads(list), []string{"leased", "backing off", "dead", "delayed", "ready"})
	want := []store.States{store.StateLeased, store.StateDelayed, store.StateDead, store.StateDelayed, store.StateReady}
	due := []time.Time{r.Deadline, f.clock.Now().Add(time.Hour), {}, f.clock.Now().Add(time.Hour), {}}
	for i, v := range list {
		f.equal(fmt.Sprintf("Scan: Seq of message %d", i), v.Seq, store.Seq(i+1))
		f.equal(fmt.Sprintf("Scan: State of message %d", i), v.State, want[i])
		f.equal(fmt.Sprintf("Scan: Due of message %d", i), v.Due, due[i])
	}
}

func scanDelivery(f *fixture) {
	q := f.queue(store.Settings{Levels: 10})
	e := lasting("payload", time.Hour)
	e.Group, e.Priority, e.Size = "g", 4, 99
	f.clock.Advance(1280 * time.Millisecond) // ten ticks
	f.sendEntries(q, e)
	f.settle(q, items(f.claim(q, 1), store.Ready, 0)...)
	seen := f.scan(q, store.Selection{}, 10)[0]
	f.equal("Scan: Receives and Entered", [2]uint32{seen.Receives, seen.Entered}, [2]uint32{1, 1})
	got, _ := f.claimOne(q)
	seen.Receives, seen.Entered = 2, 2
	f.equal("Scan: what a receiver sees", seen.Delivery, got)
	f.equal("Scan: AvailableAt", seen.AvailableAt.UTC(), f.clock.Now())
	f.equal("Scan: Group, Priority and Size", []any{seen.Group, seen.Priority, seen.Size}, []any{"g", uint8(4), uint32(99)})
}

func scanLease(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.clock.Advance(time.Second)
	at := f.clock.Now()
	r := f.claimAs(q, 1, "worker-7")
	f.clock.Advance(time.Second)
	v := f.scan(q, store.Selection{}, 10)[0]
	f.equal("Scan: Token, Consumer and LeasedAt", []any{v.Token, v.Consumer, v.LeasedAt.UTC()}, []any{r.Token, "worker-7", at})
	f.wantSettle(q, item(v.Seq, v.Token, store.Done, 0), store.Settled)
}

func scanChangesNothing(f *fixture) {
	q, r := f.inEachState(store.Settings{MaxReceives: 2})
	before := f.stats(q)
	for range 3 {
		f.scan(q, store.Selection{}, 2)
		f.lookup(q, q, 5)
	}
	f.equal("Stats after looking", f.stats(q), before)
	f.wantStrict(q, items(r, store.Done, 0)[0], store.Settled)
	m, _ := f.claimOne(q)
	f.equal("Claim after looking: Receives", m.Receives, uint32(1))
}

func scanPages(f *fixture) {
	q := f.queue(store.Settings{})
	var want []string
	for i := range 23 {
		want = append(want, fmt.Sprint(i))
	}
	f.send(q, want...)
	for _, limit := range []int{1, 2, 7, 22, 23, 24} {
		f.equal(fmt.Sprintf("Scan by %d", limit), payloads(f.scan(q, store.Selection{}, limit)), want)
	}
}

func scanPagesOn(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c", "d")
	r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Limit: 2, MaxBytes: 1 << 30})
	f.wantError("Scan", err, nil)
	f.equal("Scan of the first page", payloads(r.Views), []string{"a", "b"})
	f.finish(q, f.wantClaim(q, 3, "a", "b", "c"))
	f.send(q, "e")
	f.equal("Scan of the rest", payloads(f.scan(q, store.Selection{From: r.Next}, 2)), []string{"d", "e"})
}

func scanBytes(f *fixture) {
	q := f.queue(store.Settings{})
	big := bytes.Repeat([]byte("x"), 1000)
	for range 5 {
		f.sendEntries(q, store.Entry{Payload: big, Size: 1000})
	}
	seen := 0
	for from := store.Seq(0); ; {
		r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Select: store.Selection{From: from}, Limit: 10, MaxBytes: 2500})
		f.wantError("Scan(max bytes 2500)", err, nil)
		if len(r.Views) < 1 || len(r.Views) > 2 {
			f.Fatalf("Scan(max bytes 2500) of messages of 1,000 bytes: got %d, want one or two", len(r.Views))
		}
		if seen, from = seen+len(r.Views), r.Next; from == 0 {
			break
		}
	}
	f.equal("messages seen", seen, 5)
	r, err := f.store.Scan(f.Context(), store.ScanParams{Queue: q, Limit: 10, MaxBytes: 1})
	f.wantError("Scan(max bytes 1)", err, nil)
	f.equal("Scan(max bytes 1): number of messages", len(r.Views), 1)
}

func scanChooses(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "1", "2", "3")
	f.claimAs(q, 1, "one")
	f.claimAs(q, 1, "two")
	f.sendGroup(q, "g", "4")
	f.sendEntries(q, delayed("5", time.Hour))
	for _, c := range []struct {
		sel  store.Selection
		want []string
	}{
		{store.Selection{States: store.StateReady}, []string{"3", "4"}},
		{store.Selection{States: store.StateLeased}, []string{"1", "2"}},
		{store.Selection{States: store.StateDelayed}, []string{"5"}},
		{store.Selection{States: store.StateDead}, nil},
		{store.Selection{Consumer: "two"}, []string{"2"}},
		{store.Selection{Consumer: "three"}, nil},
		{store.Selection{From: 2, UpTo: 3}, []string{"2", "3"}},
		{store.Selection{Seqs: []store.Seq{1, 5, 9}}, []string{"1", "5"}},
		{store.Selection{Group: new("g")}, []string{"4"}},
		{store.Selection{Group: new(""), States: store.StateReady | store.StateDelayed}, []string{"3", "5"}},
		{store.Selection{AvailableBefore: f.clock.Now()}, nil},
		{store.Selection{AvailableBefore: f.clock.Now().Add(time.Second)}, []string{"1", "2", "3", "4"}},
	} {
		f.equal(fmt.Sprintf("Scan(%+v)", c.sel), payloads(f.scan(q, c.sel, 10)), c.want)
	}
}

func scanFew(f *fixture) {
	q := f.queue(store.Settings{})
	list := make([]store.Entry, 3000)
	list[7].Delay, list[1700].Delay, list[2999].Delay = time.Hour, time.Hour, time.Hour
	f.sendEntries(q, list...)
	var seqs []store.Seq
	for _, v := range f.scan(q, store.Selection{States: store.StateDelayed}, 2) {
		seqs = append(seqs, v.Seq)
	}
	f.equal("Scan for the delayed among many", seqs, []store.Seq{8, 1701, 3000})
}

func scanMoved(f *fixture) {
	source, q := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "broken", "a")
	f.move(store.MoveParams{Source: source, Target: q, Select: theDead, Limit: 1, Label: "source"})
	v := f.scan(q, store.Selection{}, 10)[0]
	if v.Origin == nil {
		f.Fatal("Scan of a moved message: got no origin")
	}
	f.equal("Scan of a moved message: Queue, Seq, Label and Reason",
		[]any{v.Origin.Queue, v.Origin.Seq, v.Origin.Label, v.Origin.Reason}, []any{source, store.Seq(1), "source", "broken"})
	f.equal("Scan of a moved message: Receives and Entered", [2]uint32{v.Receives, v.Entered}, [2]uint32{1, 0})
}

func scanModes(f *fixture) {
	for _, s := range []store.Settings{{Levels: 10}, {Mode: store.Fair}, {Mode: store.FIFO}} {
		q := f.queue(s)
		f.sendEntries(q, prioritized("a", 1), grouped("b", "g"), prioritized("c", 9), delayed("d", time.Hour))
		f.claim(q, 1)
		f.equal(fmt.Sprintf("Scan of a queue of %+v", s), payloads(f.scan(q, store.Selection{}, 3)), []string{"a", "b", "c", "d"})
	}
}

func scanRefuses(f *fixture) {
	_, err := f.store.Scan(f.Context(), store.ScanParams{Queue: 404, Limit: 1, MaxBytes: 1})
	f.wantError("Scan of an unknown queue", err, store.ErrGone)
}
