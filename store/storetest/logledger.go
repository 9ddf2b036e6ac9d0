package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// logLedgers are what a client knows of its logs, by generation; nil for one that was dropped.
type logLedgers map[store.LogID]*logLedger

// logLedger is what is known of one log.
type logLedger struct {
	settings store.LogSettings
	parts    []partLedger
	once     map[byte][]store.Appended
}

// partLedger is what is known of one partition.
type partLedger struct {
	first   store.Offset
	records []loggedRecord // from offset 0 on, also those that left
}

// loggedRecord is what is known of one record.
type loggedRecord struct {
	number uint64
	size   uint32
	time   time.Time
	at     time.Time // when it was appended
}

func (l logLedgers) clone() logLedgers {
	c := maps.Clone(l)
	for id, log := range c {
		if log != nil {
			copied := *log
			copied.parts, copied.once = slices.Clone(log.parts), maps.Clone(log.once)
			c[id] = &copied
		}
	}
	return c
}

// open lists the logs that were not dropped, in order.
func (l logLedgers) open() []store.LogID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l)), func(id store.LogID) bool { return l[id] == nil })
}

func (l *logLedger) grow() {
	for len(l.parts) < int(l.settings.Partitions) {
		l.parts = append(l.parts, partLedger{})
	}
}

// append notes what an append does at a moment, and says where the records are.
func (l *logLedger) append(p store.AppendParams, now time.Time) []store.Appended {
	var places []store.Appended
	for _, part := range p.Parts {
		to := &l.parts[part.Partition]
		places = append(places, store.Appended{Partition: part.Partition, First: store.Offset(len(to.records)), Count: len(part.Records)})
		records := slices.Clip(to.records) // a clone of the ledger shares them
		for _, r := range part.Records {
			own := r.Time
			if own.IsZero() {
				own = now
			}
			records = append(records, loggedRecord{binary.BigEndian.Uint64(r.Payload), r.Size, own, now})
		}
		to.records = records
	}
	return places
}

// sweep removes what is past retention.
func (l *logLedger) sweep(now time.Time) {
	for i := range l.parts {
		p := &l.parts[i]
		for int(p.first) < len(p.records) && !p.records[p.first].at.Add(l.settings.RetentionAge).After(now) {
			p.first++
		}
	}
}

// foundLog is what a log held.
type foundLog struct {
	bounds  []store.Bounds
	records [][]store.Fetched
	once    map[byte]store.AppendResult
	marker  store.AppendResult
}

// observeLogs reads everything in all logs, repeats all appends that may be repeated, and appends one record to see how
// numbering goes on.
func (o *observer) observeLogs(w *world) {
	o.found.logs = make(map[store.LogID]*foundLog)
	list, err := o.store.Logs(o.ctx, 0, 1000)
	o.note(err)
	for _, id := range list {
		bounds, err := o.store.Bounds(o.ctx, id)
		if !o.note(err) {
			continue
		}
		l := &foundLog{bounds: bounds, once: make(map[byte]store.AppendResult)}
		o.found.logs[id] = l
		for p, b := range bounds {
			l.records = append(l.records, o.readPartition(id, uint32(p), b))
		}
		const revision = 1 << 40 // above all that the clients use
		o.note(o.store.ConfigureLog(o.ctx, id, store.LogSettings{Revision: revision, Partitions: 1}))
		p := store.AppendParams{
			Log: id, Revision: revision, Parts: []store.AppendPart{{Records: []store.LogRecord{{Payload: []byte("marker")}}}},
		}
		l.marker, err = o.store.Append(o.ctx, p)
		o.note(err)
		for _, key := range w.logKeys(id) {
			p.Once = onceOf(key)
			r, err := o.store.Append(o.ctx, p)
			if o.note(err) {
				l.once[key] = r
			}
		}
	}
}

// readPartition reads all records. One that cannot be read is passed over.
func (o *observer) readPartition(id store.LogID, partition uint32, b store.Bounds) []store.Fetched {
	var list []store.Fetched
	for at, limit := b.First, 1; at < b.Next; limit = limit%7 + 1 {
		r, err := o.store.Fetch(o.ctx, store.FetchParams{Log: id, Partition: partition, Offset: at, Max: limit, MaxBytes: 1 << 30})
		if !o.note(err) || len(r.Records) == 0 {
			at++
			continue
		}
		list = append(list, r.Records...)
		at += store.Offset(len(r.Records))
	}
	return list
}

