package storetest

import (
	"context"
	"reflect"

	"github.com/dabba-mq/dabba/store"
)

func (s *plain) Sweep(_ context.Context, id store.QueueID) (store.SweepResult, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return store.SweepResult{}, err
	}
	var r store.SweepResult
	for _, m := range q.in(store.StateReady | store.StateDead) {
		if q.aged(m, now) && r.Expired < 1000 {
			q.remove(m, store.Aged, now)
			r.Expired++
		}
	}
	for _, m := range q.in(store.StateReady | store.StateDelayed) {
		switch {
		case !m.lapsed(now) || r.Expired == 1000 || r.Lapsed == 1000:
		case q.lapse(m, now):
			r.Lapsed++
		default:
			r.Expired++
		}
	}
	r.Ready, r.Dead, r.NextDue = q.count(store.StateReady), q.count(store.StateDead), q.nextDue(now)
	return r, nil
}

func (s *plain) Purge(_ context.Context, id store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return store.PurgeResult{}, err
	}
	limit := 1000
	if reflect.DeepEqual(sel, store.Selection{}) {
		limit = len(q.messages)
		clear(q.dedup)
		clear(q.attempts)
	}
	list, next := q.selected(sel, limit)
	for _, m := range list {
		q.remove(m, store.Purged, now)
	}
	return store.PurgeResult{Purged: int64(len(list)), Next: next}, nil
}
