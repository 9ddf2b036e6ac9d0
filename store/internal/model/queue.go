package model

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const tickMillis = int64(store.Tick / time.Millisecond)

// movedSpans bounds what is remembered of messages that were moved away.
const movedSpans = 1 << 16

// sweepLimit bounds what one call removes or marks beside what it was asked for.
const sweepLimit = 1000

// Queue is the state of one queue. It is not safe for concurrent use: its owner holds a lock around each call.
type Queue struct {
	id       store.QueueID
	settings store.Settings
	now      Millis      // the latest instant it was advanced to
	next     store.Seq   // of the next message
	token    store.Token // the last one given out
	// protected is until when retention and times to live remove nothing.
	protected Millis
	clock     int64 // what the queue's rate counts, in nanoseconds of queue time
	cols      columns
	planned   agenda // when messages of kind planned become ready, but for those that wait for the wall clock
	ripes     agenda // messages of kind ripe by tick; some may not be any more
	byWall    byWall // what waits for the wall clock
	slots     slots
	delays    order // delayed and backing off slots, by due time
	leases    order // leased slots, by due time
	back      order // ready slots, by age
	dead      order // by age
	lanes     *lanes
	// expiring says when the time to live of messages ends: of those that are ready or delayed, and perhaps of some that were.
	// withTTL counts the messages that have one.
	expiring agenda
	withTTL  int64

	leasedBytes, deadBytes int64 // sums of the sizes of messages in these states

	names    texts // of groups
	texts    texts // consumers and reasons
	visits   visits
	once     onceTable
	dedup    dedup
	attempts attempts
	// movedAway are messages that went to another queue: an ack of one must not look like success. Of very many the lowest
	// are forgotten.
	movedAway ranges
	departed  []departed

	// Erased, if set, is called for each message that leaves the queue, with its size; Cleared instead when all leave
	// at once.
	Erased  func(seq store.Seq, size uint32)
	Cleared func()
}

// NewQueue returns the queue that a Configured event creates.
func NewQueue(id store.QueueID) *Queue {
	q := &Queue{id: id, next: 1}
	q.delays = order{slots: &q.slots, less: byDue}
	q.leases = order{slots: &q.slots, less: byDue}
	q.back = order{slots: &q.slots, less: byAge}
	q.dead = order{slots: &q.slots, less: byAge}
	return q
}

// ID is the queue's generation.
func (q *Queue) ID() store.QueueID { return q.id }

// Next is the sequence the next message will have.
func (q *Queue) Next() store.Seq { return q.next }

// Revision is that of the present settings; 0 means that there are none yet.
func (q *Queue) Revision() uint64 { return q.settings.Revision }

// FIFO says that the queue keeps the order of its groups: then a lease must be durable before it is shown.
func (q *Queue) FIFO() bool { return q.settings.Mode == store.FIFO }

// Check refuses a call that was resolved against another revision of the settings.
func (q *Queue) Check(revision uint64) error {
	if revision != q.settings.Revision {
		return fmt.Errorf("revision %d, have %d: %w", revision, q.settings.Revision, store.ErrStaleConfig)
	}
	return nil
}

// Configure returns the event that replaces the settings, or false when they are not newer.
func (q *Queue) Configure(now Millis, s store.Settings) (Configured, bool) {
	if s.Revision <= q.settings.Revision {
		return Configured{}, false
	}
	ev := Configured{At: now, Created: q.settings.Revision == 0, Settings: s}
	q.ApplyConfigured(ev)
	return ev, true
}

// ApplyConfigured repeats a Configure.
func (q *Queue) ApplyConfigured(ev Configured) {
	q.advance(ev.At) // what ended before now ended under the old settings
	was, tailed := q.settings, q.tailed()
	q.settings = ev.Settings
	if n := len(q.departed) - int(q.settings.History); n > 0 {
		q.departed = append([]departed(nil), q.departed[n:]...)
	}
	switch {
	case laned(&was) != laned(&q.settings), grouped(&was) != grouped(&q.settings),
		!grouped(&was) && was.Levels != q.settings.Levels:
		q.layLanes()
	case q.lanes != nil:
		if tailed != q.tailed() {
			q.holdAll()
		}
		q.rearrange()
	}
}

