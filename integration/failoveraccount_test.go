package integration

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"testing"
)

// account is what clients know of messages and records over failovers of the store, which may lose what was acknowledged.
// Nothing else may happen: what was refused or never sent does not come, nothing is there twice, nothing that names
// something is given out twice.
type account struct {
	t *testing.T

	mu    sync.Mutex
	items map[string]*item  // by tag: those that are not over
	ids   map[string]string // which tag was given an id, by place and id
	gone  []*item           // lost since the last time that the nodes' reports were right
	sum   losses
}

// item is one message or record.
type item struct {
	tag, place string // a queue, or a topic and a partition
	record     bool
	hash       [sha256.Size]byte
	group      string
	number     int // within its group
	// all: it was sent with acks=all, copied: where that means more than one copy. safe: it was there when all copies were equal.
	all, copied, safe bool
	// sent: node answered that it was; doubt and refused are other answers, or none.
	sent, doubt, refused bool
	node                 *node
	tries                int
	duplicate            bool   // the answer said that an earlier try had happened
	id                   string // an offset, of a record

	delivered int
	latest    uint64 // the highest token it was delivered with
	// acked: node by answered that it was, with that token. acks is how many were not answered.
	acked bool
	by    *node
	token uint64
	acks  int
}

// losses are the sums of a run.
type losses struct {
	rounds, failovers                          int
	acknowledged, acknowledgedAll              int
	unknown, unknownThere, unknownAll, refused int
	delivered, redelivered, acked, ackedTwice  int
	sends, appends, acks                       int // lost, acknowledged by nodes that are still there
	goneSends, goneAppends, goneAcks           int // by others
	lostOfAll, lostOfCopied                    int // of all of these, with acks=all, and where that means more than one copy
	// repeats are lost, and were acknowledged only by an answer that their deduplication id was known.
	repeats int
	// hidden may be lost: they are gone, and were acked, perhaps by somebody who only then got them.
	hidden int
	// nacked were given back or extended.
	nacked   int
	reported counters
}

// counters are how much nodes report as lost, by kind.
type counters map[string]int

func (s losses) String() string {
	return fmt.Sprintf("%d rounds with %d failovers; sent: %d acknowledged (%d with acks=all), %d unknown (%d there), %d refused; %d deliveries (%d again), %d acked;\n"+
		"lost: %d sends, %d appends, %d acks (and %d, %d, %d of nodes that were killed); %d with acks=all and %d with more copies; %d known only by their deduplication ids;\n"+
		"reported lost: %v; may be reported beside that: %d sends that were in doubt with acks=all, %d that were acked, %d acks",
		s.rounds, s.failovers, s.acknowledged, s.acknowledgedAll, s.unknown, s.unknownThere, s.refused, s.delivered, s.redelivered, s.acked,
		s.sends, s.appends, s.acks, s.goneSends, s.goneAppends, s.goneAcks, s.lostOfAll, s.lostOfCopied, s.repeats, s.reported, s.unknownAll, s.hidden, s.ackedTwice)
}

func newAccount(t *testing.T) *account {
	return &account{t: t, items: make(map[string]*item), ids: make(map[string]string), sum: losses{reported: make(counters)}}
}

