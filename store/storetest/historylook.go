package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareScan(d drawer, q store.QueueID, all bool) (string, doer) {
	p := store.ScanParams{Queue: q, Select: d.selection(q), Limit: d.few(), MaxBytes: int64(d.IntN(5000))}
	if all {
		p = store.ScanParams{Queue: q, Limit: 1000, MaxBytes: math.MaxInt64}
	}
	name := fmt.Sprintf("Scan(%x, %s, limit %d, max bytes %d)", uint64(q), describeSelection(p.Select), p.Limit, p.MaxBytes)
	return name, func(s *side) (any, error) {
		var b strings.Builder
		err := follow(p.Select, func(sel store.Selection) (store.Seq, error) {
			p := p
			p.Select = sel
			r, err := s.store.Scan(w.ctx, p)
			if len(r.Views) > p.Limit {
				err = errors.Join(err, fmt.Errorf("%d views are too many", len(r.Views)))
			}
			for _, v := range r.Views {
				fmt.Fprintf(&b, "\n      [%s]", s.showView(q, v))
			}
			return r.Next, err
		})
		return b.String(), err
	}
}

func (w *historyWorld) prepareLookup(d drawer, q store.QueueID, all bool) (string, doer) {
	origin := q
	if d.one(3) {
		origin = w.queue(d.IntN(queueCount))
	}
	from := d.seq(origin)
	to := from
	if all {
		origin, from, to = q, w.last[q]-min(w.last[q], 50), w.last[q]
	}
	return fmt.Sprintf("Lookup(%x, %x, %d to %d)", uint64(q), uint64(origin), from, to), func(s *side) (any, error) {
		var b strings.Builder
		for seq := from; seq <= to; seq++ {
			v, err := s.store.Lookup(w.ctx, q, origin, seq)
			if err != nil {
				fmt.Fprintf(&b, "\n      [%d: %s]", seq, kindOf(err))
				continue
			}
			fmt.Fprintf(&b, "\n      [%s]", s.showView(q, v))
		}
		return b.String(), nil
	}
}

func (w *historyWorld) prepareGroups(d drawer, q store.QueueID, all bool) (string, doer) {
	if w.settings[q].Mode == store.Standard {
		return "Groups of a standard queue: not listed", func(*side) (any, error) { return "", nil }
	}
	var after *string
	name, limit := "the start", 1+d.IntN(6)
	if d.one(2) && !all {
		group := d.group()
		after, name = &group, fmt.Sprintf("%q", group)
	}
	return fmt.Sprintf("Groups(%x, after %s, %d)", uint64(q), name, limit), func(s *side) (any, error) {
		list, err := s.store.Groups(w.ctx, q, after, limit)
		for i := range list {
			list[i].LockedUntil = list[i].LockedUntil.UTC()
		}
		return list, err
	}
}

func (w *historyWorld) preparePurge(d drawer, q store.QueueID) (string, doer) {
	var sel store.Selection
	if !d.one(6) {
		sel = d.selection(q)
	}
	return fmt.Sprintf("Purge(%x, %s)", uint64(q), describeSelection(sel)), func(s *side) (any, error) {
		var purged int64
		err := follow(sel, func(sel store.Selection) (store.Seq, error) {
			r, err := s.store.Purge(w.ctx, q, sel)
			purged += r.Purged
			return r.Next, err
		})
		return purged, err
	}
}

// showView prints a view with the number of the claim in the place of the token.
func (s *side) showView(q store.QueueID, v store.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s state %d due %v consumer %q leased %v reason %q removed %v %d",
		showDelivery(v.Delivery), v.State, moment(v.Due), v.Consumer, moment(v.LeasedAt), v.Reason, moment(v.RemovedAt), v.Removal)
	if v.Token != 0 {
		fmt.Fprintf(&b, " claim %d", s.number(claimID{q, v.Token}))
	}
	for _, e := range v.Visits {
		fmt.Fprintf(&b, " {%v to %v by %q ended %d reason %q}", moment(e.LeasedAt), moment(e.EndedAt), e.Consumer, e.End, e.Reason)
	}
	return b.String()
}
