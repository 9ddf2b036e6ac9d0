package integration

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"
)

// skew is how much the server's two clocks may differ.
const skew = 20 * time.Millisecond

// ledger is what the clients know: all that was sent, acknowledged and received. It is the other side of every check
// and lives in another process than the server.
//
// A request that was cut off leaves its messages in doubt until the next survey of the queues, which settles it: what a
// restarted server has is then there for good, and what it has not never happened.
type ledger struct {
	t *testing.T

	mu      sync.Mutex
	entries map[string]*entry // by tag
	pending []*request        // cut off and repeatable: to be repeated
	tokens  map[string]uint64 // the highest lease token seen of each queue
	floor   map[string]uint64 // the same at the last restart: all tokens after it are higher
	tally   tally
}

// tally counts what a run went through, so that one that went through too little fails.
type tally struct {
	sent, acked, received, deadLetters, lostLeases       int
	requestsInDoubt, acksInDoubt                         int
	doubtedThere, doubtedAbsent                          int // messages of requests cut off
	ackedThere, ackedAbsent                              int // acks cut off
	repeatedNew, repeatedOld, repeatedAtOnce, repeatRace int
}

// entry is one message.
type entry struct {
	tag  string
	hash [sha256.Size]byte
	// group is the one it was sent to, due when its delay has ended.
	group string
	due   time.Time
	// id is known from the answer, or from the first delivery.
	id string
	// sent: an answer said so. seen: it was delivered.
	sent, seen bool
	// acked: an answer said so, to the holder of that lease. acks is the number of acks that were not answered yet.
	acked     bool
	ackedFrom string
	ackedBy   uint64
	acks      int
	// The latest lease, as far as known; held says that it was not given up. Tokens rise within a queue.
	queue string
	token uint64
	ends  time.Time
	held  bool
}

// request is one send.
type request struct {
	key, path, contentType, body string
	many                         bool
	// dedup: its messages have deduplication ids, which are their tags.
	dedup   bool
	entries []*entry
}

// repeatable says whether a repeat counts once.
func (r *request) repeatable() bool { return r.key != "" || r.dedup }

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, entries: make(map[string]*entry), tokens: make(map[string]uint64), floor: make(map[string]uint64)}
}

// intend notes a request before it is sent.
func (l *ledger) intend(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range r.entries {
		l.entries[e.tag] = e
	}
}

// confirm notes an answer to a send: the ids of its messages, in order.
func (l *ledger) confirm(r *request, ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ids) != len(r.entries) {
		l.t.Errorf("a send of %d messages was answered with %d ids", len(r.entries), len(ids))
		return
	}
	for i, e := range r.entries {
		if e.id != "" && e.id != ids[i] {
			l.t.Errorf("message %s has the id %s, an answer says %s", e.tag, e.id, ids[i])
		}
		if !e.sent {
			l.tally.sent++
		}
		e.id, e.sent = ids[i], true
	}
}

// doubt notes a request that was cut off.
func (l *ledger) doubt(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.requestsInDoubt++
	if r.repeatable() {
		l.pending = append(l.pending, r)
	}
}

// deliver checks deliveries and notes their leases.
func (l *ledger) deliver(queue string, messages []message) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		e := l.look(queue, m)
		if e == nil {
			continue
		}
		l.tally.received++
		if m.Origin != nil {
			l.tally.deadLetters++
		}
		if m.Lease.Token <= l.floor[queue] {
			l.t.Errorf("message %s came from %s with token %d, but %d was given out before a restart",
				e.tag, queue, m.Lease.Token, l.floor[queue])
		}
		if now.Before(e.due.Add(-skew)) {
			l.t.Errorf("message %s came from %s %v before its delay ended", e.tag, queue, e.due.Sub(now))
		}
		l.tokens[queue] = max(l.tokens[queue], m.Lease.Token)
		l.lease(e, queue, m, now)
	}
}

