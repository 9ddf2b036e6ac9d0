package storetest

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plainDead is the selection whose messages are moved oldest first.
var plainDead = store.Selection{States: store.StateDead}

func (s *plain) Move(_ context.Context, p store.MoveParams) (store.MoveResult, error) {
	source, now, err := s.queue(p.Source)
	if err != nil {
		return store.MoveResult{}, err
	}
	target, _, err := s.queue(p.Target)
	if err != nil {
		return store.MoveResult{}, err
	}
	list := filter(source.messages, func(m *plainMessage) bool { return m.state != store.StateLeased && m.chosen(p.Select) })
	if reflect.DeepEqual(p.Select, plainDead) {
		slices.SortFunc(list, byAge)
	}
	var r store.MoveResult
	payloads := 0
	for i, m := range list {
		payloads += len(m.Payload)
		if r.Moved == p.Limit || r.Moved > 0 && payloads > 4<<20 {
			r.Next = m.Seq
			for _, left := range list[i:] {
				r.Next = min(r.Next, left.Seq)
			}
			break
		}
		r.Moved++
		o := store.Origin{Queue: p.Source, Seq: m.Seq, SentAt: m.SentAt}
		if m.Origin != nil {
			o = *m.Origin
		}
		o.Receives += m.Entered
		o.Label, o.Reason, o.MovedAt = p.Label, m.reason, now
		d := store.Delivery{
			Payload: m.Payload, Size: m.Size, SentAt: o.SentAt, Group: m.Group, Priority: m.Priority, ExpiresAt: m.ExpiresAt, Origin: &o,
		}
		if p.Renew {
			d.SentAt, d.Origin = now, nil
		}
		if m.state == store.StateDead {
			d.ExpiresAt = time.Time{}
		}
		if p.Replace != nil {
			d.Payload, d.Size = p.Replace.Payload, p.Replace.Size
		}
		r.Bytes += int64(d.Size)
		target.add(&plainMessage{Delivery: d}, now, now)
		source.remove(m, store.MovedAway, now) // after that: within a queue its group stays known
		source.moved = append(source.moved, m.Seq)
	}
	r.NextDue = target.nextDue(now)
	return r, nil
}
