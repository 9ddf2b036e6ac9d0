package redis

import (
	"context"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

var queueScan = newLook("queue_scan")

// scan looks at messages of a part.
func (s part) scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	args := append([]any{p.Limit, p.MaxBytes}, selectionArgs(&p.Select)...)
	r, _, err := s.queue(ctx, queueScan, queueCall{id: p.Queue}, args...)
	if err != nil {
		return store.ScanResult{}, err
	}
	res := store.ScanResult{Next: store.Seq(r.int())}
	for r.more() {
		v := r.list().view()
		if err := memlimit.Charge(ctx, int64(len(v.Payload))); err != nil {
			return store.ScanResult{}, err
		}
		res.Views = append(res.Views, v)
	}
	return res, r.done()
}

// view reads what lua/queue_view.lua shows of a message.
func (r *reply) view() store.View {
	v := store.View{Delivery: r.delivery()}
	v.State, v.Due = store.States(r.int()), momentOf(r.int())
	v.Token, v.Consumer, v.LeasedAt = store.Token(r.int()), r.text(), momentOf(r.int())
	v.Reason, v.Visits = r.text(), r.visits()
	return v
}

func (r *reply) visits() []store.Visit {
	var list []store.Visit
	for l := r.list(); l.more(); {
		list = append(list, store.Visit{
			LeasedAt: instantOf(l.int()), EndedAt: instantOf(l.int()), Consumer: l.text(), End: store.End(l.int()), Reason: l.text(),
		})
	}
	return list
}
