package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Read gives records of one partition in order, from a place of the reader's choice, and waits for the first if there is
// none. It changes nothing, and nothing is remembered of it.
func (e *Engine) Read(ctx context.Context, ref Ref, req ReadRequest) (ReadAnswer, error) {
	if err := req.fill(); err != nil {
		return ReadAnswer{}, err
	}
	r := &reading{engine: e, ref: ref, req: req}
	if err := r.begin(ctx); err != nil {
		return ReadAnswer{}, err
	}
	err := r.fetch(ctx)
	if err == nil && len(r.got.Records) == 0 && req.Wait > 0 {
		err = r.wait(ctx)
	}
	if err != nil {
		return ReadAnswer{}, err
	}
	return r.answer()
}

func (r *ReadRequest) fill() *Error {
	if r.Max == 0 {
		r.Max = DefaultRead
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = MaxAnswerBytes
	}
	switch {
	case r.Max < 1 || r.Max > MaxRead:
		return invalid("max", fmt.Sprintf("Give a number from 1 to %d.", MaxRead))
	case r.MaxBytes < 1 || r.MaxBytes > MaxAnswerBytes:
		return invalid("max_bytes", fmt.Sprintf("Give a number from 1 to %d.", MaxAnswerBytes))
	case r.Start.Kind == AtTime && (r.Start.Time.Year() < 1970 || r.Start.Time.Year() > lastYear):
		return invalid("offset", fmt.Sprintf("Give a time from 1970 to %d.", lastYear))
	}
	return validDuration("wait", r.Wait, 0, MaxWait)
}

// reading is one read under way.
type reading struct {
	engine *Engine
	ref    Ref
	req    ReadRequest

	topic  *topic
	setup  *topicSetup
	offset store.Offset

	// waits says that the topic was found and is waited for.
	waits bool
	// What the last fetch found out.
	seen uint64 // signals before it
	got  store.FetchResult
}

// begin finds the topic, the partition and the offset.
func (r *reading) begin(ctx context.Context) (err error) {
	e := r.engine
	if r.topic, r.setup, err = e.topicWith(ctx, r.ref, r.req.Partition); err != nil {
		return err
	}
	for reloads := 0; ; reloads++ {
		err := r.place(ctx)
		if err == nil || !isStale(err) || reloads == maxReloads {
			return err
		}
		if _, _, err := e.reopenTopic(ctx, r.ref, r.setup); err != nil {
			return err
		}
		if r.topic, r.setup, err = e.topicWith(ctx, r.ref, r.req.Partition); err != nil {
			return err
		}
	}
}

// place finds the offset in the topic that was found.
func (r *reading) place(ctx context.Context) (err error) {
	e := r.engine
	switch start := r.req.Start; start.Kind {
	case AtOffset:
		r.offset = store.Offset(start.Offset)
	case AtEarliest, AtLatest:
		b, err := e.partition(ctx, r.topic, r.req.Partition)
		if err != nil {
			return err
		}
		r.offset = b.First
		if start.Kind == AtLatest {
			r.offset = b.Next
		}
	case AtTime:
		if r.offset, err = e.store.Seek(ctx, r.topic.id, r.req.Partition, nextMilli(start.Time)); err != nil {
			return fromTopics(fmt.Errorf("seek in topic %s: %w", r.ref, err))
		}
	}
	return nil
}

// nextMilli is the first whole millisecond that is not before t. Timestamps of records have no finer parts, and stores cut them
// off: so the record of that millisecond would be taken for one that is not before t.
func nextMilli(t time.Time) time.Time {
	whole := t.Truncate(time.Millisecond)
	if whole.Before(t) {
		whole = whole.Add(time.Millisecond)
	}
	return whole
}

// topicWith finds a topic that has the partition.
func (e *Engine) topicWith(ctx context.Context, ref Ref, partition uint32) (*topic, *topicSetup, error) {
	t, s, err := e.lookupTopic(ctx, ref)
	if err == nil && partition >= s.config.Partitions { // there may be more by now
		t, s, err = e.reloadTopic(ctx, ref, s)
	}
	if err != nil {
		return nil, nil, err
	}
	if partition >= s.config.Partitions {
		return nil, nil, &Error{
			Code: CodeNotFound, Field: "partition", Outcome: NotApplied,
			Detail: fmt.Sprintf("Topic %s has partitions 0 to %d.", ref.Name, s.config.Partitions-1),
		}
	}
	return t, s, nil
}

