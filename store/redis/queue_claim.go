package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueClaim = newScript("queue_claim")

// claim leases messages of a part.
func (s part) claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	r, now, err := s.queue(ctx, queueClaim, revised(p.Queue, p.Revision),
		p.Max, p.MaxBytes, millis(max(p.Visibility, 0)), p.Consumer, keyText(p.Attempt), millis(max(p.AttemptWindow, 0)))
	if err != nil {
		return store.ClaimResult{}, err
	}
	res := store.ClaimResult{Token: store.Token(r.int()), Deadline: instantOf(r.int()), Died: int(r.int()), Expired: int(r.int())}
	res.Ready, res.Repeated = r.int() == 1, r.int() == 1
	res.NextDue = until(now, r.int())
	for r.more() {
		res.Messages = append(res.Messages, r.list().delivery())
	}
	return res, r.done()
}
