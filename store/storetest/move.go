package storetest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var moveCases = []testCase{
	{"takes dead messages only, when told so", moveDeadOnly},
	{"makes them ready at once, oldest first", moveOrder},
	{"stops at its limit", moveLimit},
	{"refuses a late ack of what was moved", moveLateAck},
	{"stops at four megabytes", moveBytes},
	{"keeps payload and size", movePayload},
	{"says where a message came from", moveOrigin},
	{"keeps the first origin over a chain", moveChain},
	{"starts the deliveries again", moveReceives},
	{"does not send a redriven message straight back", moveRedrive},
	{"hops one queue at a time", moveOneHop},
	{"takes what died by itself", moveLeaseEnd},
	{"takes its place by arrival", moveArrival},
	{"counts retention anew", moveRetention},
	{"leaves new arrivals", moveLeavesArrivals},
	{"is harmless when nothing is dead", moveNothing},
	{"destroys nothing without a target", moveMissingTarget},
	{"changes nothing when refused", moveRefuses},
	{"moves to the queue itself", moveToItself},
	{"moves to the queue itself behind its group", moveToItselfFIFO},
	{"moves to the queue itself in parts", moveToItselfInParts},
}

func moveDeadOnly(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "broken", "dead")
	f.send(source, "leased", "ready")
	f.wantClaim(source, 1, "leased")
	f.sendEntries(source, delayed("delayed", time.Hour))
	r := f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10})
	f.equal("Move(limit 10)", r, store.MoveResult{Moved: 1, Bytes: 4, NextDue: store.NoDue})
	f.wantCounts(source, "of the source", counts{Ready: 1, Leased: 1, Delayed: 1, Bytes: int64(len("leasedreadydelayed"))})
	f.wantCounts(target, "of the target", counts{Ready: 1, Bytes: 4})
	f.wantClaim(target, 10, "dead")
}

func moveOrder(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	for _, body := range []string{"a", "b", "c", "d"} {
		f.send(source, body)
		f.clock.Advance(time.Second)
	}
	r := f.wantClaim(source, 4, "a", "b", "c", "d")
	for _, i := range []int{2, 0, 3, 1} {
		f.settle(source, items(r, store.Dead, 0)[i])
	}
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 4})
	got := f.wantClaim(target, 4, "a", "b", "c", "d")
	for i, m := range got.Messages {
		f.equal("Claim in the target: Seq", m.Seq, store.Seq(i+1))
	}
}

// An ack that came too late must not look like success: the message lives on in the target.
func moveLateAck(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a", "b", "c")
	late := items(f.wantClaim(source, 3, "a", "b", "c"), store.Done, 0)
	f.clock.Advance(2 * lease)
	taken := items(f.claim(source, 3), store.Dead, 0)
	f.settle(source, taken[1], taken[2])
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10})
	f.wantSettle(source, late[1], store.Lost)
	f.wantSettle(source, late[2], store.Lost)
	f.wantSettle(source, taken[1], store.Lost)
	taken[0].Target = store.Done
	f.wantSettle(source, taken[0], store.Settled)
	f.wantSettle(source, late[0], store.Gone)
	f.wantClaim(target, 10, "b", "c")
}

func moveLimit(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "a", "b", "c", "d", "e")
	for _, step := range []struct {
		limit, moved int
		more         bool
	}{
		{1, 1, true},
		{3, 3, true},
		{3, 1, false},
		{3, 0, false},
	} {
		r := f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: step.limit})
		call := fmt.Sprintf("Move(limit %d)", step.limit)
		f.equal(call+": Moved and Bytes", [2]int64{int64(r.Moved), r.Bytes}, [2]int64{int64(step.moved), int64(step.moved)})
		f.equal(call+": says that there are more", r.Next != 0, step.more)
	}
	f.wantCounts(source, "of the source", counts{})
	f.wantClaim(target, 10, "a", "b", "c", "d", "e")
}

