package segment

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Append implements [store.Log].
func (s *Store) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	if err := chargeRecord(ctx, model.AppendedLen(p.Parts, p.Once)); err != nil {
		return store.AppendResult{}, fmt.Errorf("append to log %d: %w", p.Log, err)
	}
	rec := model.EncodeAppended(room(model.AppendedLen(p.Parts, p.Once)), p.Parts, p.Once)
	full := s.admit(ctx, len(rec))
	if full != nil && !errors.Is(full, store.ErrFull) {
		return store.AppendResult{}, fmt.Errorf("append to log %d: %w", p.Log, full)
	}
	l, err := s.findLog(p.Log)
	if err != nil {
		return store.AppendResult{}, err
	}
	// A repeat adds nothing. To refuse it would say that what is there is not.
	if full != nil && !l.remembers(s.clock.Now(), p.Once) {
		return store.AppendResult{}, fmt.Errorf("append to log %d: %w", p.Log, full)
	}
	res, lsn, err := s.appendTo(l, p, sealLog(rec, typeAppended, l.id))
	if err := s.await(lsn, err); err != nil {
		return store.AppendResult{}, err
	}
	if !res.Duplicate {
		for _, part := range res.Parts {
			s.notifyLog(p.Log, part.Partition)
		}
	}
	return s.clock.Ahead().Appended(res), nil
}

// remembers says whether an append was made before.
func (l *log) remembers(now model.Millis, once *store.Once) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return once != nil && l.state != nil && l.state.Remembers(now, once)
}

// appendTo decides and appends. It returns the LSN the answer depends on, an error's too.
func (s *Store) appendTo(l *log, p store.AppendParams, rec []byte) (store.AppendResult, journal.LSN, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.alive(); err != nil {
		return store.AppendResult{}, l.last, err
	}
	ev, res, fresh, err := l.state.Append(s.clock.Now(), p)
	if err != nil || !fresh {
		return res, l.last, err
	}
	model.StampAppended(rec[record.HeaderSize:], l.id, ev)
	l.last = s.append(rec, true)
	durable := s.journal.Durable()
	for _, part := range res.Parts {
		to := l.parts[part.Partition]
		to.end(durable)
		to.appending = append(to.appending, appending{part.First + store.Offset(part.Count), l.last})
	}
	return res, l.last, nil
}

// placeRecords notes where the records of an appended event went.
func (s *Store) placeRecords(pos journal.Position, r record.Record) {
	b, err := decodeLogBatch(r)
	if err != nil {
		panic(fmt.Sprintf("segment: own record at %v: %v", pos, err))
	}
	for _, run := range b.Runs {
		if w := s.partitionOf(store.LogID(r.Object), run.Partition); w != nil {
			w.placeRun(pos, &b, run)
		}
	}
}

// placeRun records that a record at pos holds a run. What was trimmed before its place was known does not count.
func (w *where) placeRun(pos journal.Position, b *model.LogBatch, run model.LogRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := seqOf(run.First)
	last := first + store.Seq(run.Count) - 1
	var live, bytes int64
	if from := max(first, w.floor); from <= last {
		live, bytes = int64(last-from)+1, b.Bytes(run, store.Offset(from-1))
	}
	w.placeLocked(pos, first, run.Count, live, bytes)
}
