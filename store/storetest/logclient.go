package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// logWorkloads are those of the crash tests that are about logs, and about logs beside queues.
var logWorkloads = []workload{
	{
		name: "log", logs: 2, batch: 6, large: 3000, steps: 60,
		weights: map[step]int{stepAppend: 10, stepAppendOnce: 3, stepFetch: 3, stepTrim: 3, stepAdvance: 1},
	},
	{
		name: "log with retention", logs: 2, batch: 5, large: 1500, steps: 60, logSettings: store.LogSettings{RetentionAge: 20 * time.Second},
		weights: map[step]int{stepAppend: 8, stepFetch: 2, stepTrim: 1, stepSweepLog: 4, stepAdvance: 4},
	},
	{
		name: "logs that come, grow and go", logs: 2, batch: 4, large: 2000, steps: 60,
		weights: map[step]int{stepAppend: 8, stepCreateLog: 3, stepDropLog: 3, stepConfigureLog: 3, stepFetch: 2, stepTrim: 1},
	},
	{
		name: "a log among messages", queues: 1, logs: 1, batch: 8, large: 2500, steps: 90,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepSend: 5, stepClaim: 6, stepSettle: 6, stepAppend: 2, stepFetch: 2, stepTrim: 1},
	},
	{
		name: "logs and restarts", queues: 1, logs: 2, batch: 5, large: 2500, steps: 50,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepSend: 1, stepClaim: 1, stepAppend: 8, stepAppendOnce: 3, stepFetch: 3, stepTrim: 3, stepRestart: 3},
	},
	{
		name: "logs at once", clients: 4, queues: 1, logs: 2, batch: 4, large: 1500, steps: 25,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepSend: 2, stepClaim: 2, stepSettle: 2, stepAppend: 8, stepAppendOnce: 2, stepFetch: 3, stepTrim: 3, stepDropLog: 1},
	},
}

// logStep makes a call that is about logs.
func (c *client) logStep(s step) {
	switch s {
	case stepAppend:
		c.append()
	case stepAppendOnce:
		c.appendOnce()
	case stepFetch:
		c.fetch()
	case stepTrim:
		c.trim()
	case stepSweepLog:
		c.sweepLog()
	case stepConfigureLog:
		c.configureLog()
	case stepCreateLog:
		c.createLog()
	case stepDropLog:
		c.dropLog()
	default:
		panic(fmt.Sprintf("storetest: no step %d", s))
	}
}

// pickLog is one of the client's logs, or false when there is none.
func (c *client) pickLog() (store.LogID, *logLedger, bool) {
	open := c.known.logs.open()
	if len(open) == 0 {
		return 0, nil, false
	}
	id := open[c.rng.IntN(len(open))]
	return id, c.known.logs[id], true
}

// createLog makes a log of a new generation.
func (c *client) createLog() {
	id := store.LogID(c.id+1)<<32 | store.LogID(len(c.known.logs)+1)
	s := c.load.logSettings
	s.Revision, s.Partitions = 1, uint32(1+c.rng.IntN(3))
	c.call(fmt.Sprintf("ConfigureLog(%x, %d partitions)", uint64(id), s.Partitions), func() error {
		return c.store.ConfigureLog(c.ctx, id, s)
	}, func(l *ledger, _ bool) {
		l.logs[id] = &logLedger{settings: s, once: make(map[byte][]store.Appended)}
		l.logs[id].grow()
	})
}

// configureLog raises the revision and may add a partition.
func (c *client) configureLog() {
	id, log, ok := c.pickLog()
	if !ok {
		return
	}
	s := log.settings
	s.Revision++
	s.Partitions += uint32(c.rng.IntN(2))
	c.call(fmt.Sprintf("ConfigureLog(%x, revision %d, %d partitions)", uint64(id), s.Revision, s.Partitions), func() error {
		return c.store.ConfigureLog(c.ctx, id, s)
	}, func(l *ledger, _ bool) {
		l.logs[id].settings = s
		l.logs[id].grow()
	})
}

func (c *client) dropLog() {
	id, _, ok := c.pickLog()
	if !ok || len(c.known.logs.open()) < 2 {
		c.createLog()
		return
	}
	c.call(fmt.Sprintf("DropLog(%x)", uint64(id)), func() error { return c.store.DropLog(c.ctx, id) }, func(l *ledger, _ bool) {
		l.logs[id] = nil
	})
}

