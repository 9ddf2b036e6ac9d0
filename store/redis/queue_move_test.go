package redis

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

const moveSource, moveTarget = store.QueueID(11), store.QueueID(22)

// mover is two processes that serve the same two queues. The first one moves, and may stop at any point.
type mover struct {
	*testing.T
	clock       *storetest.Clock
	first, next *Store
}

// newMover makes the queues, with three dead messages and a ready one in the source.
func newMover(t *testing.T) *mover {
	t.Helper()
	url := serverURL(t)
	return newMoverOn(t, url, url)
}

// newMoverOn has the first process reach the server in another way.
func newMoverOn(t *testing.T, first, url string) *mover {
	t.Helper()
	m := &mover{T: t, clock: storetest.NewClock()}
	o := Options{URL: url, Prefix: freshPrefix(t, url), Now: m.clock.Now}
	m.next = open(t, o)
	o.URL = first
	m.first = open(t, o)
	for _, q := range []store.QueueID{moveSource, moveTarget} {
		m.must("Configure", m.next.Configure(t.Context(), q, store.Settings{Revision: 1}))
	}
	m.send(moveSource, "a", "b", "c")
	m.settle(moveSource, store.Dead, m.claim(moveSource))
	m.send(moveSource, "d")
	return m
}

func (m *mover) must(call string, err error) {
	m.Helper()
	if err != nil {
		m.Fatalf("%s = %v, want nil", call, err)
	}
}

func (m *mover) send(q store.QueueID, bodies ...string) {
	m.Helper()
	p := store.SendParams{Queue: q, Revision: 1}
	for _, b := range bodies {
		p.Entries = append(p.Entries, store.Entry{Payload: []byte(b), Size: uint32(len(b))})
	}
	_, err := m.next.Send(m.Context(), p)
	m.must("Send", err)
}

func (m *mover) claim(q store.QueueID) store.ClaimResult {
	m.Helper()
	r, err := m.next.Claim(m.Context(), store.ClaimParams{Queue: q, Revision: 1, Max: 100, MaxBytes: 1000, Visibility: time.Hour})
	m.must("Claim", err)
	return r
}

func (m *mover) settle(q store.QueueID, target store.Target, r store.ClaimResult) {
	m.Helper()
	p := store.SettleParams{Queue: q, Revision: 1}
	for _, d := range r.Messages {
		p.Items = append(p.Items, store.SettleItem{Seq: d.Seq, Token: r.Token, Target: target, Reason: "why"})
	}
	_, err := m.next.Settle(m.Context(), p)
	m.must("Settle", err)
}

var theDead = store.MoveParams{
	Source: moveSource, Target: moveTarget, Select: store.Selection{States: store.StateDead}, Limit: 10, Label: "source",
}

// steps makes so many steps of a move and returns what is known of it then.
func (m *mover) steps(n int) intent {
	m.Helper()
	noted, err := m.first.noteMoves(m.Context(), moveSource, moveTarget)
	m.must("noteMoves", err)
	if n == 0 {
		return intent{}
	}
	in, _, err := m.first.whole().mark(m.Context(), theDead, noted)
	m.must("mark", err)
	if n > 1 {
		v, _, err := m.first.insert(m.Context(), in)
		m.must("insert", err)
		if v != inserted {
			m.Fatalf("insert: got verdict %q", v)
		}
	}
	if n > 2 {
		m.must("delete", m.first.whole().step(m.Context(), queueMoveDelete, moveSource, in.id))
	}
	return in
}

// conclude lets time pass and the other process look after moves.
func (m *mover) conclude(d time.Duration) {
	m.Helper()
	m.clock.Advance(d)
	m.must("concludeMoves", m.next.concludeMoves(m.Context()))
}

// bodies are all messages of a queue, with a mark at those that are dead.
func (m *mover) bodies(q store.QueueID) []string {
	m.Helper()
	r, err := m.next.Scan(m.Context(), store.ScanParams{Queue: q, Limit: 100, MaxBytes: 1000})
	m.must("Scan", err)
	var list []string
	for _, v := range r.Views {
		body := string(v.Payload)
		if v.State == store.StateDead {
			body += " dead"
		}
		list = append(list, body)
	}
	return list
}

func (m *mover) want(q store.QueueID, when string, want ...string) {
	m.Helper()
	if got := m.bodies(q); !slices.Equal(got, want) {
		m.Errorf("queue %d %s: got %q, want %q", q, when, got, want)
	}
	s, err := m.next.Stats(m.Context(), q)
	m.must("Stats", err)
	if n := s.Ready + s.Leased + s.Delayed + s.Dead; n != int64(len(want)) {
		m.Errorf("queue %d %s: Stats count %d messages, want %d", q, when, n, len(want))
	}
}

