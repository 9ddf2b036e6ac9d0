package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Fetch implements [store.Log].
func (s *Store) Fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, error) {
	l, err := s.findLog(p.Log)
	if err != nil {
		return store.FetchResult{}, err
	}
	bounds, err := s.durableBounds(l, p.Partition)
	if err == nil {
		err = model.CheckOffset(p.Partition, p.Offset, bounds)
	}
	if err != nil {
		return store.FetchResult{}, fmt.Errorf("fetch from log %d: %w", p.Log, err)
	}
	f := fetching{FetchResult: store.FetchResult{Bounds: bounds}, most: p.Max, left: p.MaxBytes, share: memlimit.From(ctx), ahead: s.clock.Ahead()}
	w := logWalk{store: s, log: l, partition: p.Partition, next: p.Offset, end: bounds.Next, take: f.take}
	if err := w.run(); err != nil && (len(f.Records) == 0 || !endsEarly(err)) {
		return store.FetchResult{}, fmt.Errorf("fetch from log %d: %w", p.Log, err)
	}
	return f.FetchResult, nil
}

// endsEarly says that what was read before an error is good: the next record is damaged, has left meanwhile, or finds no memory.
func endsEarly(err error) bool {
	_, short := errors.AsType[*memlimit.Error](err)
	return short || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrGone)
}

// Seek implements [store.Log].
func (s *Store) Seek(_ context.Context, id store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	l, err := s.findLog(id)
	if err != nil {
		return 0, err
	}
	bounds, err := s.durableBounds(l, partition)
	if err != nil {
		return 0, fmt.Errorf("seek in log %d: %w", id, err)
	}
	sought, ahead := model.MillisOf(at), s.clock.Ahead()
	for from := bounds.First; from < bounds.Next; {
		begin, end, ok := l.seek(partition, sought, ahead, from)
		if !ok || begin >= bounds.Next {
			break
		}
		found := false
		w := logWalk{store: s, log: l, partition: partition, next: begin, end: min(end, bounds.Next)}
		w.take = func(_ journal.Skimmed, b *model.LogBatch, run model.LogRun, o, end store.Offset) (store.Offset, bool, error) {
			for ; o < end; o++ {
				if found = b.Time(run, o, ahead) >= sought; found {
					return o, false, nil
				}
			}
			return o, true, nil
		}
		if err := w.run(); err != nil {
			return 0, fmt.Errorf("seek in log %d: %w", id, err)
		}
		if found {
			return w.next, nil
		}
		from = w.end
	}
	return bounds.Next, nil
}

func (l *log) seek(partition uint32, at model.Millis, ahead model.Ahead, from store.Offset) (begin, end store.Offset, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return 0, 0, false
	}
	return l.state.Seek(partition, at, ahead, from)
}

// durableBounds are those of a partition, of which nothing can be taken back.
func (s *Store) durableBounds(l *log, partition uint32) (store.Bounds, error) {
	for {
		b, lsn, err := s.boundsNow(l, partition)
		if lsn <= s.journal.Durable() {
			return b, err
		}
		if err := s.await(lsn, nil); err != nil {
			return store.Bounds{}, err
		}
	}
}

// boundsNow are a partition's first offset and durable end, with the LSN that this, or the error, depends on.
func (s *Store) boundsNow(l *log, partition uint32) (store.Bounds, journal.LSN, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.alive(); err != nil {
		return store.Bounds{}, l.last, err
	}
	b, err := l.state.Bounds(partition)
	if err != nil {
		return store.Bounds{}, l.last, err
	}
	b.Next = l.parts[partition].end(s.journal.Durable())
	return b, l.trimmed, nil
}

// fetching collects records within the bounds of one Fetch.
type fetching struct {
	store.FetchResult
	most  int
	left  int64
	share *memlimit.Share
	ahead model.Ahead
}

// take takes in what it may of the records o to end of a run. It reads only that of a long record.
func (f *fetching) take(rec journal.Skimmed, b *model.LogBatch, run model.LogRun, o, end store.Offset) (store.Offset, bool, error) {
	first := o
	for ; o < end && len(f.Records)+int(o-first) < f.most; o++ {
		f.left -= int64(b.Size(run, o))
		if f.left < 0 && (len(f.Records) > 0 || o > first) {
			break
		}
	}
	if o == first {
		return o, false, nil
	}
	start, _ := b.Span(run, first)
	_, stop := b.Span(run, o-1)
	if err := f.share.Grow(int64(stop - start)); err != nil {
		return first, false, err
	}
	contents, err := contentsOf(rec, b.HeadLen+start, b.HeadLen+stop)
	if err != nil {
		return first, false, err
	}
	for at := first; at < o; at++ {
		from, to := b.Span(run, at)
		r, err := b.RecordOf(run, at, contents[from-start:to-start:to-start], f.ahead)
		if err != nil {
			return at, false, err
		}
		f.Records = append(f.Records, r)
	}
	return o, o == end && len(f.Records) < f.most && f.left > 0, nil
}