// ApplyRestarted makes sure that no token is given out twice although the leases of the last moments before a crash
// may be forgotten: far fewer than 2^24 claims can be waiting for the disk.
func (q *Queue) ApplyRestarted(ev Restarted) {
	if ev.Dated {
		q.protected = max(q.protected, ev.Protected)
		q.byWall.set(ev.Ahead, ev.At)
	}
	q.advance(ev.At)
	q.token += 1 << 24
}

// layLanes arranges all messages anew after the settings have changed what the lanes are.
func (q *Queue) layLanes() {
	q.lanes = nil
	if !laned(&q.settings) {
		return
	}
	for _, e := range q.ripes {
		if seq := store.Seq(e.id); q.cols.kind(seq) == ripe {
			q.setReady(q.touch(seq), 0)
		}
	}
	q.ripes = nil
	q.lanes = newLanes()
	for seq := range q.liveSeqs() {
		k := q.cols.kind(seq)
		q.joinLane(seq, k)
		switch k {
		case fresh:
			q.enter(seq, ready)
		case planned:
			q.enter(seq, delayed)
		case none, ripe:
			q.enterSlot(seq)
		}
	}
}

// enterSlot counts a touched message in its lane.
func (q *Queue) enterSlot(seq store.Seq) {
	n, _ := q.slots.find(seq)
	s := &q.slots.slab[n]
	switch s.state {
	case ready:
		q.keepBack(q.lane(seq), n)
	case leased, backoff:
		q.hold(n)
	case delayed, dead:
	}
	q.enter(seq, s.state)
}

// Len counts all messages.
func (q *Queue) Len() int64 {
	return q.cols.count(fresh) + q.cols.count(planned) + q.cols.count(ripe) + int64(len(q.slots.index))
}

// Live says whether the message is still in the queue.
func (q *Queue) Live(seq store.Seq) bool {
	if _, touched := q.slots.find(seq); touched {
		return true
	}
	return q.cols.kind(seq) != none
}

// Size is what a live message counts in bytes.
func (q *Queue) Size(seq store.Seq) uint32 { return q.cols.size(seq) }

// Stats counts as of now.
func (q *Queue) Stats(now Millis) store.Stats {
	q.advance(now)
	return store.Stats{
		Ready:     q.ready(),
		Leased:    q.leases.len(),
		Delayed:   q.waiting(),
		Dead:      q.dead.len(),
		Bytes:     q.cols.bytes,
		OldestAge: q.oldestAge(now),
		Revision:  q.settings.Revision,
		NextDue:   q.NextDue(now),
	}
}

func (q *Queue) ready() int64   { return q.cols.count(fresh) + q.cols.count(ripe) + q.back.len() }
func (q *Queue) waiting() int64 { return q.cols.count(planned) + q.delays.len() }

// eldest is the ready message that first became available: its tick, and its slot if it has one.
func (q *Queue) eldest() (seq store.Seq, avail int64, ok bool) {
	older := func(s store.Seq, a int64) {
		if !ok || a < avail || a == avail && s < seq {
			seq, avail, ok = s, a, true
		}
	}
	if s := q.cols.firstFresh(); s != 0 {
		older(s, q.cols.avail(s))
	}
	if s := q.firstRipe(); s != 0 {
		older(s, q.cols.avail(s))
	}
	if !q.back.empty() {
		top := q.back.top()
		older(top.seq, top.avail)
	}
	return seq, avail, ok
}

// firstRipe is the oldest ripe message; 0 when there is none.
func (q *Queue) firstRipe() store.Seq {
	for len(q.ripes) > 0 {
		if seq := store.Seq(q.ripes[0].id); q.cols.kind(seq) == ripe {
			return seq
		}
		q.ripes.take()
	}
	return 0
}