func moveBytes(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	for range 3 {
		f.sendEntries(source, store.Entry{Payload: big, Size: uint32(len(big))})
	}
	f.settle(source, items(f.claim(source, 3), store.Dead, 0)...)
	var moved int
	var size int64
	for range 3 {
		r := f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10})
		if r.Moved < 1 {
			f.Fatalf("Move(limit 10) of 3 MiB messages: got %d moved, want at least 1", r.Moved)
		}
		if r.Moved > 1 {
			f.Fatalf("Move(limit 10) of 3 MiB messages: got %d moved, want it to stop at 4 MiB", r.Moved)
		}
		size += r.Bytes
		if moved += r.Moved; r.Next == 0 {
			break
		}
	}
	f.equal("moved by up to three calls", moved, 3)
	f.equal("Bytes of up to three calls", size, int64(3*len(big)))
	for i, m := range f.claim(target, 3).Messages {
		if !bytes.Equal(m.Payload, big) {
			f.Errorf("Claim in the target: payload %d of %d bytes came back different", i, len(m.Payload))
		}
	}
}

func movePayload(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	want := []store.Entry{{}, {Payload: []byte{0, 0xFF, 0}, Size: 3}, {Payload: []byte("encoded"), Size: 2}}
	f.sendEntries(source, want...)
	f.settle(source, items(f.claim(source, 3), store.Dead, 0)...)
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 3})
	f.wantCounts(target, "of the target", counts{Ready: 3, Bytes: 5})
	for i, m := range f.claim(target, 3).Messages {
		f.equal(fmt.Sprintf("Claim in the target: message %d", i), store.Entry{Payload: m.Payload, Size: m.Size}, want[i])
	}
}

func moveOrigin(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	sent := f.clock.Now()
	f.send(source, "other", "a")
	f.wantClaim(source, 1, "other")
	deliver(f, source, 1, store.Settled)
	m, token := f.claimOne(source)
	i := item(m.Seq, token, store.Dead, 0)
	i.Reason = "cannot parse: \x00 ü"
	f.wantSettle(source, i, store.Settled)
	f.clock.Advance(time.Minute)
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1, Label: "orders"})
	moved := f.clock.Now()
	f.clock.Advance(time.Minute)
	got, _ := f.claimOne(target)
	f.wantOrigin(got, store.Origin{
		Queue: source, Seq: 2, SentAt: sent, Receives: 2, Label: "orders", Reason: i.Reason, MovedAt: moved,
	})
	plain, _ := f.claimOne(f.withMessage())
	f.equal("Claim of a message that was not moved: Origin", plain.Origin, (*store.Origin)(nil))
}

// withMessage is a new queue with one message.
func (f *fixture) withMessage() store.QueueID {
	q := f.queue(store.Settings{})
	f.send(q, "m")
	return q
}

func (f *fixture) wantOrigin(d store.Delivery, want store.Origin) {
	f.Helper()
	if d.Origin == nil {
		f.Fatalf("Claim of a moved message: got no origin, want %+v", want)
	}
	got := *d.Origin
	got.SentAt, got.MovedAt = got.SentAt.UTC(), got.MovedAt.UTC()
	f.equal("Claim of a moved message: Origin", got, want)
}

func moveChain(f *fixture) {
	a, b, c := f.queue(store.Settings{}), f.queue(store.Settings{}), f.queue(store.Settings{})
	sent := f.clock.Now()
	f.bury(a, "first", "m")
	f.clock.Advance(time.Second)
	f.move(store.MoveParams{Source: a, Target: b, Select: theDead, Limit: 1, Label: "a"})
	deliver(f, b, 1, store.Settled)
	m, token := f.claimOne(b)
	f.settle(b, store.SettleItem{Seq: m.Seq, Token: token, Target: store.Dead, Reason: "second"})
	f.clock.Advance(time.Second)
	f.move(store.MoveParams{Source: b, Target: c, Select: theDead, Limit: 1, Label: "b"})
	got, token := f.claimOne(c)
	f.equal("Claim after two moves: SentAt", got.SentAt.UTC(), sent)
	f.equal("Claim after two moves: Receives", got.Receives, uint32(4))
	f.equal("Claim after two moves: Entered", got.Entered, uint32(1))
	f.wantOrigin(got, store.Origin{
		Queue: a, Seq: 1, SentAt: sent, Receives: 3, Label: "b", Reason: "second", MovedAt: f.clock.Now(),
	})
	// And home again, where it has another sequence but the same identity.
	f.settle(c, item(got.Seq, token, store.Dead, 0))
	f.move(store.MoveParams{Source: c, Target: a, Select: theDead, Limit: 1, Label: "c"})
	got, _ = f.claimOne(a)
	f.equal("Claim after a way home: Seq", got.Seq, store.Seq(2))
	f.wantOrigin(got, store.Origin{
		Queue: a, Seq: 1, SentAt: sent, Receives: 4, Label: "c", Reason: got.Origin.Reason, MovedAt: f.clock.Now(),
	})
}

