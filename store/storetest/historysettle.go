package storetest

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareSettle(d drawer) (string, doer) {
	if len(w.receipts) == 0 {
		return "Settle(nothing)", func(*side) (any, error) { return "", nil }
	}
	// All items of a call are of one queue: that of the first.
	first := w.receipts[len(w.receipts)-1-d.IntN(len(w.receipts))]
	w.pending = first.queue
	p := store.SettleParams{Queue: first.queue, Revision: w.settings[first.queue].Revision, Strict: d.one(4)}
	var claims []int
	for range d.few() {
		r := w.receipts[d.IntN(len(w.receipts))]
		if r.queue != first.queue {
			r = first
		}
		i := d.item()
		i.Seq = r.seq
		if !p.Strict && d.one(4) {
			i.Seq, i.Token = d.seq(first.queue), store.AnyToken
		} else {
			i.Uncount = i.Target == store.Ready && d.one(4)
		}
		p.Items = append(p.Items, i)
		claims = append(claims, r.claim)
	}
	name := fmt.Sprintf("Settle(%x, revision %d, strict %v, %+v by claims %v)", uint64(p.Queue), p.Revision, p.Strict, p.Items, claims)
	return name, func(s *side) (any, error) {
		mine := p
		mine.Items = append([]store.SettleItem{}, p.Items...)
		for i := range mine.Items {
			if mine.Items[i].Token != store.AnyToken {
				mine.Items[i].Token = s.tokens[claims[i]]
			}
		}
		return s.store.Settle(w.ctx, mine)
	}
}

func (w *historyWorld) prepareSettleSelected(d drawer, q store.QueueID) (string, doer) {
	sel, each := d.selection(q), d.item()
	each.Uncount = each.Target == store.Ready && d.one(2)
	name := fmt.Sprintf("Settle(%x, %s, %+v)", uint64(q), describeSelection(sel), each)
	return name, func(s *side) (any, error) {
		var total store.SettleResult
		err := follow(sel, func(sel store.Selection) (store.Seq, error) {
			r, err := s.store.Settle(w.ctx, store.SettleParams{
				Queue: q, Revision: w.settings[q].Revision, Select: &sel, Each: each,
			})
			total.Outcomes, total.NextDue = append(total.Outcomes, r.Outcomes...), r.NextDue
			return r.Next, err
		})
		return total, err
	}
}

// follow repeats a call that selects until it is through with all.
func follow(sel store.Selection, do func(store.Selection) (store.Seq, error)) error {
	for {
		next, err := do(sel)
		if err != nil || next == 0 {
			return err
		}
		if next <= sel.From {
			return fmt.Errorf("with From %d it said Next %d, want more", sel.From, next)
		}
		sel.From = next
	}
}

func describeSelection(sel store.Selection) string {
	group := "any"
	if sel.Group != nil {
		group = fmt.Sprintf("%q", *sel.Group)
	}
	return fmt.Sprintf("{states %04b group %s consumer %q available before %s from %d up to %d seqs %v}",
		sel.States, group, sel.Consumer, moment(sel.AvailableBefore), sel.From, sel.UpTo, sel.Seqs)
}
