package segment

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// loader rebuilds the state from a checkpoint and the records after it.
type loader struct {
	store  *Store
	start  start
	queues int
	logs   int
	latest model.Millis // the highest queue time seen
	// clock is the last reading of the clocks; nil if there is none, in a folder of an earlier version.
	clock *model.Reading
}

// section takes in one section of a checkpoint.
func (l *loader) section(kind uint8, content []byte) (err error) {
	switch kind {
	case sectionStart:
		l.start, err = decodeStart(content)
		l.clock = l.start.clock
		return err
	case sectionPairs:
		if len(content) < 8 {
			return fmt.Errorf("pairs section of %d bytes: %w", len(content), store.ErrCorrupt)
		}
		l.store.kv.last = journal.LSN(binary.LittleEndian.Uint64(content))
		l.store.kv.state, err = model.RestoreKV(content[8:])
		return err
	case sectionQueue:
		q, err := decodeQueue(content)
		if err != nil {
			return err
		}
		l.store.queues[q.id] = q
		return nil
	case sectionLog:
		known, err := decodeLog(content)
		if err != nil {
			return err
		}
		l.store.logs[known.id] = known
		return nil
	case sectionEnd:
		if len(content) == 8 {
			l.queues, l.logs = int(binary.LittleEndian.Uint32(content)), int(binary.LittleEndian.Uint32(content[4:]))
		}
		return nil
	}
	return fmt.Errorf("section of unknown kind %d: %w", kind, store.ErrCorrupt)
}

// replay applies one record to the objects that do not have it yet. The state machine panics when a record does not
// fit; since records are checksummed, that is a fault of the program, but the folder stays as it is and the message
// says where.
func (l *loader) replay(lsn journal.LSN, pos journal.Position, r record.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("record %d at %v does not fit the state: %v: %w", lsn, pos, p, store.ErrCorrupt)
		}
	}()
	if err := checkVersion(r); err != nil {
		return fmt.Errorf("record %d at %v: %w", lsn, pos, err)
	}
	if err := l.apply(lsn, pos, r); err != nil {
		return fmt.Errorf("record %d at %v: %w", lsn, pos, err)
	}
	return nil
}

func (l *loader) apply(lsn journal.LSN, pos journal.Position, r record.Record) error {
	if done, err := l.applyLog(lsn, pos, r); done {
		return err
	}
	switch r.Type {
	case typeChanged:
		return l.changed(lsn, r)
	case typeRestarted:
		return l.restarted(lsn, r)
	case typeClock:
		e, err := model.DecodeReading(r.Payload)
		if err == nil {
			l.read(e)
		}
		return err
	case typeDropped:
		return l.dropped(lsn, store.QueueID(r.Object))
	case typeConfigured:
		return l.configured(lsn, r)
	case typeMoved:
		return l.moved(lsn, pos, r)
	}
	q := l.store.queues[store.QueueID(r.Object)]
	if q == nil {
		return nil // dropped by a later record
	}
	switch r.Type {
	case typeSent:
		return l.sent(q, lsn, pos, r)
	case typeClaimed:
		ev, err := model.DecodeClaimed(r.Payload)
		return l.event(q, lsn, ev.At, err, func() { q.state.ApplyClaimed(ev) })
	case typeSettled:
		ev, err := model.DecodeSettled(r.Payload)
		return l.event(q, lsn, ev.At, err, func() { q.state.ApplySettled(ev) })
	case typeSwept:
		ev, err := model.DecodeSwept(r.Payload)
		return l.event(q, lsn, ev.At, err, func() { q.state.ApplySwept(ev) })
	case typePurged:
		ev, err := model.DecodePurged(r.Payload)
		return l.event(q, lsn, ev.At, err, func() { q.state.ApplyPurged(ev) })
	case typeStepped:
		ev, err := model.DecodeStepped(r.Payload)
		return l.event(q, lsn, ev.At, err, func() { q.state.ApplyStepped(ev) })
	}
	return fmt.Errorf("unknown type %d: %w", r.Type, store.ErrVersion)
}