func (e *Engine) partition(ctx context.Context, t *topic, partition uint32) (store.Bounds, error) {
	all, err := e.store.Bounds(ctx, t.id)
	if err != nil {
		return store.Bounds{}, fromTopics(fmt.Errorf("look at topic %s: %w", t.ref, err))
	}
	if int(partition) >= len(all) {
		return store.Bounds{}, fromStore(fmt.Errorf("partition %d of topic %s: %w", partition, t.ref, store.ErrStaleConfig))
	}
	return all[partition], nil
}

// fetch asks the store once. If the earliest record was removed since it was looked up, the one that took its place will
// do.
func (r *reading) fetch(ctx context.Context) error {
	for tries := 0; ; tries++ {
		var err error
		r.seen = r.setup.lines[r.req.Partition].seen()
		r.got, err = r.engine.store.Fetch(ctx, store.FetchParams{
			Log: r.topic.id, Partition: r.req.Partition, Offset: r.offset, Max: r.req.Max, MaxBytes: r.req.MaxBytes,
		})
		if err == nil {
			return nil
		}
		trimmed, ok := errors.AsType[*store.OffsetError](err)
		switch {
		case tries == maxReloads:
		case ok && errors.Is(err, store.ErrTrimmed) && r.req.Start.Kind != AtOffset:
			r.offset = trimmed.Bounds.First
			continue
		case isStale(err):
			if err := r.renew(ctx); err != nil {
				return err
			}
			continue
		}
		return fromTopics(fmt.Errorf("read topic %s: %w", r.ref, err))
	}
}

// renew finds the topic anew, since the store refused it. One that was created again has other records, so that it ends a
// wait; another read begins in it.
func (r *reading) renew(ctx context.Context) error {
	t, s, err := r.engine.reopenTopic(ctx, r.ref, r.setup)
	if err != nil {
		return err
	}
	switch {
	case t != r.topic && r.waits:
		return noTopic(r.ref)
	case t != r.topic:
		return r.begin(ctx)
	}
	r.setup = s
	return nil
}

// wait returns once there are records, or there is an error, or the time is up.
func (r *reading) wait(ctx context.Context) error {
	e := r.engine
	if e.events.Waiting != nil {
		e.events.Waiting(+1)
		defer e.events.Waiting(-1)
	}
	r.waits = true
	l := r.setup.lines[r.req.Partition]
	w := &waiter{verdict: make(chan verdict, 1)}
	until := e.clock.in(r.req.Wait)
	var away error // why the last fetch could not be made
	for len(r.got.Records) == 0 {
		next := until
		if away != nil {
			next = min(until, e.clock.in(awayRetry))
		}
		v, err := e.waitIn(ctx, l, w, r.seen, next)
		if err != nil {
			return fromStore(fmt.Errorf("wait for records of topic %s: %w", r.ref, err))
		}
		if v == dismissed && (next == until || e.draining.Load()) {
			return away
		}
		if away = r.fetch(ctx); away != nil && !isAway(away) {
			return away
		}
		if v == tryAlone && len(r.got.Records) > 0 {
			l.stir() // what announced them was lost, for the others as well
		}
	}
	return nil
}

// waitIn stands in a line, whose waiters are all woken at once, until there is a reason to leave it.
func (e *Engine) waitIn(ctx context.Context, l *line, w *waiter, seen uint64, until moment) (verdict, error) {
	if e.clock.moment() >= until {
		return dismissed, nil
	}
	if !l.enter(w, seen, false) {
		return tryAgain, nil
	}
	timeout := newAlarm(func() { l.dismiss(w) })
	e.clock.soonest(timeout, until)
	defer e.clock.off(timeout)
	if e.draining.Load() { // looked at in line, so that Drain either sees w or is seen
		l.dismiss(w)
	}
	select {
	case v := <-w.verdict:
		return v, nil
	case <-ctx.Done():
		l.leave(w)
		return 0, ctx.Err()
	}
}

func (r *reading) answer() (ReadAnswer, error) {
	a := ReadAnswer{
		Records:         make([]ReadRecord, len(r.got.Records)),
		PartitionBounds: boundsOf(r.got.Bounds),
	}
	bytes := int64(0)
	for i, from := range r.got.Records {
		to := &a.Records[i]
		to.Offset, to.Timestamp, to.Size = uint64(from.Offset), from.Time, from.Size
		if err := decodeReadRecord(from.Payload, to); err != nil {
			return ReadAnswer{}, fromStore(fmt.Errorf("read record %d of partition %d of topic %s: %w",
				from.Offset, r.req.Partition, r.ref, err))
		}
		bytes += int64(from.Size)
	}
	a.NextOffset = uint64(r.offset) + uint64(len(a.Records))
	a.Cut = len(a.Records) > 0 && a.NextOffset < a.HighWatermark
	if r.engine.events.Read != nil {
		r.engine.events.Read(r.ref, len(a.Records), bytes)
	}
	return a, nil
}