// look finds the entry of a delivery and compares everything that must be as it was sent.
func (l *ledger) look(queue string, m *message) *entry {
	e := l.match(m)
	if e != nil && e.acked && !e.before(queue, m.Lease.Token) {
		l.t.Errorf("message %s was delivered from %s with token %d although its ack was acknowledged to token %d from %s",
			e.tag, queue, m.Lease.Token, e.ackedBy, e.ackedFrom)
	}
	return e
}

// match finds the entry of a message, delivered or browsed, and compares its content.
func (l *ledger) match(m *message) *entry {
	e := l.entries[m.Attributes["tag"]]
	if e == nil {
		l.t.Errorf("a message came that was never sent, or is over: id %s, attributes %v, %d bytes", m.ID, m.Attributes, len(m.content()))
		return nil
	}
	if sha256.Sum256(m.content()) != e.hash {
		l.t.Errorf("message %s came with other content than was sent: %d bytes", e.tag, len(m.content()))
	}
	if m.Group != e.group {
		l.t.Errorf("message %s was sent to group %q and came with group %q", e.tag, e.group, m.Group)
	}
	if e.id != "" && e.id != m.ID {
		l.t.Errorf("message %s has the id %s and came with the id %s", e.tag, e.id, m.ID)
	}
	e.id, e.seen = m.ID, true
	return e
}

// before says whether a delivery came before the one that was acked: a slow client notes a short lease after others have
// had the next one and acked it.
func (e *entry) before(queue string, token uint64) bool {
	if queue == e.ackedFrom {
		return token < e.ackedBy
	}
	return station[queue] < station[e.ackedFrom]
}

// lease notes who holds a message. Answers are looked at in any order, their tokens say which is later.
func (l *ledger) lease(e *entry, queue string, m *message, now time.Time) {
	if queue == e.queue && m.Lease.Token < e.token || station[queue] < station[e.queue] {
		return
	}
	if e.held && now.Before(e.ends.Add(-skew)) {
		l.t.Errorf("message %s was delivered with token %d while token %d still held it for %v",
			e.tag, m.Lease.Token, e.token, e.ends.Sub(now))
	}
	e.queue, e.token, e.ends, e.held = queue, m.Lease.Token, m.Lease.ExpiresAt, true
}

// giveUp notes that leases may end from now on.
func (l *ledger) giveUp(messages []message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range messages {
		if e := l.entries[messages[i].Attributes["tag"]]; e != nil {
			e.held = false
		}
	}
}

// acking notes acks before they are sent, ackedAll what became of them. Those that are never answered stay in doubt.
func (l *ledger) acking(messages []message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.acksInDoubt += len(messages)
	for i := range messages {
		if e := l.entries[messages[i].Attributes["tag"]]; e != nil {
			e.acks++
			e.held = false
		}
	}
}

func (l *ledger) answered(queue string, messages []message, done []outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(done) != len(messages) {
		l.t.Errorf("%d acks were answered with %d results", len(messages), len(done))
		return
	}
	l.tally.acksInDoubt -= len(messages)
	for i := range messages {
		e := l.entries[messages[i].Attributes["tag"]]
		if e == nil {
			continue
		}
		e.acks--
		switch {
		case done[i].OK:
			l.tally.acked++
			// Acking what is gone is fine, too, with an older lease.
			if token := messages[i].Lease.Token; !e.acked || queue != e.ackedFrom || token > e.ackedBy {
				e.acked, e.ackedFrom, e.ackedBy = true, queue, token
			}
		case done[i].Error.Code == "lease_lost":
			l.tally.lostLeases++
		default:
			l.t.Errorf("ack of message %s: %+v", e.tag, done[i].Error)
		}
	}
}

// restarted notes that all leases may be gone, but for those of FIFO queues, and that tokens must be higher from here on.
func (l *ledger) restarted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.floor, l.tokens)
	for _, e := range l.entries {
		e.held = e.held && strings.HasSuffix(e.queue, ".fifo")
	}
}

// browsed checks messages that were found by looking at a queue.
func (l *ledger) browsed(messages []message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range messages {
		l.match(&messages[i])
	}
}