// draftRecords draws records for some partitions.
func (c *client) draftRecords(id store.LogID, log *logLedger) store.AppendParams {
	p := store.AppendParams{Log: id, Revision: log.settings.Revision}
	order := c.rng.Perm(len(log.parts))
	for _, partition := range order[:1+c.rng.IntN(len(order))] {
		part := store.AppendPart{Partition: uint32(partition)}
		for range 1 + c.rng.IntN(c.load.batch) {
			c.sent++
			size := c.rng.IntN(64)
			if c.rng.IntN(4) == 0 {
				size = c.rng.IntN(c.load.large + 1)
			}
			r := store.LogRecord{Payload: payloadOf(uint64(c.id+1)<<32|c.sent, size)}
			r.Size = uint32(len(r.Payload))
			if c.rng.IntN(3) == 0 {
				r.Time = epoch.Add(time.Duration(c.rng.IntN(1_000_000)) * time.Millisecond)
			}
			part.Records = append(part.Records, r)
		}
		if c.rng.IntN(3) == 0 {
			part.Expect = new(store.Offset(len(log.parts[partition].records)))
		}
		p.Parts = append(p.Parts, part)
	}
	return p
}

func (c *client) append() {
	if id, log, ok := c.pickLog(); ok {
		c.appendTo(c.draftRecords(id, log), 0)
	}
}

// appendOnce appends under one of a few keys, so that some appends are repeats.
func (c *client) appendOnce() {
	id, log, ok := c.pickLog()
	if !ok {
		return
	}
	key := byte(1 + c.rng.IntN(12))
	p := c.draftRecords(id, log)
	p.Once = onceOf(key)
	first, seen := log.once[key]
	if !seen {
		c.appendTo(p, key)
		return
	}
	var r store.AppendResult
	call := fmt.Sprintf("Append(%x, repeat of key %d)", uint64(id), key)
	if c.call(call, func() (err error) {
		r, err = c.store.Append(c.ctx, p)
		return err
	}, nothing) && (!r.Duplicate || !slices.Equal(r.Parts, first) || string(r.Note) != string(p.Once.Note)) {
		c.complain("%s: got %+v, want a duplicate of %+v", call, r, first)
	}
}

// appendTo appends; key 0 is none.
func (c *client) appendTo(p store.AppendParams, key byte) {
	now := c.clock.Now()
	var r store.AppendResult
	call := fmt.Sprintf("Append(%x, %d parts from %x, key %d)", uint64(p.Log), len(p.Parts), p.Parts[0].Records[0].Payload[:8], key)
	c.call(call, func() (err error) {
		r, err = c.store.Append(c.ctx, p)
		return err
	}, func(l *ledger, answered bool) {
		places := l.logs[p.Log].append(p, now)
		if key != 0 {
			l.logs[p.Log].once[key] = places
		}
		if answered && !slices.Equal(r.Parts, places) {
			c.complain("%s: got %+v, want %+v", call, r.Parts, places)
		}
	})
}

// fetch reads and compares, at times with an offset that is not there.
func (c *client) fetch() {
	id, log, ok := c.pickLog()
	if !ok {
		return
	}
	partition := c.rng.IntN(len(log.parts))
	known := log.parts[partition]
	next := len(known.records)
	p := store.FetchParams{
		Log: id, Partition: uint32(partition), Offset: store.Offset(c.rng.IntN(next + 2)), Max: 1 + c.rng.IntN(20), MaxBytes: 1 << 30,
	}
	call := fmt.Sprintf("Fetch(%x, partition %d from %d)", uint64(id), partition, p.Offset)
	c.call(call, func() error {
		r, err := c.store.Fetch(c.ctx, p)
		var want error
		switch {
		case p.Offset < known.first:
			want = store.ErrTrimmed
		case int(p.Offset) > next:
			want = store.ErrOutOfRange
		}
		if want != nil && errors.Is(err, want) {
			return nil
		}
		if err == nil && (want != nil || len(r.Records) != min(p.Max, next-int(p.Offset))) {
			c.complain("%s: got %d records of %d to %d", call, len(r.Records), known.first, next)
			return nil
		}
		for i, got := range r.Records {
			if !known.records[int(p.Offset)+i].is(got) {
				c.complain("%s: record %d is not what was appended", call, got.Offset)
			}
		}
		return excuse(err, errRead)
	}, nothing)
}

func (c *client) trim() {
	id, log, ok := c.pickLog()
	if !ok {
		return
	}
	partition := uint32(c.rng.IntN(len(log.parts)))
	known := log.parts[partition]
	before := known.first + store.Offset(c.rng.IntN(len(known.records)-int(known.first)+1))
	c.call(fmt.Sprintf("Trim(%x, partition %d to %d)", uint64(id), partition, before), func() error {
		_, err := c.store.Trim(c.ctx, id, partition, before)
		return err
	}, func(l *ledger, _ bool) { l.logs[id].parts[partition].first = before })
}

// sweepLog lets retention take what is past it.
func (c *client) sweepLog() {
	id, _, ok := c.pickLog()
	if !ok {
		return
	}
	now := c.clock.Now()
	c.call(fmt.Sprintf("SweepLog(%x)", uint64(id)), func() error {
		_, err := c.store.SweepLog(c.ctx, id)
		return err
	}, func(l *ledger, _ bool) { l.logs[id].sweep(now) })
}
