package model

import (
	"encoding/binary"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings of events, version 3. All numbers are little-endian and of fixed width; a text, blob or list starts
// with its length as u32; times are i64 milliseconds of queue time.
//
//	configured  at | created u8 | settings
//	settings    revision u64 | max receives u32 | lazy u8 | retention i64 (ns) | mode u8 | levels u8 | ageing i64 (ns) |
//	            dedup window i64 (ns) | max messages i64 | max bytes i64 | overflow u8 | max in flight u32 |
//	            group in flight u32 | interval i64 (ns) | group interval i64 (ns) |
//	            flags u8 (1 expired dead, 2 tail) | history u32
//	claimed     at | deadline | token u64 | flags u8 (1 repeated, 2 attempt, 4 lapsed) | consumer text | seqs | died |
//	            expired | [lapsed] | [attempt 16 | its end]
//	settled     at | n u32 | n × { seq u64 | target u8 | flags u8 (1 uncount, 2 backs off, 4 due by the wall clock) | due | reason text }
//	swept       at | expired | lapsed
//	purged      at | all u8 | seqs
//	restarted   at | [the rest of reading]; records of version 2 have no more than at
//	reading     at | ahead i64 | protected | up i64 (ms) | boot text
//	stepped     at | before | ahead i64
//
// Those that carry messages are in messages.go.

// Encode appends the event.
func (ev Configured) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.flag(ev.Created)
	w.settings(ev.Settings)
	return w.b
}

func (w *writer) settings(s store.Settings) {
	w.u64(s.Revision)
	w.u32(s.MaxReceives)
	w.flag(s.Lazy)
	w.u64(uint64(s.Retention))
	w.u8(uint8(s.Mode))
	w.u8(s.Levels)
	w.u64(uint64(s.Ageing))
	w.u64(uint64(s.DedupWindow))
	w.u64(uint64(s.MaxMessages))
	w.u64(uint64(s.MaxBytes))
	w.u8(uint8(s.Overflow))
	w.u32(s.MaxInFlight)
	w.u32(s.GroupInFlight)
	w.u64(uint64(s.Interval))
	w.u64(uint64(s.GroupInterval))
	var flags uint8
	if s.ExpiredDead {
		flags |= settingsExpiredDead
	}
	if s.Tail {
		flags |= settingsTail
	}
	w.u8(flags)
	w.u32(s.History)
}

const (
	settingsExpiredDead = 1
	settingsTail        = 2
)

func (r *reader) settings() store.Settings {
	s := store.Settings{
		Revision: r.u64(), MaxReceives: r.u32(), Lazy: r.flag(), Retention: time.Duration(r.u64()),
		Mode: store.Mode(r.u8()), Levels: r.u8(), Ageing: time.Duration(r.u64()), DedupWindow: time.Duration(r.u64()),
		MaxMessages: int64(r.u64()), MaxBytes: int64(r.u64()), Overflow: store.Overflow(r.u8()),
		MaxInFlight: r.u32(), GroupInFlight: r.u32(),
		Interval: time.Duration(r.u64()), GroupInterval: time.Duration(r.u64()),
	}
	flags := r.u8()
	s.ExpiredDead, s.Tail, s.History = flags&settingsExpiredDead != 0, flags&settingsTail != 0, r.u32()
	r.failed = r.failed || flags > settingsExpiredDead|settingsTail
	return s
}

// DecodeConfigured reads what Encode wrote.
func DecodeConfigured(b []byte) (Configured, error) {
	r := reader{b: b}
	ev := Configured{At: r.millis(), Created: r.flag(), Settings: r.settings()}
	return ev, r.done("configured")
}

const (
	claimRepeated = 1
	claimAttempt  = 2
	claimLapsed   = 4
)

// Encode appends the event.
func (ev Claimed) Encode(b []byte) []byte {
	var flags uint8
	if ev.Repeated {
		flags |= claimRepeated
	}
	if ev.Attempt != (attemptKey{}) {
		flags |= claimAttempt
	}
	if len(ev.Lapsed) > 0 {
		flags |= claimLapsed
	}
	w := writer{b}
	w.millis(ev.At)
	w.millis(ev.Deadline)
	w.u64(uint64(ev.Token))
	w.u8(flags)
	w.text(ev.Consumer)
	w.seqs(ev.Seqs)
	w.seqs(ev.Died)
	w.seqs(ev.Expired)
	if flags&claimLapsed != 0 {
		w.seqs(ev.Lapsed)
	}
	if flags&claimAttempt != 0 {
		w.raw(ev.Attempt[:])
		w.millis(ev.AttemptEnds)
	}
	return w.b
}

