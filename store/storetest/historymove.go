package storetest

import (
	"fmt"
	"reflect"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareMove(d drawer, source, target store.QueueID, all bool) (string, doer) {
	p := store.MoveParams{Source: source, Target: target, Select: theDead, Limit: d.few(), Label: fmt.Sprint("label", d.IntN(100))}
	switch {
	case all:
		p.Limit = 10_000
	case d.one(6):
		p.Select.States, p.Select.Seqs = 0, []store.Seq{d.seq(source)}
		payload := payloadOf(uint64(d.IntN(1000)), d.IntN(500))
		p.Replace = &store.Entry{Payload: payload, Size: uint32(len(payload))}
	case d.one(3):
		p.Select = d.selection(source)
	}
	p.Renew = d.one(4)
	if source == target && d.one(4) {
		p.Target = 404
	}
	replaced := ""
	if p.Replace != nil {
		replaced = brief(p.Replace.Payload)
	}
	name := fmt.Sprintf("Move(%x to %x, %s, limit %d, %s, renew %v, replace %q)",
		uint64(p.Source), uint64(p.Target), describeSelection(p.Select), p.Limit, p.Label, p.Renew, replaced)
	return name, func(s *side) (any, error) {
		p := p
		var total store.MoveResult
		for {
			r, err := s.store.Move(w.ctx, p)
			if err != nil {
				return nil, err
			}
			total.Moved, total.Bytes, total.NextDue = total.Moved+r.Moved, total.Bytes+r.Bytes, r.NextDue
			p.Limit -= r.Moved
			if p.Limit == 0 || r.Next == 0 {
				return total, nil
			}
			if !reflect.DeepEqual(p.Select, theDead) { // of these the oldest are moved first, wherever they are
				p.Select.From = r.Next
			}
		}
	}
}