// wantNothingLeft expects that no move is remembered any more, once all may be forgotten.
func (m *mover) wantNothingLeft() {
	m.Helper()
	m.conclude(moveMemory)
	m.conclude(moveMemory)
	for _, key := range []string{
		m.next.keys('q', uint64(moveSource), "j")[0], m.next.keys('q', uint64(moveTarget), "i")[0], m.next.movesKey()[0],
	} {
		if n, err := m.next.client.Exists(m.Context(), key).Result(); err != nil || n != 0 {
			m.Errorf("key %s is still there (%v) when all moves are concluded", key, err)
		}
	}
}

// A process that stops between two steps leaves a move that another one concludes, whatever consumers do meanwhile.
func TestMoveStopsBetweenSteps(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		for _, acked := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d steps, acked %v", n, acked), func(t *testing.T) {
				t.Parallel()
				m := newMover(t)
				m.steps(n)
				m.must("Close", m.first.Close())
				st, err := m.next.Stats(m.Context(), moveSource)
				m.must("Stats", err)
				if under := n == 1 || n == 2; st.Moving > 0 != under {
					m.Errorf("after %d steps Stats says %d are moving, want some: %t", n, st.Moving, under)
				}
				moved := []string{"a", "b", "c"}
				if acked {
					m.settle(moveTarget, store.Done, m.claim(moveTarget))
					if n >= 2 {
						moved = nil
					}
				}
				m.conclude(movePatience - 1)
				m.conclude(1)
				if n == 0 { // nothing had begun
					m.want(moveSource, "of which nothing was taken", "a dead", "b dead", "c dead", "d")
					m.want(moveTarget, "that nothing came to")
				} else {
					m.want(moveSource, "when the move is concluded", "d")
					m.want(moveTarget, "when the move is concluded", moved...)
				}
				m.wantNothingLeft()
			})
		}
	}
}

// A process that comes back to a move that others have concluded moves nothing twice, however late it is.
func TestMoveComesBackLate(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, movePatience, 20 * time.Second, time.Minute, time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			m := newMover(t)
			in := m.steps(1)
			m.conclude(movePatience)
			m.want(moveTarget, "when another process has concluded the move", "a", "b", "c")
			m.settle(moveTarget, store.Done, m.claim(moveTarget))
			m.conclude(after)
			_, err := m.first.conclude(m.Context(), in)
			if err != nil && !errors.Is(err, store.ErrUnknown) {
				t.Errorf("conclude of a move that is done = %v, want nil or %v", err, store.ErrUnknown)
			}
			m.want(moveSource, "after the first process came back", "d")
			m.want(moveTarget, "after the first process came back")
			m.wantNothingLeft()
		})
	}
}

// A move that nobody concluded in time goes on under another id.
func TestMoveStandsStillForLong(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	in := m.steps(1)
	m.conclude(time.Hour)
	m.want(moveTarget, "when the move is concluded", "a", "b", "c")
	if v, _, err := m.first.insert(m.Context(), in); err != nil || v != late {
		t.Errorf("insert under the old id: verdict %q, %v; want %q", v, err, late)
	}
	m.want(moveTarget, "after an insert under the old id", "a", "b", "c")
	m.want(moveSource, "when the move is concluded", "d")
	m.wantNothingLeft()
}

// A move that begins long after it was noted would be overlooked if it stopped, so it does not begin.
func TestMoveBeginsLate(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	noted, err := m.first.noteMoves(t.Context(), moveSource, moveTarget)
	m.must("noteMoves", err)
	for range 5 {
		m.conclude(5 * time.Second) // there is nothing to be seen
	}
	_, _, err = m.first.whole().mark(t.Context(), theDead, noted)
	m.must("mark", err)
	m.conclude(movePatience)
	m.want(moveTarget, "when the move is concluded", "a", "b", "c")
	m.conclude(time.Second)
	all := theDead
	all.Select = store.Selection{}
	if _, _, err = m.first.whole().mark(t.Context(), all, noted); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("mark 31 seconds after the move was noted = %v, want %v", err, store.ErrUnavailable)
	}
	m.want(moveSource, "when the move did not begin", "d")
	m.wantNothingLeft()
}

// What is under way to a queue that is dropped goes back.
func TestMoveTargetDropped(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	in := m.steps(1)
	m.want(moveSource, "while messages are moving", "d")
	m.must("Drop", m.next.Drop(t.Context(), moveTarget))
	if _, err := m.first.conclude(t.Context(), in); !errors.Is(err, store.ErrGone) {
		t.Errorf("conclude of a move to a dropped queue = %v, want %v", err, store.ErrGone)
	}
	m.want(moveSource, "after the target was dropped", "a dead", "b dead", "c dead", "d")

	in = m.steps(1)
	m.conclude(movePatience)
	m.want(moveSource, "after another process took the move back", "a dead", "b dead", "c dead", "d")
	if _, err := m.first.conclude(t.Context(), in); !errors.Is(err, store.ErrGone) {
		t.Errorf("conclude of a move that was taken back = %v, want %v", err, store.ErrGone)
	}
	m.want(moveSource, "after the first process came back", "a dead", "b dead", "c dead", "d")
	m.wantNothingLeft()
}