// event applies a decoded event if the queue does not have it yet.
func (l *loader) event(q *queue, lsn journal.LSN, at model.Millis, err error, apply func()) error {
	if err != nil {
		return err
	}
	l.latest = max(l.latest, at)
	if lsn > q.last {
		apply()
		q.last, q.settled = lsn, lsn
	}
	return nil
}

// read takes in what the clocks showed.
func (l *loader) read(e model.Reading) {
	l.clock, l.latest = &e, max(l.latest, e.At)
}

// wall is what the wall clock showed when the latest queue time was seen.
func (l *loader) wall() time.Time {
	if l.clock == nil {
		return model.Time(l.latest)
	}
	return l.clock.Ahead.Time(int64(l.latest))
}

func (l *loader) changed(lsn journal.LSN, r record.Record) error {
	ev, err := model.DecodeChanged(r.Payload)
	if err == nil && lsn > l.store.kv.last {
		l.store.kv.state.Apply(ev)
		l.store.kv.last = lsn
	}
	return err
}

func (l *loader) restarted(lsn journal.LSN, r record.Record) error {
	ev, err := model.DecodeRestarted(r.Payload)
	if err != nil {
		return err
	}
	if ev.Dated {
		l.read(ev.Reading)
	}
	for _, q := range l.store.queues {
		if err := l.event(q, lsn, ev.At, nil, func() { q.state.ApplyRestarted(ev) }); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) dropped(lsn journal.LSN, id store.QueueID) error {
	if q := l.store.queues[id]; q != nil && lsn > q.last {
		delete(l.store.queues, id)
	}
	return nil
}

func (l *loader) configured(lsn journal.LSN, r record.Record) error {
	ev, err := model.DecodeConfigured(r.Payload)
	if err != nil {
		return err
	}
	id := store.QueueID(r.Object)
	q := l.store.queues[id]
	if q == nil {
		if !ev.Created {
			return nil // dropped by a later record
		}
		q = newQueue(id, model.NewQueue(id))
		l.store.queues[id] = q
	}
	return l.event(q, lsn, ev.At, nil, func() { q.state.ApplyConfigured(ev) })
}

func (l *loader) sent(q *queue, lsn journal.LSN, pos journal.Position, r record.Record) error {
	b, err := decodeBatch(r)
	if err != nil {
		return err
	}
	if err := l.event(q, lsn, b.At, nil, func() { q.state.ApplySent(b.Sent()) }); err != nil {
		return err
	}
	q.replaced(pos, b)
	return nil
}

func (l *loader) moved(lsn journal.LSN, pos journal.Position, r record.Record) error {
	b, err := decodeBatch(r)
	if err != nil {
		return err
	}
	source, target := l.store.queues[b.Source], l.store.queues[store.QueueID(r.Object)]
	in := func() { target.state.ApplyMovedIn(b.MovedIn()) }
	switch {
	case source == nil:
	case source == target: // one event of one queue, which has all of it or nothing
		in = func() { model.ApplyMoved(source.state, target.state, b.MovedOut(), b.MovedIn()) }
	default:
		if err := l.event(source, lsn, b.At, nil, func() { source.state.ApplyMovedOut(b.MovedOut()) }); err != nil {
			return err
		}
	}
	q := target
	if q == nil {
		return nil // dropped by a later record
	}
	if err := l.event(q, lsn, b.At, nil, in); err != nil {
		return err
	}
	q.replaced(pos, b)
	return nil
}

// replaced notes where replay met messages. Those that the checkpoint already saw leave the queue do not count.
func (q *queue) replaced(pos journal.Position, b model.Batch) {
	q.where.forgetEarly(b.First, b.Len()) // those that left with this very record are not live
	var live, bytes int64
	for seq := b.First; b.Has(seq); seq++ {
		if q.state.Live(seq) {
			live++
			bytes += int64(q.state.Size(seq))
		}
	}
	q.where.place(pos, b.First, b.Len(), live, bytes)
}