func moveReceives(f *fixture) {
	source, target := f.queue(store.Settings{MaxReceives: 2}), f.queue(store.Settings{MaxReceives: 3})
	f.send(source, "a")
	deliver(f, source, 1, store.Settled)
	deliver(f, source, 2, store.Died)
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	for n := uint32(1); n <= 3; n++ {
		m, token := f.claimOne(target)
		f.equal("Claim in the target: Receives", m.Receives, 2+n)
		f.equal("Claim in the target: Entered", m.Entered, n)
		f.settle(target, item(m.Seq, token, store.Ready, 0))
	}
	f.wantCounts(target, "after three deliveries of three", counts{Dead: 1, Bytes: 1})
}

// "A redriven message bouncing back because its count traveled."
func moveRedrive(f *fixture) {
	q, dead := f.queue(store.Settings{MaxReceives: 1}), f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a")
	deliver(f, q, 1, store.Died)
	f.move(store.MoveParams{Source: q, Target: dead, Select: theDead, Limit: 1})
	f.settle(dead, items(f.wantClaim(dead, 1, "a"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: dead, Target: q, Select: theDead, Limit: 1})
	f.wantCounts(q, "after a redrive", counts{Ready: 1, Bytes: 1})
	m, token := f.claimOne(q)
	f.wantSettle(q, item(m.Seq, token, store.Done, 0), store.Settled)
}

// "Chained dead-letter queues hopping at once."
func moveOneHop(f *fixture) {
	a, b, c := f.queue(store.Settings{MaxReceives: 1}), f.queue(store.Settings{MaxReceives: 1}), f.queue(store.Settings{})
	f.send(a, "m")
	deliver(f, a, 1, store.Died)
	f.move(store.MoveParams{Source: a, Target: b, Select: theDead, Limit: 10})
	f.equal("Move from a queue in which nothing died", f.move(store.MoveParams{Source: b, Target: c, Select: theDead, Limit: 10}).Moved, 0)
	f.wantCounts(b, "of the first target", counts{Ready: 1, Bytes: 1})
	deliver(f, b, 1, store.Died)
	f.equal("Move after it died there", f.move(store.MoveParams{Source: b, Target: c, Select: theDead, Limit: 10}).Moved, 1)
}

func moveLeaseEnd(f *fixture) {
	source, target := f.queue(store.Settings{MaxReceives: 1}), f.queue(store.Settings{})
	f.send(source, "a", "b")
	f.wantClaim(source, 1, "a")
	f.clock.Advance(lease)
	f.equal("Move after the last lease ended", f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10}),
		store.MoveResult{Moved: 1, Bytes: 1, NextDue: store.NoDue})
	f.wantClaim(target, 10, "a")
}

func moveArrival(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "moved")
	f.clock.Advance(time.Second)
	f.send(target, "before")
	f.clock.Advance(time.Second)
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	f.clock.Advance(time.Second)
	f.send(target, "after")
	f.wantClaim(target, 3, "before", "moved", "after")
}

func moveRetention(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{Retention: time.Minute})
	f.bury(source, "", "a")
	f.clock.Advance(time.Hour)
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	f.clock.Advance(30 * time.Second)
	f.equal("Sweep within the target's retention: Expired", f.sweep(target).Expired, 0)
	f.wantCounts(target, "within the target's retention", counts{Ready: 1, Bytes: 1})
	f.clock.Advance(31 * time.Second)
	f.equal("Sweep past the target's retention: Expired", f.sweep(target).Expired, 1)
}

// "Arrivals during a redrive lost."
func moveLeavesArrivals(f *fixture) {
	q, dead := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(dead, "", "a", "b", "c")
	f.move(store.MoveParams{Source: dead, Target: q, Select: theDead, Limit: 1})
	f.send(q, "n1")
	f.bury(dead, "", "d")
	f.send(dead, "e")
	f.move(store.MoveParams{Source: dead, Target: q, Select: theDead, Limit: 10})
	f.wantClaim(q, 10, "a", "n1", "b", "c", "d")
	f.wantClaim(dead, 10, "e")
}

func moveNothing(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.sendEntries(target, delayed("a", time.Minute))
	f.equal("Move of nothing", f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 10}),
		store.MoveResult{NextDue: time.Minute})
}

