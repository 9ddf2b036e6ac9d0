package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// moveRenewCases: with Renew a moved message is new in its target.
var moveRenewCases = []testCase{
	{"begins anew", renewFresh},
	{"keeps payload, size, group and priority", renewFields},
	{"begins anew after a chain of moves", renewChain},
	{"is found by its new place only", renewLookup},
	{"is moved on as what was sent there", renewMovedOn},
	{"keeps the end of a time to live", renewTTL},
	{"begins anew with a body replaced", renewReplace},
	{"counts deliveries anew", renewDeliveries},
	{"refuses a late ack", renewLateAck},
	{"is remembered as moved where it was", renewHistory},
	{"tells renewed messages from others", renewBeside},
}

// redriven is a new queue to which a message came from the source by a move that renews.
func (f *fixture) redriven(source store.QueueID) store.QueueID {
	f.Helper()
	target := f.queue(store.Settings{})
	f.send(target, "there")
	r := f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1, Label: "label", Renew: true})
	f.equal("Move(renew): Moved", r.Moved, 1)
	f.finish(target, f.wantClaim(target, 1, "there"))
	return target
}

// wantNew expects the next message of a queue to be one that was never anywhere else, sent at a time.
func (f *fixture) wantNew(q store.QueueID, seq store.Seq, sent time.Time) store.Delivery {
	f.Helper()
	m, _ := f.claimOne(q)
	f.equal("Claim of a renewed message: Seq", m.Seq, seq)
	f.equal("Claim of a renewed message: Origin", m.Origin, (*store.Origin)(nil))
	f.equal("Claim of a renewed message: SentAt", m.SentAt.UTC(), sent)
	f.equal("Claim of a renewed message: Receives and Entered", [2]uint32{m.Receives, m.Entered}, [2]uint32{1, 1})
	return m
}

func renewFresh(f *fixture) {
	source := f.queue(store.Settings{})
	f.bury(source, "broken", "a")
	f.clock.Advance(time.Minute)
	target := f.redriven(source)
	moved := f.clock.Now()
	f.wantCounts(source, "of the source", counts{})
	f.clock.Advance(time.Minute)
	v := f.lookup(target, target, 2)
	f.equal("Lookup of a renewed message: Receives, Entered, Reason and visits", []any{v.Receives, v.Entered, v.Reason, len(v.Visits)}, []any{uint32(0), uint32(0), "", 0})
	m := f.wantNew(target, 2, moved)
	if age := moved.Sub(m.AvailableAt); age < 0 || age >= store.Tick {
		f.Errorf("Claim of a renewed message: got it available at %v, want the tick of %v", m.AvailableAt, moved)
	}
}

func renewFields(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{Levels: 10})
	for _, body := range []string{"", "\x00\xff", "a longer body"} {
		e := prioritized(body, 8)
		e.Group, e.Size = "g", 77
		f.sendEntries(source, e)
		f.move(store.MoveParams{Source: source, Target: target, Limit: 1, Renew: true})
		m, token := f.claimOne(target)
		f.equal("Claim of a renewed message", []any{string(m.Payload), m.Size, m.Group, m.Priority}, []any{body, uint32(77), "g", uint8(8)})
		f.wantSettle(target, item(m.Seq, token, store.Done, 0), store.Settled)
	}
}

