package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// shardHistories runs random calls on a queue with shards and compares their answers with what a plain list of its messages
// says. Which messages a call takes is the store's choice; that it may take them, and whether there are more, is not.
func shardHistories(t *testing.T, h Harness) {
	t.Helper()
	s := seed(t)
	for run := range runs(20, 2_000) {
		w := &shardWorld{
			fixture: setup(t, h), Rand: random(s, uint64(run)), all: make(map[string]*shardMessage), other: make(map[string]bool),
		}
		settings := w.sharded()
		settings.Shards = 2 + uint32(w.IntN(int(settings.Shards)-1))
		settings.MaxReceives = 3
		w.queue, w.plain = w.fixture.queue(settings), w.fixture.queue(store.Settings{})
		for range size(150, 500) {
			w.step()
		}
		w.matches()
		if t.Failed() {
			t.Fatalf("history %d of seed %d:\n%s", run, s, strings.Join(w.log, "\n"))
		}
	}
}

// shardMessage is what is known of a message in the queue.
type shardMessage struct {
	seq      store.Seq
	token    store.Token // of its last lease
	state    store.States
	due      time.Time // end of the delay or the lease
	receives int
}

// shardWorld is a queue with shards, and what is in it by body.
type shardWorld struct {
	*fixture
	*rand.Rand
	queue, plain store.QueueID
	all          map[string]*shardMessage
	other        map[string]bool // what is in the plain queue
	sent         int
	log          []string
}

func (w *shardWorld) note(format string, args ...any) {
	w.log = append(w.log, "  "+fmt.Sprintf(format, args...))
}

func (w *shardWorld) wrong(format string, args ...any) {
	w.Helper()
	w.note("WRONG: "+format, args...)
	w.Errorf(format, args...)
}

// pass does what time has made due.
func (w *shardWorld) pass() {
	for _, m := range w.all {
		if m.state&(store.StateLeased|store.StateDelayed) == 0 || m.due.After(w.clock.Now()) {
			continue
		}
		if m.state == store.StateLeased && m.receives == 3 {
			m.state = store.StateDead
			continue
		}
		m.state = store.StateReady
	}
}

// in are the bodies of messages in some states.
func (w *shardWorld) in(states store.States) []string {
	var list []string
	for _, body := range slices.Sorted(maps.Keys(w.all)) {
		if w.all[body].state&states != 0 {
			list = append(list, body)
		}
	}
	return list
}

func (w *shardWorld) step() {
	w.pass()
	switch pick := w.IntN(20); {
	case pick < 6:
		w.sendSome()
	case pick < 11:
		w.claimSome()
	case pick < 15:
		w.settleSome()
	case pick < 17:
		d := time.Duration(w.IntN(40)) * time.Second
		w.note("advance %v", d)
		w.clock.Advance(d)
	case pick < 18:
		w.moveSome()
	case pick < 19:
		w.changeSome()
	default:
		w.matches()
	}
}

func (w *shardWorld) sendSome() {
	var list []store.Entry
	for range 1 + w.IntN(5) {
		w.sent++
		e := entry(fmt.Sprint("m", w.sent))
		if w.IntN(4) == 0 {
			e.Delay = time.Duration(1+w.IntN(60)) * time.Second
		}
		list = append(list, e)
	}
	r := w.sendEntries(w.queue, list...)
	w.note("send %d: first %d", len(list), r.First)
	if r.Count != len(list) || r.Fates != nil {
		w.wrong("Send of %d: got %+v, want all accepted", len(list), r)
		return
	}
	for i, e := range list {
		m := &shardMessage{seq: r.First + store.Seq(i), state: store.StateReady}
		if e.Delay > 0 {
			m.state, m.due = store.StateDelayed, w.clock.Now().Add(e.Delay)
		}
		w.all[string(e.Payload)] = m
	}
}

func (w *shardWorld) claimSome() {
	ready := w.in(store.StateReady)
	limit, d := 1+w.IntN(6), time.Duration(1+w.IntN(60))*time.Second
	r := w.claimFor(w.queue, limit, d)
	w.note("claim %d for %v: %q", limit, d, bodies(r))
	if len(r.Messages) > limit || len(r.Messages) == 0 && len(ready) > 0 {
		w.wrong("Claim(max %d): got %d messages with %d ready", limit, len(r.Messages), len(ready))
	}
	if more := len(ready) > len(r.Messages); r.Ready != more {
		w.wrong("Claim: Ready is %v, want %v", r.Ready, more)
	}
	for _, d := range r.Messages {
		m := w.all[string(d.Payload)]
		if m == nil || m.state != store.StateReady || m.seq != d.Seq {
			w.wrong("Claim gave %q with sequence %d, known as %+v", d.Payload, d.Seq, m)
			continue
		}
		m.state, m.token, m.due = store.StateLeased, r.Token, r.Deadline
		if m.receives++; int(d.Receives) != m.receives {
			w.wrong("Claim gave %q with %d receives, want %d", d.Payload, d.Receives, m.receives)
		}
	}
}

