package storetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// compareSend checks what a send said of each entry.
func (c *client) compareSend(list []store.Entry, r store.SendResult, want sending) {
	got := r.Fates
	if got == nil {
		for i := range list {
			got = append(got, store.Fate{Verdict: store.Accepted, Seq: r.First + store.Seq(i)})
		}
	}
	if !slices.Equal(got, want.Fates) || r.Count != want.Count || r.Evicted != want.Evicted {
		c.complain("Send: got fates %v, count %d, evicted %d, want %+v", got, r.Count, r.Evicted, want)
	}
}

// claimGroups takes messages of a queue in which groups take turns. Whose turn it is is a matter of the cases; the ledger
// knows the order within a group, and that a FIFO group never has two holders.
func (c *client) claimGroups(id store.QueueID, q *queueLedger) {
	now := c.clock.Now()
	p := store.ClaimParams{
		Queue: id, Revision: q.settings.Revision, Max: 1 + c.rng.IntN(c.load.batch), MaxBytes: 1 << 30,
		Visibility: time.Duration(1+c.rng.IntN(30)) * time.Second, Consumer: c.consumer(),
	}
	free := q.free(now)
	room := p.Max
	if q.settings.MaxInFlight > 0 {
		room = min(room, int(q.settings.MaxInFlight)-q.leased(now))
	}
	var r store.ClaimResult
	call := fmt.Sprintf("Claim(%x, %d by group)", uint64(id), p.Max)
	c.call(call, func() (err error) {
		r, err = c.store.Claim(c.ctx, p)
		return excuse(err, errRead)
	}, func(l *ledger, answered bool) {
		q := l.queues[id]
		var taken []message
		if answered {
			taken = c.compareGroups(call, q, r, free, room)
		} else {
			for _, list := range free { // any of them, and after a crash perhaps none
				taken = append(taken, list...)
			}
		}
		for _, m := range taken {
			m.lease, m.consumer = now.Add(p.Visibility), p.Consumer
			m.receives++
			q.messages[m.number] = m
			q.last, q.token = max(q.last, m.seq), max(q.token, m.token)
		}
	})
}

// consumer is one of the two names under which a client claims.
func (c *client) consumer() string { return fmt.Sprintf("client %d/%d", c.id, c.rng.IntN(2)) }

// compareGroups checks what a claim handed out, and stops the client when it cannot go on. It returns the messages with
// what was learned of them.
func (c *client) compareGroups(call string, q *queueLedger, r store.ClaimResult, free map[string][]message, room int) []message {
	var taken []message
	total := 0
	for _, list := range free {
		total += len(list)
	}
	if want := max(min(total, room), 0); len(r.Messages) != want {
		c.complain("%s: got %d messages, want %d", call, len(r.Messages), want)
		c.stopped = true
		return nil
	}
	if len(r.Messages) > 0 && r.Token <= q.token {
		c.complain("%s: got token %d, want above %d", call, r.Token, q.token)
	}
	next := make(map[string]int)
	for _, d := range r.Messages {
		list := free[d.Group]
		if next[d.Group] == len(list) {
			c.complain("%s: got seq %d of group %q, which has nothing to give: %v", call, d.Seq, d.Group, list)
			c.stopped = true
			return nil
		}
		m := list[next[d.Group]]
		next[d.Group]++
		if m.seq != 0 && d.Seq != m.seq || len(d.Payload) < 8 || binary.BigEndian.Uint64(d.Payload) != m.number || !intact(d, m) || d.Entered != m.receives+1 {
			c.complain("%s: got seq %d, %d bytes, entered %d of group %q, want %v", call, d.Seq, len(d.Payload), d.Entered, d.Group, m)
			c.stopped = true
			return nil
		}
		m.seq, m.token = d.Seq, r.Token
		taken = append(taken, m)
	}
	return taken
}
