package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dabba-mq/dabba/store"
)

// glimpse is what a store showed between the end of one process and a loss of power: from then on it must stay true.
type glimpse struct {
	stats map[store.QueueID]store.Stats
	logs  map[store.LogID][]store.Bounds
	keys  map[string]store.Pair
}

// glance opens the store in another process after the first was killed, looks, and is killed, too.
func (w *world) glance(d Disk) (*glimpse, error) {
	w.process.bury()
	w.sim.Hook = nil
	second := newProcess(w.sim)
	s, err := d.Open(second, w.clock, randomBytes(w.rng), w.seen)
	if err != nil {
		return nil, fmt.Errorf("open after the process was killed: %w", err)
	}
	g, err := glance(w.ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look after the process was killed: %w", err)
	}
	second.kill()
	second.bury()
	go func() { _ = s.Close() }()
	return g, nil
}

func glance(ctx context.Context, s store.Store) (*glimpse, error) {
	g := &glimpse{stats: make(map[store.QueueID]store.Stats), keys: make(map[string]store.Pair)}
	list, err := s.Queues(ctx, 0, 1000)
	if err != nil {
		return nil, err
	}
	for _, id := range list {
		if g.stats[id], err = s.Stats(ctx, id); err != nil {
			return nil, err
		}
	}
	if g.logs, err = glanceLogs(ctx, s); err != nil {
		return nil, err
	}
	pairs, err := s.List(ctx, "", "", 1000)
	for _, p := range pairs {
		g.keys[p.Key] = p
	}
	return g, err
}

// compare says what was shown and is no longer so. A lease may be forgotten.
func (g *glimpse) compare(f *found) error {
	if g == nil {
		return nil
	}
	var errs []error
	for id, was := range g.stats {
		q := f.queues[id]
		if q == nil {
			errs = append(errs, fmt.Errorf("queue %x was shown before the power was cut and is gone", uint64(id)))
			continue
		}
		is := q.stats
		if was.Ready+was.Leased+was.Delayed+was.Dead != is.Ready+is.Leased+is.Delayed+is.Dead || was.Bytes != is.Bytes || was.Revision != is.Revision {
			errs = append(errs, fmt.Errorf("queue %x showed %+v before the power was cut, and now %+v", uint64(id), was, is))
		}
	}
	if len(f.queues) != len(g.stats) {
		errs = append(errs, fmt.Errorf("%d queues were shown before the power was cut, and now %d", len(g.stats), len(f.queues)))
	}
	if !maps.EqualFunc(g.keys, f.keys, func(a, b store.Pair) bool { return string(a.Value) == string(b.Value) && a.Revision == b.Revision }) {
		errs = append(errs, fmt.Errorf("keys were shown before the power was cut as %v, and now %v", g.keys, f.keys))
	}
	return errors.Join(append(errs, g.compareLogs(f))...)
}
