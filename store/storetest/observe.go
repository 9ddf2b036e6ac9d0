package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// found is everything a store shows to those who ask.
type found struct {
	at     time.Time // queue time, when the looking began
	queues map[store.QueueID]*foundQueue
	logs   map[store.LogID]*foundLog
	keys   map[string]store.Pair
	// revision is that of a put after all was seen.
	revision store.Revision
	// errs are what calls failed with: none in a healthy store.
	errs []error
}

// foundQueue is what a queue held: what could be claimed at once, what only later, and what was dead. Moved dead
// messages are found in the queue they were in, with an origin.
type foundQueue struct {
	stats              store.Stats
	ready, later, dead []store.Delivery
	once               map[byte]store.SendResult
	dedup              map[byte]store.Fate
	// token is that of the first claim, marker the result of a send after all was seen.
	token  store.Token
	marker store.SendResult
}

// observer empties a store.
type observer struct {
	ctx      context.Context //nolint:containedctx // an observer lives as long as one look
	store    store.Store
	clock    *Clock
	found    *found
	revision map[store.QueueID]uint64
	settings store.Settings // what must not be taken away to look
}

// observe takes everything out of a store. It ends at nothing but a store that answers no more.
func observe(ctx context.Context, s store.Store, clock *Clock, w *world) (*found, error) {
	o := &observer{
		ctx: ctx, store: s, clock: clock, revision: make(map[store.QueueID]uint64), settings: w.clients[0].load.kept(),
		found: &found{queues: make(map[store.QueueID]*foundQueue), keys: make(map[string]store.Pair)},
	}
	o.ask()
	o.count()
	o.observeLogs(w)
	for id := range o.found.queues {
		o.configure(id)
	}
	for id, q := range o.found.queues {
		q.ready = o.take(id, q)
	}
	clock.Advance(3 * time.Hour) // past the turned back wall clock, all delays and all leases but those of drain
	for id, q := range o.found.queues {
		q.later = o.take(id, q)
	}
	o.configure(collector)
	for id, q := range o.found.queues {
		q.dead = o.exhume(id)
		o.mark(id, q, w)
	}
	r, err := s.Put(ctx, "observer", nil, store.AnyRevision)
	o.note(err)
	o.found.revision = r
	return o.found, errors.Join(o.found.errs...)
}

func (o *observer) note(err error) bool {
	if err != nil {
		o.found.errs = append(o.found.errs, err)
	}
	return err == nil
}

// probe and collector are queues of the observer.
const (
	probe     = store.QueueID(1<<63 + 1)
	collector = store.QueueID(1<<63 + 2)
)

// ask finds out what time it is in the store: after a crash and a turned back wall clock only the store knows.
func (o *observer) ask() {
	o.configure(probe)
	r, err := o.store.Send(o.ctx, store.SendParams{Queue: probe, Revision: 1, Entries: []store.Entry{{}}})
	o.note(err)
	o.note(o.store.Drop(o.ctx, probe))
	o.found.at = r.SentAt
}

// count lists queues and keys, and what the queues say of themselves.
func (o *observer) count() {
	list, err := o.store.Queues(o.ctx, 0, 1000)
	o.note(err)
	for _, id := range list {
		s, err := o.store.Stats(o.ctx, id)
		if !o.note(err) {
			continue
		}
		o.found.queues[id] = &foundQueue{stats: s, once: make(map[byte]store.SendResult), dedup: make(map[byte]store.Fate)}
		o.revision[id] = s.Revision
	}
	pairs, err := o.store.List(o.ctx, "", "", 1000)
	o.note(err)
	for _, p := range pairs {
		o.found.keys[p.Key] = p
	}
}

// configure takes all limits away, so that looking changes nothing.
func (o *observer) configure(id store.QueueID) {
	o.revision[id]++
	s := store.Settings{Revision: o.revision[id]}
	if id != probe && id != collector {
		s.Mode, s.DedupWindow = o.settings.Mode, o.settings.DedupWindow
	}
	o.note(o.store.Configure(o.ctx, id, s))
}

// take takes everything that can be had. In a FIFO queue that takes acknowledgements.
func (o *observer) take(id store.QueueID, q *foundQueue) []store.Delivery {
	if o.settings.Mode == store.FIFO {
		return o.takeTurns(id, q)
	}
	return o.drain(id, q)
}

// drain claims everything that is ready.
func (o *observer) drain(id store.QueueID, q *foundQueue) []store.Delivery {
	var list []store.Delivery
	for limit := 1; ; limit = limit%7 + 1 {
		r, err := o.store.Claim(o.ctx, store.ClaimParams{
			Queue: id, Revision: o.revision[id], Max: limit, MaxBytes: 1 << 30, Visibility: 1000 * time.Hour,
		})
		if !o.note(err) || len(r.Messages) == 0 && !r.Ready {
			return list
		}
		if len(r.Messages) == 0 {
			o.note(fmt.Errorf("claim from queue %x gave nothing and said that more was ready", uint64(id)))
			return list
		}
		list = append(list, r.Messages...)
		if q != nil && q.token == 0 {
			q.token = r.Token
		}
	}
}

// exhume moves the dead to where they can be looked at.
func (o *observer) exhume(id store.QueueID) []store.Delivery {
	var list []store.Delivery
	for {
		r, err := o.store.Move(o.ctx, store.MoveParams{Source: id, Target: collector, Select: theDead, Limit: 5, Label: "observed"})
		if !o.note(err) {
			return list
		}
		list = append(list, o.drain(collector, nil)...)
		if r.Next == 0 || r.Moved == 0 {
			return list
		}
	}
}

// mark repeats all sends that may be repeated, and sends one message to see how numbering goes on.
func (o *observer) mark(id store.QueueID, q *foundQueue, w *world) {
	entries := []store.Entry{{Payload: []byte("marker")}}
	for _, key := range w.onceKeys(id) {
		r, err := o.store.Send(o.ctx, store.SendParams{Queue: id, Revision: o.revision[id], Entries: entries, Once: onceOf(key)})
		if o.note(err) {
			q.once[key] = r
		}
	}
	for _, key := range w.dedupKeys(id) {
		e := store.Entry{Payload: []byte("marker"), Dedup: dedupOf(key)}
		r, err := o.store.Send(o.ctx, store.SendParams{Queue: id, Revision: o.revision[id], Entries: []store.Entry{e}})
		if q.dedup[key] = (store.Fate{Verdict: store.Accepted}); o.note(err) && len(r.Fates) > 0 {
			q.dedup[key] = r.Fates[0]
		}
	}
	r, err := o.store.Send(o.ctx, store.SendParams{Queue: id, Revision: o.revision[id], Entries: entries})
	o.note(err)
	q.marker = r
	c, err := o.store.Claim(o.ctx, store.ClaimParams{Queue: id, Revision: o.revision[id], Max: 1, Visibility: time.Second})
	if o.note(err) && q.token == 0 {
		q.token = c.Token
	}
}

// onceKeys are the keys that may have been used in a queue.
func (w *world) onceKeys(id store.QueueID) []byte {
	var list []byte
	for _, c := range w.clients {
		for _, l := range []*ledger{c.doubt, c.known} { // what is in doubt is a superset of what is known
			if l == nil || l.queues[id] == nil {
				continue
			}
			for key := range l.queues[id].once {
				list = append(list, key)
			}
			break
		}
	}
	return list
}
