package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var (
	queueSettle         = newScript("queue_settle")
	queueSettleSelected = newScript("queue_settle_selected")
)

// settle settles messages of a part, together with other settlements that wait.
func (s part) settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if b := settleBurden(p); p.Select == nil && b.small() {
		return merge(ctx, s.Store, s.settles, s.settleKind(p), p, b)
	}
	return s.settleAlone(ctx, p)
}

// settleAlone makes one settlement.
func (s part) settleAlone(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	sc, args := queueSettle, settleArgs(p)
	if p.Select != nil {
		sc = queueSettleSelected
		args = append([]any{uint8(p.Each.Target), millis(max(p.Each.After, 0)), notBefore(&p.Each), p.Each.Reason, flag(p.Each.Uncount)}, selectionArgs(p.Select)...)
	}
	r, now, err := s.queue(ctx, sc, revised(p.Queue, p.Revision).acked(p.Acks), args...)
	if err != nil {
		return store.SettleResult{}, err
	}
	res, err := r.settled(now, p.Select != nil)
	s.told(p.Queue, r, now, settles, settled(res.Outcomes))
	return res, err
}

// settled reads the reply to a settlement.
func (r *reply) settled(now int64, selected bool) (store.SettleResult, error) {
	res := store.SettleResult{NextDue: until(now, r.int())}
	if selected {
		res.Next = store.Seq(r.int())
	}
	for r.more() {
		res.Outcomes = append(res.Outcomes, store.Outcome(r.int()))
	}
	return res, r.done()
}

// settled is how many items changed something.
func settled(outcomes []store.Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o == store.Settled || o == store.Died {
			n++
		}
	}
	return n
}

// settleArgs are items as lua/queue_settle.lua reads them: runs of those that differ in their sequences only.
func settleArgs(p store.SettleParams) []any {
	args := make([]any, 0, 1+7+len(p.Items))
	args = append(args, flag(p.Strict))
	for items := p.Items; len(items) > 0; {
		n := 1
		for n < len(items) && alike(&items[0], &items[n]) {
			n++
		}
		args = append(args, settleRun(&items[0])...)
		args = append(args, n)
		for i := range items[:n] {
			args = append(args, seqDigits(exact(items[i].Seq)))
		}
		items = items[n:]
	}
	return args
}

// settleRun is what items of a run have in common.
func settleRun(item *store.SettleItem) []any {
	token := ""
	if item.Token != store.AnyToken {
		token = decimal(uint64(min(item.Token, store.Token(lastSeq))))
	}
	return []any{token, uint8(item.Target), millis(max(item.After, 0)), notBefore(item), flag(item.Uncount), item.Reason}
}

// notBefore is what the wall clock has to show before a message is ready, in milliseconds; 0 for nothing.
func notBefore(item *store.SettleItem) int64 {
	if item.Target != store.Ready || item.Token != store.AnyToken {
		return 0
	}
	return wallMillis(item.NotBefore)
}

// alike says that two items differ in their sequences at most.
func alike(a, b *store.SettleItem) bool {
	c := *b
	c.Seq = a.Seq
	return *a == c
}

// seqDigits is a sequence as it is a member of sorted sets, see doc.go.
func seqDigits(seq uint64) string {
	b := [16]byte{}
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(seq%10)
		seq /= 10
	}
	return string(b[:])
}

// selectionArgs are a selection as lua/queue_select.lua reads it.
func selectionArgs(sel *store.Selection) []any {
	group, before, count := "", any(""), any("")
	if sel.Group != nil {
		group = *sel.Group
	}
	if !sel.AvailableBefore.IsZero() {
		before = wallMillis(sel.AvailableBefore)
	}
	if sel.Seqs != nil {
		count = len(sel.Seqs)
	}
	args := []any{
		uint8(sel.States), flag(sel.Group != nil), group, sel.Consumer, before, exact(sel.From), exact(sel.UpTo), count,
	}
	for _, seq := range sel.Seqs {
		args = append(args, exact(seq))
	}
	return args
}
