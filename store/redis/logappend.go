package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var logAppend = newScript("log_append")

// Append implements [store.Log].
func (s *Store) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	keys := append(s.logKeys(p.Log, []string{"c", "o", "e"}), s.news(uint64(p.Log)))
	args := []any{decimal(uint64(p.Log)), decimal(p.Revision)}
	args = append(args, onceArgs(p.Once)...)
	for _, part := range p.Parts {
		keys = append(keys, s.logKeys(p.Log, nil, part.Partition)...)
		expect := ""
		if part.Expect != nil {
			expect = decimal(uint64(*part.Expect))
		}
		args = append(args, part.Partition, expect, len(part.Records))
		for i := range part.Records {
			r := &part.Records[i]
			args = append(args, r.Size, timeArg(r.Time), r.Payload)
		}
	}
	r, now, err := s.timedAcked(ctx, logAppend, keys, p.Acks, args...)
	if err == nil {
		var res store.AppendResult
		if res, err = appended(r, now); err == nil {
			s.toldAppended(p.Log, r, now, res.Parts)
			return s.ahead().Appended(res), r.done()
		}
	}
	return store.AppendResult{}, fmt.Errorf("append to log %d: %w", p.Log, err)
}

// onceArgs are the four arguments that stand for an idempotency key: empty ones without it.
func onceArgs(o *store.Once) []any {
	if o == nil {
		return []any{"", "", 0, ""}
	}
	return []any{o.Key[:], o.Fingerprint[:], millis(o.Window), o.Note}
}

// timeArg is the time of a record in milliseconds, or empty if it has none.
func timeArg(t time.Time) any {
	if t.IsZero() {
		return ""
	}
	return t.UnixMilli()
}

// appended reads what lua/log_append.lua returns.
func appended(r *reply, now int64) (store.AppendResult, error) {
	switch verdict := r.text(); verdict {
	case "appended":
		res := store.AppendResult{At: instantOf(now), NextDue: until(now, r.int())}
		res.Parts = r.list().places()
		return res, r.done()
	case "again":
		res := store.AppendResult{At: instantOf(r.int()), Note: []byte(r.text()), Duplicate: true, NextDue: store.NoDue}
		res.Parts = r.list().places()
		return res, r.done()
	case "expected":
		return store.AppendResult{}, &store.OffsetError{
			Partition: uint32(r.int()), Offset: store.Offset(r.int()), Bounds: r.bounds(), Err: store.ErrConflict,
		}
	default:
		r.fail("a verdict", verdict)
		return store.AppendResult{}, r.done()
	}
}

// places reads where the parts of an append went.
func (r *reply) places() []store.Appended {
	var list []store.Appended
	for r.more() {
		list = append(list, store.Appended{Partition: uint32(r.int()), First: store.Offset(r.int()), Count: int(r.int())})
	}
	return list
}
