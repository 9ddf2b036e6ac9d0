package model

import (
	"encoding/binary"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings of events, version 1. All numbers are little-endian and of fixed width; a text, blob or list starts
// with its length as u32; times are i64 milliseconds of queue time.
//
//	configured  at | created u8 | revision u64 | max receives u32 | lazy u8 | retention i64 (ns)
//	claimed     at | deadline | token u64 | consumer text | seqs | died | expired
//	settled     at | n u32 | n × { seq u64 | target u8 | uncount u8 | due | reason text }
//	swept       at | expired
//	restarted   at
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
}

func (r *reader) settings() store.Settings {
	return store.Settings{
		Revision: r.u64(), MaxReceives: r.u32(), Lazy: r.flag(), Retention: time.Duration(r.u64()),
	}
}

// DecodeConfigured reads what Encode wrote.
func DecodeConfigured(b []byte) (Configured, error) {
	r := reader{b: b}
	ev := Configured{At: r.millis(), Created: r.flag(), Settings: r.settings()}
	return ev, r.done("configured")
}

// Encode appends the event.
func (ev Claimed) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.millis(ev.Deadline)
	w.u64(uint64(ev.Token))
	w.text(ev.Consumer)
	w.seqs(ev.Seqs)
	w.seqs(ev.Died)
	w.seqs(ev.Expired)
	return w.b
}

// DecodeClaimed reads what Encode wrote.
func DecodeClaimed(b []byte) (Claimed, error) {
	r := reader{b: b}
	ev := Claimed{
		At: r.millis(), Deadline: r.millis(), Token: store.Token(r.u64()), Consumer: r.text(),
		Seqs: r.seqs(), Died: r.seqs(), Expired: r.seqs(),
	}
	return ev, r.done("claimed")
}

// Encode appends the event.
func (ev Settled) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.count(len(ev.Changes))
	for _, c := range ev.Changes {
		w.seq(c.Seq)
		w.u8(uint8(c.Target))
		w.flag(c.Uncount)
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
		ev.Changes[i] = Change{
			Seq: r.seq(), Target: store.Target(r.u8()), Uncount: r.flag(), Due: r.millis(), Reason: r.text(),
		}
		if t := ev.Changes[i].Target; t < store.Done || t > store.Dead {
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
	return w.b
}

// DecodeSwept reads what Encode wrote.
func DecodeSwept(b []byte) (Swept, error) {
	r := reader{b: b}
	ev := Swept{At: r.millis(), Expired: r.seqs()}
	return ev, r.done("swept")
}

// Encode appends the event.
func (ev Restarted) Encode(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(ev.At))
}

// DecodeRestarted reads what Encode wrote.
func DecodeRestarted(b []byte) (Restarted, error) {
	r := reader{b: b}
	ev := Restarted{At: r.millis()}
	return ev, r.done("restarted")
}

// Len is the length of the encoding.
func (ev Claimed) Len() int {
	return 40 + len(ev.Consumer) + 8*(len(ev.Seqs)+len(ev.Died)+len(ev.Expired))
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
