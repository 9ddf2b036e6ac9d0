package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// moveManyCases are about moves of what is selected, between any two queues.
var moveManyCases = []testCase{
	{"takes messages in the order of their sequences", moveManyOrder},
	{"takes any state but what is leased", moveManyStates},
	{"takes what is selected", moveManySelected},
	{"goes on where it stopped", moveManyGoesOn},
	{"finds few among many", moveManyFew},
	{"loses no arrivals on the way", moveManyArrivals},
	{"keeps group and priority", moveManyFields},
	{"keeps the count of deliveries", moveManyReceives},
	{"keeps the origin of what never died", moveManyOrigin},
	{"replaces the body of one message", moveManyReplace},
	{"replaces nothing of what is not there", moveManyReplaceNothing},
	{"puts messages at the end of their groups", moveManyFIFO},
	{"frees the group that a message leaves", moveManyFreesGroup},
	{"says what it took", moveManyBytes},
	{"loses no dead messages where it stops for their size", moveManyLarge},
	{"refuses an ack of what went away", moveManyLateAck},
}

// moveAll moves all messages of a selection, limit at a time, and returns how many and of what size.
func (f *fixture) moveAll(p store.MoveParams) (moved int, size int64) {
	f.Helper()
	for range 1000 {
		r := f.move(p)
		moved, size = moved+r.Moved, size+r.Bytes
		if r.Next == 0 {
			return moved, size
		}
		if r.Next <= p.Select.From {
			f.Fatalf("Move(%+v): got next %d, want it above where the call began", p, r.Next)
		}
		p.Select.From = r.Next
	}
	f.Fatalf("Move(%+v): did not come to an end within 1,000 calls", p)
	return 0, 0
}

func moveManyOrder(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(source, delayed("a", 30*time.Second), entry("b"), delayed("c", 10*time.Second))
	f.clock.Advance(time.Minute)
	f.settle(source, items(f.wantClaim(source, 3, "b", "c", "a"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: source, Target: target, Select: store.Selection{States: store.StateDead, From: 1}, Limit: 10})
	f.wantClaim(target, 10, "a", "b", "c")
}

func moveManyStates(f *fixture) {
	source, r := f.inEachState(store.Settings{})
	target := f.queue(store.Settings{})
	moved, size := f.moveAll(store.MoveParams{Source: source, Target: target, Limit: 10})
	f.equal("Move of everything: Moved and Bytes", [2]int64{int64(moved), size}, [2]int64{4, 27})
	f.wantCounts(source, "of the source", counts{Leased: 1, Bytes: 6})
	f.wantStrict(source, items(r, store.Done, 0)[0], store.Settled)
	f.wantClaim(target, 10, "backing off", "dead", "delayed", "ready")
}

func moveManySelected(f *fixture) {
	for _, c := range []struct {
		sel  store.Selection
		want []string
	}{
		{store.Selection{Seqs: []store.Seq{2, 4, 99}}, []string{"2", "4"}},
		{store.Selection{From: 2, UpTo: 3}, []string{"2", "3"}},
		{store.Selection{Group: new("g")}, []string{"3"}},
		{store.Selection{Group: new("")}, []string{"1", "2", "4"}},
		{store.Selection{States: store.StateDelayed}, []string{"4"}},
		{store.Selection{States: store.StateReady}, []string{"1", "2", "3"}},
		{store.Selection{AvailableBefore: f.clock.Now().Add(time.Minute)}, []string{"1", "2", "3"}},
		{store.Selection{Consumer: "consumer"}, nil},
	} {
		source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
		f.sendEntries(source, entry("1"), entry("2"), grouped("3", "g"), delayed("4", time.Hour))
		f.moveAll(store.MoveParams{Source: source, Target: target, Select: c.sel, Limit: 10})
		f.equal(fmt.Sprintf("moved by %+v", c.sel), bodies(f.claim(target, 10)), c.want)
		f.equal("messages that stayed", len(f.scan(source, store.Selection{}, 10)), 4-len(c.want))
	}
}

func moveManyGoesOn(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	f.send(source, want...)
	moved, _ := f.moveAll(store.MoveParams{Source: source, Target: target, Select: store.Selection{States: store.StateReady}, Limit: 3})
	f.equal("moved altogether", moved, 20)
	f.wantClaim(target, 30, want...)
}

func moveManyFew(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	list := make([]store.Entry, 3000)
	list[5].Group, list[2000].Group, list[2999].Group = "few", "few", "few"
	f.sendEntries(source, list...)
	moved, _ := f.moveAll(store.MoveParams{Source: source, Target: target, Select: store.Selection{Group: new("few")}, Limit: 10})
	f.equal("moved altogether", moved, 3)
	f.wantCounts(source, "of the source", counts{Ready: 2997})
}

// "Arrivals during a redrive lost."
func moveManyArrivals(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a", "b", "c")
	p := store.MoveParams{Source: source, Target: target, Select: store.Selection{UpTo: 3}, Limit: 1}
	for _, arrival := range []string{"d", "e", "f"} {
		r := f.move(p)
		f.equal("Move(limit 1): Moved", r.Moved, 1)
		p.Select.From = r.Next
		f.send(source, arrival)
		f.send(target, "new "+arrival)
	}
	f.wantClaim(source, 10, "d", "e", "f")
	f.wantClaim(target, 10, "a", "new d", "b", "new e", "c", "new f")
}

func moveManyFields(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{Levels: 10})
	e := prioritized("high", 8)
	e.Group = "g"
	f.sendEntries(source, entry("low"), e)
	f.moveAll(store.MoveParams{Source: source, Target: target, Limit: 10})
	r := f.wantClaim(target, 10, "high", "low")
	f.equal("Claim after a move: Group and Priority", []any{r.Messages[0].Group, r.Messages[0].Priority}, []any{"g", uint8(8)})
}