// DecodeClaimed reads what Encode wrote.
func DecodeClaimed(b []byte) (Claimed, error) {
	r := reader{b: b}
	ev := Claimed{At: r.millis(), Deadline: r.millis(), Token: store.Token(r.u64())}
	flags := r.u8()
	ev.Repeated = flags&claimRepeated != 0
	ev.Consumer = r.text()
	ev.Seqs, ev.Died, ev.Expired = r.seqs(), r.seqs(), r.seqs()
	if flags&claimLapsed != 0 {
		ev.Lapsed = r.seqs()
		r.failed = r.failed || len(ev.Lapsed) == 0
	}
	if flags&claimAttempt != 0 {
		copy(ev.Attempt[:], r.take(16))
		ev.AttemptEnds = r.millis()
		r.failed = r.failed || ev.Attempt == (attemptKey{})
	}
	r.failed = r.failed || flags > claimRepeated|claimAttempt|claimLapsed
	return ev, r.done("claimed")
}

const (
	changeUncount = 1
	changeBacks   = 2
	changeByWall  = 4
)

// Encode appends the event.
func (ev Settled) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.count(len(ev.Changes))
	for _, c := range ev.Changes {
		w.seq(c.Seq)
		w.u8(uint8(c.Target))
		var flags uint8
		if c.Uncount {
			flags |= changeUncount
		}
		if c.Backs {
			flags |= changeBacks
		}
		if c.ByWall {
			flags |= changeByWall
		}
		w.u8(flags)
		w.millis(c.Due)
		w.text(c.Reason)
	}
	return w.b
}

// DecodeSettled reads what Encode wrote.
func DecodeSettled(b []byte) (Settled, error) {
	r := reader{b: b}
	ev := Settled{At: r.millis()}
	ev.Changes = make([]Change, r.count(22))
	for i := range ev.Changes {
		c := &ev.Changes[i]
		c.Seq, c.Target = r.seq(), store.Target(r.u8())
		flags := r.u8()
		c.Uncount, c.Backs, c.ByWall = flags&changeUncount != 0, flags&changeBacks != 0, flags&changeByWall != 0
		c.Due, c.Reason = r.millis(), r.text()
		if t := ev.Changes[i].Target; t < store.Done || t > store.Dead || c.ByWall && (t != store.Ready || c.Backs) {
			r.failed = true
		}
	}
	return ev, r.done("settled")
}

// Encode appends the event.
func (ev Swept) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.seqs(ev.Expired)
	w.seqs(ev.Lapsed)
	return w.b
}

// DecodeSwept reads what Encode wrote.
func DecodeSwept(b []byte) (Swept, error) {
	r := reader{b: b}
	ev := Swept{At: r.millis(), Expired: r.seqs(), Lapsed: r.seqs()}
	return ev, r.done("swept")
}

// Encode appends the event.
func (ev Purged) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.flag(ev.All)
	w.seqs(ev.Seqs)
	return w.b
}

// DecodePurged reads what Encode wrote.
func DecodePurged(b []byte) (Purged, error) {
	r := reader{b: b}
	ev := Purged{At: r.millis(), All: r.flag(), Seqs: r.seqs()}
	return ev, r.done("purged")
}

// Encode appends the event.
func (ev Restarted) Encode(b []byte) []byte {
	if !ev.Dated {
		return binary.LittleEndian.AppendUint64(b, uint64(ev.At))
	}
	return ev.Reading.Encode(b)
}

// DecodeRestarted reads what Encode wrote.
func DecodeRestarted(b []byte) (Restarted, error) {
	if len(b) == 8 {
		return Restarted{Reading: Reading{At: Millis(binary.LittleEndian.Uint64(b))}}, nil
	}
	r := reader{b: b}
	ev := Restarted{Reading: r.reading(), Dated: true}
	return ev, r.done("restarted")
}

// ReadingLen is how long the encoding of a reading is, but for its text.
const ReadingLen = 36

// Encode appends the reading.
func (e Reading) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(e.At)
	w.u64(uint64(e.Ahead))
	w.millis(e.Protected)
	w.millis(e.Up)
	w.text(e.Boot)
	return w.b
}

// DecodeReading reads what Encode wrote.
func DecodeReading(b []byte) (Reading, error) {
	r := reader{b: b}
	e := r.reading()
	return e, r.done("reading of the clocks")
}

func (r *reader) reading() Reading {
	return Reading{At: r.millis(), Ahead: Ahead(r.u64()), Protected: r.millis(), Up: r.millis(), Boot: r.text()}
}

// Encode appends the event.
func (ev Stepped) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.millis(ev.Before)
	w.u64(uint64(ev.Ahead))
	return w.b
}

// DecodeStepped reads what Encode wrote.
func DecodeStepped(b []byte) (Stepped, error) {
	r := reader{b: b}
	ev := Stepped{At: r.millis(), Before: r.millis(), Ahead: Ahead(r.u64())}
	return ev, r.done("stepped")
}

// Len is the length of the encoding.
func (ev Claimed) Len() int {
	return 69 + len(ev.Consumer) + 8*(len(ev.Seqs)+len(ev.Died)+len(ev.Expired)+len(ev.Lapsed))
}

// Len is the length of the encoding.
func (ev Settled) Len() int {
	n := SettledLen(len(ev.Changes))
	for _, c := range ev.Changes {
		n += len(c.Reason)
	}
	return n
}

// SettledLen is the length of the encoding of a settled event with n changes, reasons apart.
func SettledLen(n int) int { return 12 + 22*n }