func renewChain(f *fixture) {
	home, parked := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(home, "a")
	deliver(f, home, 1, store.Settled)
	f.settle(home, items(f.wantClaim(home, 1, "a"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: home, Target: parked, Select: theDead, Limit: 1})
	f.settle(parked, items(f.wantClaim(parked, 1, "a"), store.Dead, 0)...)
	f.clock.Advance(time.Hour)
	f.move(store.MoveParams{Source: parked, Target: home, Select: theDead, Limit: 1, Renew: true})
	f.wantNotFound(home, home, 1)
	f.wantNew(home, 2, f.clock.Now())
}

func renewLookup(f *fixture) {
	source := f.queue(store.Settings{})
	f.bury(source, "", "a")
	target := f.redriven(source)
	f.wantNotFound(target, source, 1)
	f.wantNotFound(source, source, 1)
	f.equal("Lookup by the new place: Payload", string(f.lookup(target, target, 2).Payload), "a")
	f.equal("Scan of renewed messages: Origin", f.scan(target, store.Selection{}, 10)[0].Origin, (*store.Origin)(nil))
}

func renewMovedOn(f *fixture) {
	source := f.queue(store.Settings{})
	f.bury(source, "", "a")
	f.clock.Advance(time.Minute)
	target, last := f.redriven(source), f.queue(store.Settings{})
	moved := f.clock.Now()
	deliver(f, target, 1, store.Settled)
	f.clock.Advance(time.Minute)
	f.move(store.MoveParams{Source: target, Target: last, Limit: 1, Label: "on"})
	m, _ := f.claimOne(last)
	f.wantOrigin(m, store.Origin{Queue: target, Seq: 2, SentAt: moved, Receives: 1, Label: "on", MovedAt: f.clock.Now()})
	f.lookup(last, target, 2)
}

func renewTTL(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	ends := f.clock.Now().Add(time.Hour)
	f.sendEntries(source, lasting("dead", time.Hour), lasting("ready", time.Hour))
	f.settle(source, items(f.wantClaim(source, 1, "dead"), store.Dead, 0)...)
	f.clock.Advance(time.Minute)
	f.moveAll(store.MoveParams{Source: source, Target: target, Limit: 10, Renew: true})
	r := f.wantClaim(target, 10, "dead", "ready")
	f.equal("Claim of what was dead: ExpiresAt", r.Messages[0].ExpiresAt.IsZero(), true)
	f.equal("Claim of what was ready: ExpiresAt", r.Messages[1].ExpiresAt.UTC(), ends)
}

func renewReplace(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "wrong")
	f.clock.Advance(time.Minute)
	f.move(store.MoveParams{
		Source: source, Target: target, Select: store.Selection{Seqs: []store.Seq{1}}, Limit: 1, Renew: true,
		Replace: &store.Entry{Payload: []byte("right"), Size: 5},
	})
	f.equal("Claim of what was replaced", string(f.wantNew(target, 1, f.clock.Now()).Payload), "right")
}

func renewDeliveries(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{MaxReceives: 2})
	f.bury(source, "", "a")
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1, Renew: true})
	deliver(f, target, 1, store.Settled)
	deliver(f, target, 2, store.Died)
}

func renewLateAck(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a")
	late := items(f.wantClaim(source, 1, "a"), store.Done, 0)[0]
	f.clock.Advance(lease)
	f.move(store.MoveParams{Source: source, Target: target, Limit: 1, Renew: true})
	f.wantSettle(source, late, store.Lost)
	f.wantClaim(target, 1, "a")
}

func renewHistory(f *fixture) {
	source, target := f.queue(store.Settings{History: 10}), f.queue(store.Settings{History: 10})
	f.bury(source, "broken", "a")
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1, Renew: true})
	f.equal("Lookup in the source: Removal", f.lookup(source, source, 1).Removal, store.MovedAway)
	f.finish(target, f.wantClaim(target, 1, "a"))
	f.equal("Lookup of what was done: Removal", f.lookup(target, target, 1).Removal, store.Acked)
	f.wantNotFound(target, source, 1)
}

func renewBeside(f *fixture) {
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(source, "a", "b", "c", "d")
	for i, renew := range []bool{false, true, true, false} {
		f.move(store.MoveParams{Source: source, Target: target, Select: store.Selection{UpTo: store.Seq(i + 1)}, Limit: 1, Renew: renew})
	}
	r := f.wantClaim(target, 10, "a", "b", "c", "d")
	var origins []bool
	for _, m := range r.Messages {
		origins = append(origins, m.Origin != nil)
	}
	f.equal("Claim of moved and renewed messages: whether they have an origin", origins, []bool{true, false, false, true})
}
