package integration

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// groups is what the clients know of the order in FIFO queues: who held which part of a group, and when.
type groups struct {
	t *testing.T

	mu    sync.Mutex
	holds map[place][]*hold
	// compared counts the holds that came after another one, overtakeable the messages that another could have overtaken.
	compared, overtakeable int
}

// place is one group of one queue.
type place struct{ queue, group string }

// hold is what one receive got of a group.
type hold struct {
	token     uint64
	sequences []uint64
	numbers   []int // in which order the sender sent them, from the tags
	// It lasts from start to ends, by the server's clock, or until the last of its messages was given up. came is when the
	// client had it.
	start, ends, came time.Time
	givenUp           time.Time
	open              map[string]bool // receipts
}

func newGroups(t *testing.T) *groups { return &groups{t: t, holds: make(map[place][]*hold)} }

// take notes what a receive got, with leases of this length.
func (g *groups) take(queue string, messages []message, visibility time.Duration) {
	came := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		p := place{queue, m.Group}
		h := g.find(p, m.Lease.Token)
		if h == nil {
			h = &hold{token: m.Lease.Token, ends: m.Lease.ExpiresAt, start: m.Lease.ExpiresAt.Add(-visibility), came: came, open: map[string]bool{}}
			g.holds[p] = append(g.holds[p], h)
		}
		h.sequences, h.numbers = append(h.sequences, m.Sequence), append(h.numbers, number(m))
		h.open[m.Receipt] = true
	}
}

func (g *groups) find(p place, token uint64) *hold {
	for _, h := range g.holds[p] {
		if h.token == token {
			return h
		}
	}
	return nil
}

// giveUp notes that messages are about to be settled.
func (g *groups) giveUp(queue string, messages []message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range messages {
		h := g.find(place{queue, messages[i].Group}, messages[i].Lease.Token)
		delete(h.open, messages[i].Receipt)
		if len(h.open) == 0 {
			h.givenUp = time.Now()
		}
	}
}

// extended notes that the lease of a message was made longer.
func (g *groups) extended(queue string, m *message, ends time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.find(place{queue, m.Group}, m.Lease.Token)
	if ends.After(h.ends) {
		h.ends = ends
	}
}

// check looks back at all that was held since the last time. Nobody works meanwhile; present is what the queues hold.
func (g *groups) check(present map[string][]message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	there := make(map[place][]message)
	for queue, messages := range present {
		for i := range messages {
			p := place{queue, messages[i].Group}
			there[p] = append(there[p], messages[i])
		}
	}
	for p, holds := range g.holds {
		slices.SortFunc(holds, func(a, b *hold) int { return cmp.Compare(a.token, b.token) })
		g.oneHolder(p, holds)
		g.inOrder(p, holds, there[p])
		g.asSent(p, holds, there[p])
		// What still holds its group does so over the next restart.
		g.holds[p] = slices.DeleteFunc(holds, func(h *hold) bool { return !h.givenUp.IsZero() || time.Now().After(h.ends) })
	}
}

// oneHolder: a group is given out again only when the one who had it gave it up, or its lease had ended.
func (g *groups) oneHolder(p place, holds []*hold) {
	const rounding = 2 * time.Millisecond // of the times in answers
	for i, second := range holds {
		for _, first := range holds[:i] {
			g.compared++
			if second.start.After(first.ends.Add(-rounding)) {
				continue
			}
			if first.givenUp.IsZero() || first.givenUp.After(second.came) {
				g.t.Errorf("%v was given out with token %d at %v while token %d held it until %v", p,
					second.token, stamp(second.start), first.token, stamp(first.ends))
			}
		}
	}
}

// inOrder: what comes later, or is still there, was not left out when something after it was given out.
func (g *groups) inOrder(p place, holds []*hold, present []message) {
	for i, h := range holds {
		if !slices.IsSorted(h.sequences) {
			g.t.Errorf("%v: token %d got the sequences %v, want them in order", p, h.token, h.sequences)
		}
		last := slices.Max(h.sequences)
		overtaken := func(sequence uint64, where string) {
			g.overtakeable++
			if sequence < last && !slices.Contains(h.sequences, sequence) {
				g.t.Errorf("%v: token %d got the sequences %v, but %d, which comes before, %s", p, h.token, h.sequences, sequence, where)
			}
		}
		for _, later := range holds[i+1:] {
			for _, sequence := range later.sequences {
				overtaken(sequence, fmt.Sprintf("came later, with token %d", later.token))
			}
		}
		for j := range present {
			if present[j].State != "dead" {
				overtaken(present[j].Sequence, "is still "+present[j].State)
			}
		}
	}
}

// asSent: where messages are sent to, their sequences rise in the order in which their sender sent them.
func (g *groups) asSent(p place, holds []*hold, present []message) {
	if station[p.queue] > 0 {
		return
	}
	sequences := make(map[int]uint64)
	for _, h := range holds {
		for i, n := range h.numbers {
			sequences[n] = h.sequences[i]
		}
	}
	for i := range present {
		sequences[number(&present[i])] = present[i].Sequence
	}
	numbers := make([]int, 0, len(sequences))
	for n := range sequences {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		if before, after := sequences[numbers[i-1]], sequences[numbers[i]]; before >= after {
			g.t.Errorf("%v: m%d was sent before m%d, but has the sequence %d, after %d", p, numbers[i-1], numbers[i], before, after)
		}
	}
}

// number says in which order messages of one sender were sent.
func number(m *message) int {
	n, err := strconv.Atoi(m.Attributes["tag"][1:])
	if err != nil {
		panic(err)
	}
	return n
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
