package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// choose returns the ready message that is next, or nil if there is none or the bounds allow none. A group of a FIFO
// queue that a claim is serving goes on, although it is locked.
func (q *plainQueue) choose(now time.Time, serving *string) *plainMessage {
	if q.full() || permitted(q.ahead, q.settings.Interval).After(now) {
		return nil
	}
	list := filter(q.free(serving), func(m *plainMessage) bool {
		return !permitted(q.groups[m.Group].ahead, q.settings.GroupInterval).After(now)
	})
	if len(list) == 0 {
		return nil
	}
	return slices.MinFunc(list, q.order(now, serving))
}

// full says that the queue has as many messages in flight as it may.
func (q *plainQueue) full() bool {
	n := q.settings.MaxInFlight
	return n > 0 && q.count(store.StateLeased) >= int64(n)
}

// free lists the ready messages that nothing in their groups locks, and whose groups have room for one more in flight.
func (q *plainQueue) free(serving *string) []*plainMessage {
	leased := q.leasedIn()
	return filter(q.in(store.StateReady), func(m *plainMessage) bool {
		if n := q.settings.GroupInFlight; n > 0 && leased[m.Group] >= int(n) {
			return false
		}
		served := serving != nil && *serving == m.Group
		return !slices.ContainsFunc(q.lockers(m.Group), func(l *plainMessage) bool {
			switch {
			case served && l.state == store.StateLeased && l.token == q.token+1:
				return false // this claim took it
			case q.settings.Tail:
				return l.Seq < m.Seq
			}
			return true
		})
	})
}

// lockers lists the messages that lock a group of a FIFO queue.
func (q *plainQueue) lockers(group string) []*plainMessage {
	return filter(q.messages, func(m *plainMessage) bool {
		return q.settings.Mode == store.FIFO && m.Group == group && (m.locks || m.state == store.StateLeased)
	})
}

// order compares ready messages: the lesser is next.
func (q *plainQueue) order(now time.Time, serving *string) func(a, b *plainMessage) int {
	turn := func(m *plainMessage) int {
		if q.settings.Mode == store.FIFO && serving != nil && *serving == m.Group {
			return 0
		}
		return q.groups[m.Group].turn
	}
	switch {
	case q.settings.Mode == store.FIFO:
		return func(a, b *plainMessage) int { return cmp.Or(cmp.Compare(turn(a), turn(b)), cmp.Compare(a.Seq, b.Seq)) }
	case byGroup(q.settings):
		leased := q.leasedIn()
		return func(a, b *plainMessage) int {
			return cmp.Or(cmp.Compare(leased[a.Group], leased[b.Group]), cmp.Compare(turn(a), turn(b)), byAge(a, b))
		}
	}
	return func(a, b *plainMessage) int {
		return cmp.Or(cmp.Compare(q.level(b, now), q.level(a, now)), byAge(a, b))
	}
}

// byGroup says that groups take turns.
func byGroup(s store.Settings) bool {
	return s.Mode != store.Standard || s.GroupInFlight > 0 || s.GroupInterval > 0
}

// level is the priority of a ready message, with what it gained by waiting.
func (q *plainQueue) level(m *plainMessage, now time.Time) int64 {
	top := max(int64(q.settings.Levels), 1) - 1
	level := min(int64(m.Priority), top)
	if q.settings.Ageing > 0 {
		level += int64(now.Sub(tickTime(m.avail)) / q.settings.Ageing)
	}
	return min(level, top)
}

// leasedIn counts the leased messages of each group.
func (q *plainQueue) leasedIn() map[string]int {
	n := make(map[string]int)
	for _, m := range q.messages {
		if m.state == store.StateLeased {
			n[m.Group]++
		}
	}
	return n
}

// permitted is when a rate allows the next delivery.
func permitted(ahead time.Time, interval time.Duration) time.Time {
	if interval == 0 {
		return time.Time{}
	}
	return ceil(ahead.Add(-max(time.Second-interval, 0)))
}

// advance counts a delivery against a rate.
func advance(ahead time.Time, interval time.Duration, now time.Time) time.Time {
	if interval == 0 {
		return ahead
	}
	if ahead.Before(now) {
		ahead = now
	}
	return ahead.Add(interval)
}

// nextDue is how long from now until time alone changes the queue.
func (q *plainQueue) nextDue(now time.Time) time.Duration {
	due := store.NoDue
	sooner := func(at time.Time) { due = min(due, max(at.Sub(now), 0)) }
	for _, m := range q.messages {
		if m.state&(store.StateDelayed|store.StateLeased) != 0 {
			sooner(m.due)
		}
		if m.state&(store.StateReady|store.StateDead) != 0 && q.settings.Retention > 0 {
			sooner(q.expiry(m))
		}
		if m.state&(store.StateReady|store.StateDelayed) != 0 && !m.ExpiresAt.IsZero() {
			sooner(m.ExpiresAt)
		}
	}
	for _, m := range q.free(nil) {
		all, group := permitted(q.ahead, q.settings.Interval), permitted(q.groups[m.Group].ahead, q.settings.GroupInterval)
		switch {
		case group.After(now):
			sooner(group)
		case all.After(now) && !q.full():
			sooner(all)
		}
	}
	return due
}