// settleSome settles leased messages of any shards, and some that nobody may.
func (w *shardWorld) settleSome() {
	var list []store.SettleItem
	var want []store.Outcome
	var names []string
	for _, body := range w.in(store.StateLeased) {
		if w.IntN(2) == 0 {
			continue
		}
		m := w.all[body]
		i := item(m.seq, m.token, store.Target(1+w.IntN(4)), time.Duration(w.IntN(30))*time.Second)
		outcome := store.Settled
		switch {
		case w.IntN(6) == 0:
			i.Token, outcome = m.token+7, store.Lost
		case m.receives == 3 && (i.Target == store.Ready || i.Target == store.Leased && i.After == 0):
			outcome = store.Died // a lease of no time ends at once
		}
		list, want, names = append(list, i), append(want, outcome), append(names, body)
	}
	if list == nil {
		return
	}
	list, want, names = append(list, item(1<<46, 1, store.Done, 0)), append(want, store.Gone), append(names, "")
	w.Shuffle(len(list), func(i, j int) {
		list[i], list[j], want[i], want[j], names[i], names[j] = list[j], list[i], want[j], want[i], names[j], names[i]
	})
	got := w.settle(w.queue, list...).Outcomes
	w.note("settle %v of %q: %v", list, names, got)
	if !slices.Equal(got, want) {
		w.wrong("Settle(%+v) = %v, want %v", list, got, want)
	}
	for i, body := range names {
		if want[i] == store.Settled || want[i] == store.Died {
			w.settled(body, list[i], want[i])
		}
	}
}

func (w *shardWorld) settled(body string, i store.SettleItem, o store.Outcome) {
	m := w.all[body]
	m.due = w.clock.Now().Add(i.After)
	switch {
	case i.Target == store.Done:
		delete(w.all, body)
	case i.Target == store.Dead, o == store.Died:
		m.state = store.StateDead
	case i.Target == store.Ready && i.After > 0:
		m.state = store.StateDelayed
	case i.Target == store.Ready:
		m.state = store.StateReady
	}
	w.pass()
}

// moveSome moves messages out, or all that was moved out back.
func (w *shardWorld) moveSome() {
	if len(w.other) > 0 {
		n := w.movePages(store.MoveParams{Source: w.plain, Target: w.queue, Limit: 1 + w.IntN(5), Renew: true})
		w.note("move %d back", n)
		if n != len(w.other) {
			w.wrong("Move back: %d, want %d", n, len(w.other))
		}
		for body := range w.other {
			w.all[body] = &shardMessage{state: store.StateReady}
		}
		clear(w.other)
		w.learn()
		return
	}
	states := store.States(1 + w.IntN(int(store.AnyState)))
	list := w.in(states &^ store.StateLeased)
	n := w.movePages(store.MoveParams{
		Source: w.queue, Target: w.plain, Select: store.Selection{States: states}, Limit: 1 + w.IntN(5), Renew: true,
	})
	w.note("move out %d of states %d: %q", n, states, list)
	if n != len(list) {
		w.wrong("Move of states %d: %d, want %d", states, n, len(list))
	}
	for _, body := range list {
		delete(w.all, body)
		w.other[body] = true
	}
}

// learn reads the sequences of messages that came by a move.
func (w *shardWorld) learn() {
	for _, v := range w.seen(w.queue, store.Selection{}, 10) {
		if m := w.all[string(v.Payload)]; m != nil {
			m.seq = v.Seq
		}
	}
}

// changeSome purges, or releases, what is selected.
func (w *shardWorld) changeSome() {
	states := store.States(1 << w.IntN(4))
	list := w.in(states)
	if states == store.StateLeased {
		p := store.SettleParams{
			Queue: w.queue, Revision: w.revision[w.queue], Select: &store.Selection{Consumer: "consumer"},
			Each: store.SettleItem{Target: store.Done},
		}
		n := 0
		for {
			r := w.settleWith(p)
			n += len(r.Outcomes)
			if p.Select.From = r.Next; r.Next == 0 {
				break
			}
		}
		w.note("finish %d of a consumer: %q", n, list)
		if n != len(list) {
			w.wrong("Settle of all of a consumer: %d, want %d", n, len(list))
		}
	} else {
		n, sel := int64(0), store.Selection{States: states}
		for {
			r, err := w.store.Purge(w.Context(), w.queue, sel)
			w.wantError("Purge", err, nil)
			n += r.Purged
			if sel.From = r.Next; r.Next == 0 {
				break
			}
		}
		w.note("purge %d of states %d: %q", n, states, list)
		if n != int64(len(list)) {
			w.wrong("Purge of states %d: %d, want %d", states, n, len(list))
		}
	}
	for _, body := range list {
		delete(w.all, body)
	}
}

// matches compares all there is.
func (w *shardWorld) matches() {
	w.pass()
	w.note("look")
	s := w.stats(w.queue)
	got := []int64{s.Ready, s.Leased, s.Delayed, s.Dead}
	var want []int64
	for _, state := range []store.States{store.StateReady, store.StateLeased, store.StateDelayed, store.StateDead} {
		want = append(want, int64(len(w.in(state))))
	}
	if !slices.Equal(got, want) {
		w.wrong("Stats: ready, leased, delayed, dead = %v, want %v", got, want)
	}
	found := w.seen(w.queue, store.Selection{}, 1+w.IntN(20))
	if len(found) != len(w.all) {
		w.wrong("Scan: %d messages, want %d", len(found), len(w.all))
	}
	for _, v := range found {
		m := w.all[string(v.Payload)]
		if m == nil || m.seq != v.Seq || m.state != v.State || int(v.Receives) != m.receives {
			w.wrong("Scan: %q with sequence %d in state %d after %d receives, known as %+v", v.Payload, v.Seq, v.State, v.Receives, m)
		}
	}
	for _, v := range found[:min(3, len(found))] {
		again, err := w.store.Lookup(w.Context(), w.queue, w.queue, v.Seq)
		if err != nil || string(again.Payload) != string(v.Payload) || again.Seq != v.Seq {
			w.wrong("Lookup(%d) = %q, %v, want %q", v.Seq, again.Payload, err, v.Payload)
		}
	}
}
