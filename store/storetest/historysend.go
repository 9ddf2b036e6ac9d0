package storetest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareSend(d drawer, q store.QueueID, once bool) (string, doer) {
	p := store.SendParams{Queue: q, Revision: w.settings[q].Revision, Whole: d.one(6)}
	used := make(map[store.DedupKey]bool)
	count := d.few()
	if d.one(100) {
		count = 300 // more than a backend keeps together
	}
	for range count {
		e := w.entry(d)
		if p.Whole && used[e.Dedup] {
			e.Dedup = store.DedupKey{} // whether it repeats one that is refused nobody asks
		}
		e.Displace = e.Displace && !p.Whole
		used[e.Dedup] = true
		p.Entries = append(p.Entries, e)
	}
	if once {
		p.Once = onceKey(fmt.Sprint(d.IntN(20)), fmt.Sprint(d.IntN(2)), d.duration()+time.Second)
	}
	return describeSend(p), func(s *side) (any, error) {
		r, err := s.store.Send(w.ctx, p)
		if err != nil {
			return nil, err
		}
		r.SentAt = r.SentAt.UTC()
		if r.Count == 0 {
			r.First = 0
		} else {
			s.sent = r.First + store.Seq(r.Count) - 1
		}
		return r, nil
	}
}

func (w *historyWorld) entry(d drawer) store.Entry {
	w.sent++
	e := store.Entry{
		Payload: payloadOf(w.sent, d.IntN(7)*d.IntN(7)*d.IntN(41)), Group: d.group(), Displace: d.one(10), InOrder: d.one(2),
	}
	e.Size = uint32(len(e.Payload) - d.IntN(4))
	switch d.IntN(5) {
	case 0:
		e.Delay = d.duration()
	case 1:
		e.NotBefore = w.clock.Now().Add(d.duration() - time.Minute)
	}
	if d.one(3) {
		e.Priority = uint8(d.IntN(12))
	}
	if d.one(5) {
		e.TTL = d.duration()
	}
	if d.one(4) {
		e.Dedup = store.DedupKey{byte(1 + d.IntN(12))}
	}
	return e
}

// payloadOf is the payload of the n-th message of a test: different for each, and all of it follows from its number.
func payloadOf(n uint64, size int) []byte {
	b := binary.BigEndian.AppendUint64(nil, n)
	for i := range size {
		b = append(b, byte(n)*31+byte(i)*7)
	}
	return b
}

func describeSend(p store.SendParams) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Send{Queue:%x Revision:%d Whole:%v Once:%+v", uint64(p.Queue), p.Revision, p.Whole, p.Once)
	for _, e := range p.Entries {
		fmt.Fprintf(&b, "\n      [%s size %d group %q", brief(e.Payload), e.Size, e.Group)
		for _, part := range []struct {
			name  string
			value any
			there bool
		}{
			{"delay", e.Delay, e.Delay != 0},
			{"not before", moment(e.NotBefore), !e.NotBefore.IsZero()},
			{"in order", e.InOrder, e.InOrder},
			{"priority", e.Priority, e.Priority != 0},
			{"ttl", e.TTL, e.TTL != 0},
			{"dedup", e.Dedup[0], e.Dedup != store.DedupKey{}},
			{"displace", e.Displace, e.Displace},
		} {
			if part.there {
				fmt.Fprintf(&b, " %s %v", part.name, part.value)
			}
		}
		b.WriteString("]")
	}
	return b.String() + "}"
}