// settle compares the ledger with all that the queues hold, and takes the side of the queues where it was in doubt.
// Entries that are over are forgotten, but not their tags.
func (l *ledger) settle(held map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for tag, n := range held {
		if n != 1 {
			l.t.Errorf("message %s is there %d times", tag, n)
		}
	}
	for tag, e := range l.entries {
		there := held[tag] > 0
		if there && e.acked {
			l.t.Errorf("message %s is there although its ack was acknowledged", tag)
		}
		if e.acks > 0 {
			count(there, &l.tally.ackedThere, &l.tally.ackedAbsent)
			e.acked, e.acks = e.acked || !there, 0
		}
		switch {
		case e.sent && !there && !e.acked:
			l.t.Errorf("message %s (id %s) is lost: it was acknowledged and nobody acked it", tag, e.id)
		case e.seen && !there && !e.acked:
			l.t.Errorf("message %s (id %s) is lost: it was delivered once and nobody acked it", tag, e.id)
		case !e.sent:
			count(there, &l.tally.doubtedThere, &l.tally.doubtedAbsent)
		}
	}
}

// count adds to one of two counters.
func count(yes bool, one, other *int) {
	if !yes {
		one = other
	}
	*one++
}

// takePending returns the requests to repeat.
func (l *ledger) takePending() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := l.pending
	l.pending = nil
	return pending
}

// repeated checks the answer to a repeat after a survey, when it is certain whether the first try was carried out.
func (l *ledger) repeated(r *request, ids []string, duplicate bool, held map[string]int) {
	l.mu.Lock()
	happened := 0
	for _, e := range r.entries {
		if held[e.tag] > 0 || e.seen {
			happened++
		}
	}
	if happened != 0 && happened != len(r.entries) {
		l.t.Errorf("of a request with %d messages only %d were carried out: %s", len(r.entries), happened, r.entries[0].tag)
	}
	if duplicate != (happened > 0) {
		l.t.Errorf("the repeat of a send (%s…) says duplicate: %v, but of its %d messages %d are there",
			r.entries[0].tag, duplicate, len(r.entries), happened)
	}
	count(duplicate, &l.tally.repeatedOld, &l.tally.repeatedNew)
	l.mu.Unlock()
	l.confirm(r, ids)
}

// forget drops what is over: messages acked, and those that never came to be. Should one of them come back, it counts
// as never sent.
func (l *ledger) forget(held map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for tag, e := range l.entries {
		if held[tag] == 0 && (e.acked || !e.sent) {
			delete(l.entries, tag)
		}
	}
}

// add counts something.
func (l *ledger) add(what func(*tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what(&l.tally)
}

// requireAll fails a run that did not go through everything it is meant to.
func (seen tally) requireAll(t *testing.T) {
	for what, n := range map[string]int{
		"sends": seen.sent, "acks": seen.acked, "dead letters": seen.deadLetters, "lost leases": seen.lostLeases,
		"sends cut off": seen.requestsInDoubt, "acks cut off": seen.acksInDoubt,
		"repeats of a send cut off": seen.repeatedNew + seen.repeatedOld,
		"repeats at once":           seen.repeatedAtOnce, "equal sends at the same time": seen.repeatRace,
	} {
		if n == 0 {
			t.Errorf("this run had no %s, so it says nothing about them", what)
		}
	}
}

func (seen tally) String() string {
	return fmt.Sprintf("%d sent, %d acked, %d deliveries (%d of dead letters), %d leases lost; cut off: %d sends (%d of their messages were there, %d not), "+
		"%d acks (%d not carried out, %d carried out); repeats: %d carried out before, %d not, %d at once, %d at the same time",
		seen.sent, seen.acked, seen.received, seen.deadLetters, seen.lostLeases, seen.requestsInDoubt, seen.doubtedThere, seen.doubtedAbsent,
		seen.acksInDoubt, seen.ackedThere, seen.ackedAbsent, seen.repeatedOld, seen.repeatedNew, seen.repeatedAtOnce, seen.repeatRace)
}