// with does something while nobody else looks at the account.
func (a *account) with(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// intend notes items before they are sent.
func (a *account) intend(items []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range items {
		a.items[i.tag] = i
	}
}

// confirm notes that a node answered that items were sent.
func (a *account) confirm(items []*item, by *node, ids []string, duplicate bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(ids) != len(items) {
		a.t.Errorf("a send of %d to %s was answered with %v", len(items), items[0].place, ids)
		return
	}
	for n, i := range items {
		i.sent, i.refused, i.node, i.id, i.duplicate = true, false, by, ids[n], duplicate
		a.name(i, i.id)
		a.sum.acknowledged++
		if i.all {
			a.sum.acknowledgedAll++
		}
	}
}

// name notes that an id belongs to an item; mu is held.
func (a *account) name(i *item, id string) {
	at := i.place + " " + id
	if other, used := a.ids[at]; used && other != i.tag {
		a.t.Errorf("%s of %s has the id %s, which was %s's before", i.tag, i.place, id, other)
	}
	a.ids[at] = i.tag
}

// doubt notes that a try to send may have happened, refuse that it has not.
func (a *account) doubt(items []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range items {
		i.doubt, i.refused = true, false
		if i.all {
			a.sum.unknownAll++
		}
	}
}

func (a *account) refuse(items []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range items {
		i.refused = !i.doubt
	}
}

// find is the item of what was found somewhere, nil if it should not be; mu is held.
func (a *account) find(place, tag, id, group string, content []byte) *item {
	i := a.items[tag]
	if i == nil {
		a.t.Errorf("%s has %q (id %s), which was never sent or is over", place, tag, id)
		return nil
	}
	if i.place != place || i.group != group || sha256.Sum256(content) != i.hash {
		a.t.Errorf("%s was sent to %s, group %q, and is in %s, group %q, with %d bytes", tag, i.place, i.group, place, group, len(content))
	}
	if i.refused {
		a.t.Errorf("%s is in %s although all its sends were refused as not applied", tag, place)
	}
	if i.sent && i.id != id && !i.doubt { // else both sides of a parted network may have got a try of their own
		a.t.Errorf("%s of %s was sent with the id %s and has %s", tag, place, i.id, id)
	}
	a.name(i, id)
	return i
}

// deliver notes a delivery.
func (a *account) deliver(queue string, m *message) *item {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.find(queue, m.Attributes["tag"], m.ID, m.Group, m.content())
	if i == nil {
		return nil
	}
	a.sum.delivered++
	if i.delivered++; i.delivered > 1 {
		a.sum.redelivered++
	}
	if i.latest = max(i.latest, m.Lease.Token); i.acked && m.Lease.Token > i.token {
		a.lostAck(i)
	}
	return i
}

// lostAck notes that something is there although it was acked; mu is held.
func (a *account) lostAck(i *item) {
	count(!i.by.gone.Load(), &a.sum.acks, &a.sum.goneAcks)
	i.acked = false
}

// acking notes an ack before it is sent, acknowledge what a node answered.
func (a *account) acking(items []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range items {
		i.acks++
	}
}

func (a *account) acknowledge(i *item, by *node, token uint64, done bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i.acks--
	if !done {
		return
	}
	a.sum.acked++
	if i.acked || token < i.latest {
		a.sum.ackedTwice++ // it was gone, or the other side of a parted network has it as well
	}
	if !i.acked || token > i.token {
		i.acked, i.by, i.token = true, by, token
	}
}

// settle compares the account with all that queues hold; nothing is under way.
func (a *account) settle(held map[string][]message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there := make(map[string]bool)
	for queue, messages := range held {
		for n := range messages {
			m := &messages[n]
			if i := a.find(queue, m.Attributes["tag"], m.ID, m.Group, m.content()); i != nil {
				if there[i.tag] {
					a.t.Errorf("%s is in %s twice", i.tag, queue)
				}
				there[i.tag] = true
				if i.sent && i.id != m.ID && !i.acked {
					a.lost(i) // what is there is another try's
				}
			}
		}
	}
	for tag, i := range a.items {
		if _, whole := held[i.place]; whole {
			a.judge(i, there[tag])
		}
	}
}

// settleRecords compares it with all records of a partition that came since the last time.
func (a *account) settleRecords(place string, held []record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there := make(map[string]bool)
	for n := range held {
		r := &held[n]
		if i := a.find(place, r.Headers["tag"], fmt.Sprint(r.Offset), "", []byte(r.Value)); i != nil {
			if there[i.tag] {
				a.t.Errorf("%s is in %s twice", i.tag, place)
			}
			there[i.tag] = true
			if i.sent && i.id != fmt.Sprint(r.Offset) {
				a.lost(i)
			}
		}
	}
	for tag, i := range a.items {
		if i.place == place {
			a.judge(i, there[tag])
			delete(a.items, tag)
		}
	}
}

// judge says what became of an item; mu is held.
func (a *account) judge(i *item, there bool) {
	if !i.sent && i.doubt {
		a.sum.unknown++
	}
	switch {
	case there:
		if !i.sent {
			a.sum.unknownThere++
		}
		if i.acked {
			a.lostAck(i)
		}
		return
	case i.refused:
		a.sum.refused++
	case i.sent && !i.acked && i.acks == 0:
		a.lost(i)
	case i.sent && !i.safe:
		a.sum.hidden++
	}
	delete(a.items, i.tag)
}

func (a *account) lost(i *item) {
	a.gone = append(a.gone, i)
	if i.safe {
		a.t.Errorf("%s of %s is lost, which was there when all copies were equal", i.tag, i.place)
	}
	switch {
	case i.copied:
		a.sum.lostOfCopied++
		a.t.Logf("%s of %s is lost, which %s had acknowledged with acks=all and more than one copy", i.tag, i.place, i.node.name)
	case i.all:
		a.sum.lostOfAll++
	}
	if i.duplicate && i.group != "" && !i.node.gone.Load() {
		a.sum.repeats++
	}
	here, gone := &a.sum.sends, &a.sum.goneSends
	if i.record {
		here, gone = &a.sum.appends, &a.sum.goneAppends
	}
	count(!i.node.gone.Load(), here, gone)
}

// explain shows what is lost that the nodes did not report as it is, and forgets it.
func (a *account) explain(show bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range a.gone {
		if show {
			a.t.Logf("lost: %s of %s, group %q, id %s, acknowledged by %s at try %d; a duplicate: %v, with acks=all: %v, an earlier try in doubt: %v",
				i.tag, i.place, i.group, i.id, i.node.name, i.tries, i.duplicate, i.all, i.doubt)
		}
	}
	a.gone = nil
}

// forget drops a message that was acked when nothing was broken.
func (a *account) forget(i *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.items, i.tag)
}

// makeSafe notes that all that was acknowledged until now is on all copies.
func (a *account) makeSafe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range a.items {
		i.safe = i.sent
	}
}

// now is a copy of the sums.
func (a *account) now() losses {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := a.sum
	sum.reported = maps.Clone(a.sum.reported)
	return sum
}