// "A message destroyed because its dead-letter queue is missing."
func moveMissingTarget(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "a")
	f.wantError("Drop(target)", f.store.Drop(f.Context(), target), nil)
	_, err := f.store.Move(f.Context(), store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	f.wantError("Move to a dropped queue", err, store.ErrGone)
	f.wantCounts(source, "after a failed move", counts{Dead: 1, Bytes: 1})
	target = f.queue(store.Settings{})
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	f.wantClaim(target, 1, "a")
}

func moveRefuses(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "a")
	for _, p := range []store.MoveParams{
		{Source: source, Target: 404, Limit: 1},
		{Source: 404, Target: target, Limit: 1},
		{Source: 404, Target: 405, Limit: 1},
	} {
		_, err := f.store.Move(f.Context(), p)
		f.wantError(fmt.Sprintf("Move(%+v)", p), err, store.ErrGone)
	}
	f.wantCounts(source, "of the source", counts{Dead: 1, Bytes: 1})
	f.wantCounts(target, "of the target", counts{})
}

// A queue may be its own dead-letter queue: what died there begins anew at its end, under the same identity.
func moveToItself(f *fixture) {
	for name, set := range map[string]store.Settings{
		"eager": {MaxReceives: 1}, "lazy": {MaxReceives: 1, Lazy: true}, "fair": {MaxReceives: 1, Mode: store.Fair},
		"FIFO": {MaxReceives: 1, Mode: store.FIFO, Tail: true},
	} {
		q := f.queue(set)
		sent := f.clock.Now()
		f.send(q, "a")
		var moved time.Time
		for round := uint32(1); round <= 3; round++ {
			m, token := f.claimOne(q)
			f.equal(name+": Receives and Entered", [2]uint32{m.Receives, m.Entered}, [2]uint32{round, 1})
			if round > 1 {
				f.wantOrigin(m, store.Origin{
					Queue: q, Seq: 1, SentAt: sent, Receives: round - 1, Label: "q", Reason: m.Origin.Reason, MovedAt: moved,
				})
			}
			f.clock.Advance(lease)
			if set.Lazy {
				r := f.claim(q, 10)
				f.equal(name+": Claim of a used up message", [2]int{len(r.Messages), r.Died}, [2]int{0, 1})
			}
			moved = f.clock.Now()
			r := f.move(store.MoveParams{Source: q, Target: q, Select: theDead, Limit: 10, Label: "q"})
			f.equal(name+": Move to itself: Moved and Bytes", [2]int64{int64(r.Moved), r.Bytes}, [2]int64{1, 1})
			f.wantCounts(q, name+": after the move", counts{Ready: 1, Bytes: 1})
			f.wantSettle(q, item(m.Seq, token, store.Done, 0), store.Lost)
		}
		v, err := f.store.Lookup(f.Context(), q, q, 1)
		if err != nil || string(v.Payload) != "a" {
			f.Errorf("%s: Lookup by its first sequence: got %q, %v; want a", name, v.Payload, err)
		}
		m, token := f.claimOne(q)
		f.wantSettle(q, item(m.Seq, token, store.Done, 0), store.Settled)
		f.wantCounts(q, name+": after all", counts{})
	}
}

func moveToItselfFIFO(f *fixture) {
	for _, tail := range []bool{false, true} {
		q := f.queue(store.Settings{MaxReceives: 1, Mode: store.FIFO, Tail: tail})
		f.sendEntries(q, grouped("a", "g"), grouped("b", "g"), grouped("c", "h"))
		f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, 0)...)
		f.wantCounts(q, "after the last delivery", counts{Ready: 2, Dead: 1, Bytes: 3})
		f.equal("Move to itself: Moved", f.move(store.MoveParams{Source: q, Target: q, Select: theDead, Limit: 10}).Moved, 1)
		f.wantCounts(q, "after the move", counts{Ready: 3, Bytes: 3})
		f.settle(q, items(f.wantClaim(q, 10, "c", "b", "a"), store.Done, 0)...)
		f.wantCounts(q, "after all", counts{})
	}
}

// A move takes no message twice, however often it is called.
func moveToItselfInParts(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b", "c", "d", "e")
	f.settle(q, items(f.claim(q, 5), store.Ready, 0)...)
	for _, want := range []int{2, 2, 1, 0} {
		r := f.move(store.MoveParams{Source: q, Target: q, Select: theDead, Limit: 2})
		f.equal("Move to itself, limit 2: Moved", r.Moved, want)
	}
	f.wantClaim(q, 10, "a", "b", "c", "d", "e")
}
