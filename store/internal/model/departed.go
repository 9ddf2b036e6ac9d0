package model

import "github.com/dabba-mq/dabba/store"

// departed is what is remembered of a message that was removed.
type departed struct {
	seq      store.Seq
	alias    uint32
	removed  Millis
	how      store.Removal
	avail    int64
	entered  uint32
	token    store.Token
	since    Millis
	consumer string
	reason   string
	group    string
	priority uint8
	expires  Millis
	visits   []store.Visit
}

// noteDeparture remembers slot n, which is about to be removed, if the settings say so.
func (q *Queue) noteDeparture(now Millis, n uint32, how store.Removal) {
	limit := int(q.settings.History)
	if limit == 0 {
		return
	}
	s := &q.slots.slab[n]
	if len(q.departed) >= limit {
		q.departed[0] = departed{} // a later append moves what is left to new memory
		q.departed = q.departed[1:]
	}
	q.departed = append(q.departed, departed{
		seq: s.seq, alias: q.cols.alias(s.seq), removed: now, how: how, avail: s.avail, entered: s.entered,
		token: s.token, since: s.since, consumer: q.texts.get(s.consumer), reason: q.texts.get(s.reason),
		group: q.names.get(q.cols.group(s.seq)), priority: q.cols.priority(s.seq),
		expires: q.cols.expires(s.seq), visits: q.visitsOf(s.visits),
	})
}

func (p *departed) view() store.View {
	v := store.View{
		Delivery: store.Delivery{
			Seq: p.seq, Receives: p.entered, Entered: p.entered, Group: p.group, Priority: p.priority,
		},
		Token: p.token, Consumer: p.consumer, Reason: p.reason, Visits: p.visits,
		RemovedAt: Time(p.removed), Removal: p.how,
	}
	if p.avail > 0 {
		v.AvailableAt = Time(Millis(p.avail * tickMillis))
	}
	if p.expires > 0 {
		v.ExpiresAt = Time(p.expires)
	}
	if p.since > 0 {
		v.LeasedAt = Time(p.since)
	}
	return v
}