// logKeys are the keys that may have been used in a log.
func (w *world) logKeys(id store.LogID) []byte {
	used := make(map[byte]bool)
	for _, c := range w.clients {
		for _, l := range []*ledger{c.doubt, c.known} {
			if l == nil || l.logs[id] == nil {
				continue
			}
			for key := range l.logs[id].once {
				used[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// logs compares the logs of a client.
func (m *mismatch) logs(client int, l *ledger, f *found) {
	for id, is := range f.logs {
		if int(id>>32) != client+1 {
			continue
		}
		known, ever := l.logs[id]
		if known == nil {
			m.add("log %x is there with %+v, and should not be; dropped: %v", uint64(id), is.bounds, ever)
			continue
		}
		m.log(id, known, is)
	}
	for _, id := range l.logs.open() {
		if f.logs[id] == nil {
			m.add("log %x is missing", uint64(id))
		}
	}
}

func (m *mismatch) log(id store.LogID, known *logLedger, is *foundLog) {
	if len(is.bounds) != len(known.parts) {
		m.add("log %x has %d partitions, want %d", uint64(id), len(is.bounds), len(known.parts))
		return
	}
	for i := range known.parts {
		m.partition(fmt.Sprintf("partition %d of log %x", i, uint64(id)), &known.parts[i], is.bounds[i], is.records[i])
	}
	if next := store.Offset(len(known.parts[0].records)); len(is.marker.Parts) != 1 || is.marker.Parts[0].First != next {
		m.add("log %x: a new record got %+v, want offset %d", uint64(id), is.marker.Parts, next)
	}
	for key, r := range is.once {
		first, used := known.once[key]
		if r.Duplicate != used || used && !slices.Equal(r.Parts, first) {
			m.add("log %x: an append under key %d got %+v, want a repeat of %+v: %v", uint64(id), key, r, first, used)
		}
	}
}

func (m *mismatch) partition(name string, known *partLedger, bounds store.Bounds, records []store.Fetched) {
	if next := store.Offset(len(known.records)); bounds.First != known.first || bounds.Next != next {
		m.add("%s has records %d to %d, want %d to %d", name, bounds.First, bounds.Next, known.first, next)
		return
	}
	at, size := known.first, int64(0)
	for _, r := range records {
		for ; at < r.Offset && at < bounds.Next; at++ {
			m.add("%s: record %d cannot be read", name, at)
		}
		if at == bounds.Next {
			m.add("%s gave record %d, which it has not", name, r.Offset)
			return
		}
		if want := known.records[at]; !want.is(r) {
			m.add("%s: record %d is %x of %d bytes with time %v, want %x of %d bytes with %v",
				name, at, r.Payload[:min(8, len(r.Payload))], r.Size, r.Time, want.number, want.size, want.time)
		}
		size += int64(r.Size)
		at++
	}
	if known.first == 0 && len(records) == len(known.records) && bounds.Bytes != size {
		m.add("%s counts %d bytes, found were %d", name, bounds.Bytes, size)
	}
	for ; at < bounds.Next; at++ {
		m.add("%s: record %d cannot be read", name, at)
	}
}

// is says that a record was read exactly as it was appended.
func (r loggedRecord) is(got store.Fetched) bool {
	return got.Size == r.size && got.Time.Equal(r.time) && bytes.Equal(got.Payload, payloadOf(r.number, int(r.size)-8))
}

// forgedRecords finds records that nobody appended.
func (f *found) forgedRecords() error {
	for id, l := range f.logs {
		for i, list := range l.records {
			for _, r := range list {
				if len(r.Payload) < 8 || !bytes.Equal(r.Payload, payloadOf(binary.BigEndian.Uint64(r.Payload), len(r.Payload)-8)) {
					return fmt.Errorf("partition %d of log %x gave %x, which nobody appended", i, uint64(id), r.Payload)
				}
			}
		}
	}
	return nil
}

// glanceLogs looks at where partitions begin and end.
func glanceLogs(ctx context.Context, s store.Store) (map[store.LogID][]store.Bounds, error) {
	shown := make(map[store.LogID][]store.Bounds)
	list, err := s.Logs(ctx, 0, 1000)
	for _, id := range list {
		bounds, e := s.Bounds(ctx, id)
		shown[id], err = bounds, errors.Join(err, e)
	}
	return shown, err
}

// compareLogs says what was shown and is no longer so.
func (g *glimpse) compareLogs(f *found) error {
	var errs []error
	for id, was := range g.logs {
		is := f.logs[id]
		if is == nil {
			errs = append(errs, fmt.Errorf("log %x was shown before the power was cut and is gone", uint64(id)))
		} else if !slices.Equal(was, is.bounds) {
			errs = append(errs, fmt.Errorf("log %x showed %+v before the power was cut, and now %+v", uint64(id), was, is.bounds))
		}
	}
	if len(f.logs) != len(g.logs) {
		errs = append(errs, fmt.Errorf("%d logs were shown before the power was cut, and now %d", len(g.logs), len(f.logs)))
	}
	return errors.Join(errs...)
}
