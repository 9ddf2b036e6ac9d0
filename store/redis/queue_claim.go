package redis

import (
	"cmp"
	"context"
	"slices"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

var queueClaim = newScript("queue_claim")

// claim leases messages of a part, together with other claims that wait. Once it was sent its answer is awaited: whoever
// called may give back what came too late.
func (s part) claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	// How much there will be is known only when it is here.
	share, expected := memlimit.From(ctx), min(p.MaxBytes, int64(p.Max)*p.Expect)
	if err := share.Grow(expected); err != nil {
		return store.ClaimResult{}, err
	}
	res, err := s.claimNow(ctx, p)
	for i := range res.Messages {
		share.Force(int64(len(res.Messages[i].Payload)))
	}
	share.Shrink(expected)
	return res, err
}

func (s part) claimNow(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	var c claimed
	b := burden{items: p.Max}
	if claimsTogether(p) && b.small() {
		var err error
		if c, err = merge(ctx, s.Store, s.claims, claimKind{s, p.Queue, p.Revision}, p, b); err != nil {
			return store.ClaimResult{}, err
		}
	} else {
		if err := ctx.Err(); err != nil {
			return store.ClaimResult{}, err
		}
		c = s.claimAlone(context.WithoutCancel(ctx), []store.ClaimParams{p})[0]
	}
	return c.result, c.err
}

// claimed is what a claim came to.
type claimed struct {
	result store.ClaimResult
	err    error
}

// claimAlone makes claims of a kind in one script. It returns what some of them came to, at least the first; the others were
// not made.
func (s part) claimAlone(ctx context.Context, calls []store.ClaimParams) []claimed {
	p := &calls[0]
	args := make([]any, 0, 2+4*len(calls))
	window := millis(max(p.AttemptWindow, 0))
	if p.FirstOnly {
		window = -window
	}
	args = append(args, keyText(p.Attempt), window)
	for i := range calls {
		c := &calls[i]
		args = append(args, c.Max, c.MaxBytes, millis(max(c.Visibility, 0)), c.Consumer)
	}
	r, now, err := s.queue(ctx, queueClaim, revised(p.Queue, p.Revision), args...)
	if err != nil {
		return failed(err, len(calls))
	}
	list, n := r.claimed(now)
	if err := r.done(); err != nil || len(list) == 0 || len(list) > len(calls) {
		return failed(cmp.Or(err, store.ErrCorrupt), len(calls))
	}
	s.told(p.Queue, r, now, receives, n)
	return list
}

func failed(err error, n int) []claimed { return slices.Repeat([]claimed{{err: err}}, n) }

// claimed reads the reply to claims, and counts the messages.
func (r *reply) claimed(now int64) (list []claimed, messages int) {
	due := until(now, r.int())
	for r.more() {
		l := r.list()
		res := store.ClaimResult{Token: store.Token(l.int()), Deadline: instantOf(l.int()), Died: int(l.int()), Expired: int(l.int())}
		res.Ready = l.int() == 1
		how := l.int()
		res.Repeated, res.Spent = how == 1, how == 2
		res.NextDue = due
		res.Messages = make([]store.Delivery, 0, len(l.items)/shownValues)
		for l.more() {
			res.Messages = append(res.Messages, l.delivery())
		}
		messages += len(res.Messages)
		list = append(list, claimed{result: res})
	}
	return list, messages
}