// "A redriven message bouncing back because its count traveled."
func moveManyReceives(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{MaxReceives: 2})
	f.send(source, "a")
	for n := 1; n <= 3; n++ {
		deliver(f, source, n, store.Settled)
	}
	f.moveAll(store.MoveParams{Source: source, Target: target, Limit: 10})
	m, token := f.claimOne(target)
	f.equal("Claim after a move: Receives and Entered", [2]uint32{m.Receives, m.Entered}, [2]uint32{4, 1})
	f.wantSettle(target, item(m.Seq, token, store.Ready, 0), store.Settled)
	deliver(f, target, 2, store.Died)
}

func moveManyOrigin(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	sent := f.clock.Now()
	f.send(source, "a", "b")
	f.clock.Advance(time.Minute)
	f.moveAll(store.MoveParams{Source: source, Target: target, Select: store.Selection{From: 2}, Limit: 10, Label: "orders"})
	m, _ := f.claimOne(target)
	f.wantOrigin(m, store.Origin{Queue: source, Seq: 2, SentAt: sent, Label: "orders", MovedAt: f.clock.Now()})
	f.equal("Claim after a move: SentAt", m.SentAt.UTC(), sent)
}

// Edit the body of one message before resending.
func moveManyReplace(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendGroup(source, "g", "wrong", "other")
	f.settle(source, items(f.claim(source, 2), store.Dead, 0)...)
	r := f.move(store.MoveParams{
		Source: source, Target: target, Select: store.Selection{Seqs: []store.Seq{1}}, Limit: 1,
		Replace: &store.Entry{Payload: []byte("corrected"), Size: 5},
	})
	f.equal("Move of one: Moved and Bytes", [2]int64{int64(r.Moved), r.Bytes}, [2]int64{1, 5})
	f.wantCounts(target, "of the target", counts{Ready: 1, Bytes: 5})
	f.wantCounts(source, "of the source", counts{Dead: 1, Bytes: 5})
	m, _ := f.claimOne(target)
	f.equal("Claim of what was replaced: Payload, Size and Group", []any{string(m.Payload), m.Size, m.Group}, []any{"corrected", uint32(5), "g"})
	f.equal("Claim of what was replaced: Origin.Seq", m.Origin.Seq, store.Seq(1))
}

func moveManyReplaceNothing(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a")
	f.wantClaim(source, 1, "a")
	for _, seq := range []store.Seq{1, 2} { // one is leased, the other never was
		r := f.move(store.MoveParams{
			Source: source, Target: target, Select: store.Selection{Seqs: []store.Seq{seq}}, Limit: 1, Replace: &store.Entry{Payload: []byte("x"), Size: 1},
		})
		f.equal("Move of nothing: Moved and Bytes", [2]int64{int64(r.Moved), r.Bytes}, [2]int64{})
	}
	f.wantCounts(target, "of the target", counts{})
}

func moveManyFIFO(f *fixture) {
	source, target := f.fifo(), f.fifo()
	f.sendGroup(source, "g", "a", "b")
	f.sendGroup(source, "h", "c")
	f.sendGroup(target, "g", "there")
	r := f.wantClaim(target, 1, "there")
	f.moveAll(store.MoveParams{Source: source, Target: target, Limit: 2})
	f.finish(target, f.wantClaim(target, 10, "c")) // g has a holder
	f.finish(target, r)
	f.sendGroup(target, "g", "d")
	f.wantClaim(target, 10, "a", "b", "d")
}

func moveManyFreesGroup(f *fixture) {
	source, target := f.fifo(), f.fifo()
	f.sendGroup(source, "g", "a", "b", "c")
	f.settle(source, items(f.wantClaim(source, 1, "a"), store.Ready, time.Hour)...)
	f.wantClaim(source, 1)
	f.move(store.MoveParams{Source: source, Target: target, Select: store.Selection{Seqs: []store.Seq{1}}, Limit: 1})
	f.wantClaim(source, 10, "b", "c")
	f.wantClaim(target, 10, "a")
}

func moveManyBytes(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(source, store.Entry{Payload: []byte("x"), Size: 1000}, store.Entry{Payload: []byte("y"), Size: 10})
	r := f.move(store.MoveParams{Source: source, Target: target, Select: store.Selection{States: store.StateReady}, Limit: 2})
	f.equal("Move of two: Moved and Bytes", [2]int64{int64(r.Moved), r.Bytes}, [2]int64{2, 1010})
}

func moveManyLarge(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	large := store.Entry{Payload: make([]byte, 3<<20), Size: 3 << 20}
	late := large
	late.Delay = 10 * time.Second
	f.sendEntries(source, late, large, large) // the first is the youngest
	f.clock.Advance(10 * time.Second)
	f.settle(source, anyone(1, store.Dead, 0), anyone(2, store.Dead, 0), anyone(3, store.Dead, 0))
	moved, _ := f.moveAll(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10})
	f.equal("Moves of three large dead messages: Moved", moved, 3)
}

func moveManyLateAck(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a")
	late := items(f.wantClaim(source, 1, "a"), store.Done, 0)[0]
	f.clock.Advance(lease)
	f.moveAll(store.MoveParams{Source: source, Target: target, Select: store.Selection{States: store.StateReady}, Limit: 1})
	f.wantSettle(source, late, store.Lost)
	f.wantClaim(target, 1, "a")
}
