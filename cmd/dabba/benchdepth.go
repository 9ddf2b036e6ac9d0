package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	shallow = 1000
	// fillBatch is how many messages a request carries that fills a queue: as many as those that keep it level, so that
	// the two backlogs differ in nothing but their length.
	fillBatch = benchBatch
)

// depthReport compares receiving at two backlogs. Each unit of work receives 10 messages, acknowledges them and sends
// 10 new ones, so that the backlog stays as it is.
type depthReport struct {
	Backlog        int     `json:"backlog"`
	Shallow        int     `json:"shallow"`
	DeepRate       float64 `json:"deep_messages_per_second"`
	ShallowRate    float64 `json:"shallow_messages_per_second"`
	Ratio          float64 `json:"ratio"`
	DeepMicros     float64 `json:"deep_server_us_per_message,omitzero"`
	ShallowMicros  float64 `json:"shallow_server_us_per_message,omitzero"`
	FillSeconds    float64 `json:"fill_seconds"`
	ResidentBefore int64   `json:"resident_bytes_before,omitzero"`
	ResidentFilled int64   `json:"resident_bytes_filled,omitzero"`
	ResidentAfter  int64   `json:"resident_bytes_after,omitzero"`
}

func (b *bench) depth(ctx context.Context, toServer *load) (*depthReport, error) {
	r := &depthReport{Backlog: b.options.depth, Shallow: shallow, ResidentBefore: max(0, b.server.resident())}
	deepQueue, shallowQueue := b.name+"-deep", b.name+"-shallow"
	if b.options.fifo {
		deepQueue, shallowQueue = deepQueue+".fifo", shallowQueue+".fifo"
	}
	for _, queue := range []string{deepQueue, shallowQueue} {
		if err := b.createQueue(ctx, queue); err != nil {
			return nil, err
		}
		defer b.deleteQueue(ctx, queue)
	}
	b.say("filling a queue with %d messages", r.Backlog)
	start := time.Now()
	if err := b.fill(ctx, toServer, deepQueue, r.Backlog); err != nil {
		return nil, err
	}
	r.FillSeconds = time.Since(start).Seconds()
	r.ResidentFilled = max(0, b.server.resident())
	if err := b.fill(ctx, toServer, shallowQueue, shallow); err != nil {
		return nil, err
	}
	var ratios, deeps, shallows, deepCosts, shallowCosts []float64
	for round := range b.options.rounds + 1 {
		b.say("depths, round %d of %d", round, b.options.rounds)
		flat, err := b.steady(ctx, toServer, shallowQueue)
		if err != nil {
			return nil, err
		}
		deep, err := b.steady(ctx, toServer, deepQueue)
		if err != nil {
			return nil, err
		}
		if round == 0 {
			continue // to warm up
		}
		ratios = append(ratios, deep.perSecond()/flat.perSecond())
		deeps, shallows = append(deeps, deep.perSecond()), append(shallows, flat.perSecond())
		deepCosts, shallowCosts = append(deepCosts, microsPer(deep)), append(shallowCosts, microsPer(flat))
	}
	r.Ratio, r.DeepRate, r.ShallowRate = median(ratios), median(deeps), median(shallows)
	r.DeepMicros, r.ShallowMicros = median(deepCosts), median(shallowCosts)
	r.ResidentAfter = max(0, b.server.resident())
	return r, nil
}

func (b *bench) steady(ctx context.Context, l *load, queue string) (measured, error) {
	requests := newRequests(l, queue, b.options)
	return b.server.measure(ctx, l, b.options.duration.value, func(w *wire) (int, error) {
		n, err := requests.receiveAndAck(w)
		if err != nil {
			return 0, err
		}
		_, err = requests.sendBatch(w)
		return n, err
	})
}

// fill sends messages until there are as many as wanted.
func (b *bench) fill(ctx context.Context, l *load, queue string, wanted int) error {
	one := message(queue, b.options.size)
	batch := max(1, min(fillBatch, wanted, (8<<20)/len(one)))
	requests := newRequests(l, queue, b.options)
	request := newTemplate(l.post(queuePath(queue, "/messages"), messages(one, batch)))
	var left atomic.Int64
	left.Store(int64(wanted))
	deadline, _ := ctx.Deadline()
	_, err := l.run(ctx, time.Until(deadline), func(w *wire) (int, error) {
		if left.Add(-int64(batch)) <= -int64(batch) {
			return 0, errDrained
		}
		_, err := w.roundTrip(requests.fill(w, request))
		return batch, err
	})
	if err != nil {
		return fmt.Errorf("fill the queue: %w", err)
	}
	return nil
}