// Once one process has taken a move back, no other can make it.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	in := m.steps(1)
	if v, _, err := m.next.refuse(t.Context(), in); err != nil || v != refused {
		t.Fatalf("refuse: verdict %q, %v; want %q", v, err, refused)
	}
	if _, err := m.first.conclude(t.Context(), in); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("conclude of a move that was refused = %v, want %v", err, store.ErrUnavailable)
	}
	m.want(moveSource, "after the move was refused", "a dead", "b dead", "c dead", "d")
	m.want(moveTarget, "after the move was refused")
	if r, err := m.first.Move(t.Context(), theDead); err != nil || r.Moved != 3 {
		t.Errorf("Move after one that was refused = %+v, %v; want 3 moved", r, err)
	}
	m.want(moveTarget, "after another move", "a", "b", "c")
	if v, _, err := m.next.refuse(t.Context(), in); err != nil || v != refused {
		t.Errorf("refuse again: verdict %q, %v; want %q", v, err, refused)
	}
	m.wantNothingLeft()
}

// A target without room leaves the messages where they were.
func TestMoveFullTarget(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	m := newMoverOn(t, own.url, own.url)
	in := m.steps(1)
	own.set(t, "maxmemory", "1mb")
	if _, err := m.first.conclude(t.Context(), in); !errors.Is(err, store.ErrFull) {
		t.Errorf("conclude without room = %v, want %v", err, store.ErrFull)
	}
	own.set(t, "maxmemory", "0")
	if _, err := m.next.conclude(t.Context(), in); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("conclude by a process that does not know that the move was taken back = %v, want %v", err, store.ErrUnavailable)
	}
	m.want(moveTarget, "after a move was taken back")
	own.set(t, "maxmemory", "1mb")
	if _, err := m.first.Move(t.Context(), theDead); !errors.Is(err, store.ErrFull) {
		t.Errorf("Move without room = %v, want %v", err, store.ErrFull)
	}
	m.want(moveSource, "after a move without room", "a dead", "b dead", "c dead", "d")
	own.set(t, "maxmemory", "0")
	if r, err := m.first.Move(t.Context(), theDead); err != nil || r.Moved != 3 {
		t.Errorf("Move when there is room again = %+v, %v; want 3 moved", r, err)
	}
	m.want(moveTarget, "after a move", "a", "b", "c")
	m.wantNothingLeft()
}

// TestMoveLosesOneCall loses each request and each answer in turn, with its connection. Then nothing is moved twice or
// lost, and an error says the truth.
func TestMoveLosesOneCall(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"request", "answer"} {
		for n := 1; n <= 10; n++ {
			t.Run(fmt.Sprintf("%s %d", lost, n), func(t *testing.T) {
				t.Parallel()
				url := serverURL(t)
				p := newProxy(t, url)
				m := newMoverOn(t, p.url(), url)
				p.set(func() {
					if lost == "request" {
						p.request = n
					} else {
						p.answer = n
					}
				})
				r, err := m.first.Move(t.Context(), theDead)
				p.set(func() { p.request, p.answer = 0, 0 })
				source := m.bodies(moveSource)
				switch {
				case err == nil && r.Moved != 3:
					t.Errorf("Move = %+v, want 3 moved", r)
				case err != nil && !errors.Is(err, store.ErrUnknown) && len(source) != 4:
					t.Errorf("Move = %v, but the source has %q, so something was changed", err, source)
				}
				m.conclude(movePatience)
				if errors.Is(err, store.ErrUnknown) && len(m.bodies(moveSource)) == 4 || err != nil && !errors.Is(err, store.ErrUnknown) {
					m.want(moveSource, "after a move that did not happen", "a dead", "b dead", "c dead", "d")
					m.want(moveTarget, "after a move that did not happen")
				} else {
					m.want(moveSource, "after a move", "d")
					m.want(moveTarget, "after a move", "a", "b", "c")
				}
				m.wantNothingLeft()
			})
		}
	}
}

// Processes look after moves by themselves, and after their own when they come back.
func TestMovesAreLookedAfter(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	m.steps(2)
	m.clock.Advance(movePatience)
	limit := time.After(6 * movesEvery)
	for {
		key := m.next.keys('q', uint64(moveSource), "j")[0]
		if n, err := m.next.client.Exists(t.Context(), key).Result(); err == nil && n == 0 {
			break
		}
		select {
		case <-limit:
			t.Fatal("no process has concluded the move")
		default:
		}
	}
}