// contentsOf copies a part of a record's payload.
func contentsOf(rec journal.Skimmed, from, to int) ([]byte, error) {
	if rec.Whole {
		if from > to || to > len(rec.Payload) {
			return nil, fmt.Errorf("record at %v: contents of %d bytes: %w", rec.Position, len(rec.Payload), store.ErrCorrupt)
		}
		return slices.Clone(rec.Payload[from:to]), nil
	}
	if from > to || to > record.MaxPayload {
		return nil, fmt.Errorf("record at %v: contents from %d to %d: %w", rec.Position, from, to, store.ErrCorrupt)
	}
	b := make([]byte, to-from)
	return b, rec.ReadPart(b, from)
}

// logWalk walks over the records of a partition from next to end, as far as take wants to.
type logWalk struct {
	store     *Store
	log       *log
	partition uint32
	next, end store.Offset
	// take takes the records o to end of a run and returns where it stopped, and whether to go on.
	take func(rec journal.Skimmed, b *model.LogBatch, run model.LogRun, o, end store.Offset) (store.Offset, bool, error)

	where *where
	full  bool // take wants no more
}

// run walks. An error is about the record at next.
func (w *logWalk) run() error {
	w.log.mu.Lock()
	w.where = &w.log.parts[w.partition].where
	w.log.mu.Unlock()
	for w.next < w.end && !w.full {
		before := w.next
		from, last, ok := w.where.find(seqOf(before))
		if !ok {
			return w.left()
		}
		err := w.walk(from, last)
		now, _, _ := w.where.find(seqOf(before))
		switch {
		case err == nil && (w.next > before || w.full):
		case now != from:
			// it was copied to another file just now, or trimmed
		case err == nil, errors.Is(err, journal.ErrReleased):
			return w.damaged(fmt.Errorf("it is not behind %v: %w", from, store.ErrCorrupt))
		case errors.Is(err, store.ErrCorrupt):
			return w.damaged(err)
		default:
			return err
		}
	}
	return nil
}

// left explains why the record at next is nowhere: it was trimmed, or the log dropped, since the walk began.
func (w *logWalk) left() error {
	b, err := w.store.durableBounds(w.log, w.partition)
	if err == nil {
		err = model.CheckOffset(w.partition, w.next, b)
	}
	if err == nil {
		err = w.damaged(fmt.Errorf("its place is not known: %w", store.ErrCorrupt))
	}
	return err
}

// damaged reports a record that cannot be read.
func (w *logWalk) damaged(err error) error {
	err = fmt.Errorf("record %d of partition %d of log %d: %w", w.next, w.partition, w.log.id, err)
	if f := w.store.o.Events.Damaged; f != nil {
		f(err)
	}
	return err
}

// walk seeks the record at next and goes on as long as the ones after it are near.
func (w *logWalk) walk(from journal.Position, last store.Seq) error {
	return w.store.journal.Skim(from, func(rec journal.Skimmed) (bool, error) {
		if rec.Object != uint64(w.log.id) || rec.Type != typeAppended {
			return true, nil
		}
		b, err := logHead(rec)
		if err != nil {
			return false, err
		}
		run, ok := b.Run(w.partition)
		if !ok {
			return true, nil
		}
		if w.next < run.First {
			return false, fmt.Errorf("missing before %v: %w", rec.Position, store.ErrCorrupt)
		}
		if !run.Has(w.next) {
			return true, nil
		}
		next, more, err := w.take(rec, &b, run, w.next, min(w.end, run.First+store.Offset(run.Count)))
		w.next, w.full = next, err == nil && !more
		if err != nil || w.full || w.next >= w.end {
			return false, err
		}
		return w.goOn(rec.Position, last), nil
	})
}

// logHead reads the head of an appended event.
func logHead(rec journal.Skimmed) (model.LogBatch, error) {
	head := rec.Payload
	if n := model.LogHeadLen(head); !rec.Whole && n > len(head) && n <= record.MaxPayload {
		head = make([]byte, n)
		if err := rec.ReadPart(head, 0); err != nil {
			return model.LogBatch{}, err
		}
	}
	b, err := model.DecodeLogHead(head, store.LogID(rec.Object))
	if err != nil {
		err = fmt.Errorf("record at %v: %w", rec.Position, err)
	}
	return b, err
}

// goOn says whether walking on from a record at pos soon leads to the next one. Those after last may lie anywhere, in the
// same file too.
func (w *logWalk) goOn(pos journal.Position, last store.Seq) bool {
	if seqOf(w.next) > last {
		return false
	}
	next, _, ok := w.where.find(seqOf(w.next))
	return ok && next.File == pos.File && next.Offset <= pos.Offset+walkFar
}
