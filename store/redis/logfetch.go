package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/wall"
)

var logFetch = newScript("log_fetch")

// Fetch implements [store.Log]. Much is read by several calls of the script; what is trimmed between them ends the answer.
func (s *Store) Fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, error) {
	var res store.FetchResult
	for {
		next, left, err := s.fetch(ctx, p)
		if len(res.Records) > 0 && (errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrCorrupt)) {
			return res, nil
		}
		if err != nil {
			return store.FetchResult{}, fmt.Errorf("fetch from log %d: %w", p.Log, err)
		}
		// Scripts give little at a time, so it does if that is counted when it is here.
		if short := memlimit.Charge(ctx, sizeOfRecords(next.Records)); short != nil && len(res.Records) > 0 {
			return res, nil
		} else if short != nil {
			return store.FetchResult{}, fmt.Errorf("fetch from log %d: %w", p.Log, short)
		}
		res.Records = append(res.Records, next.Records...)
		res.Bounds = next.Bounds
		if !left || len(next.Records) == 0 {
			return res, nil
		}
		for i := range next.Records {
			p.Offset++
			p.Max--
			p.MaxBytes -= int64(next.Records[i].Size)
		}
	}
}

func sizeOfRecords(list []store.Fetched) (n int64) {
	for i := range list {
		n += int64(len(list[i].Payload))
	}
	return n
}

// fetch reads as much as one script does, and says whether more would fit.
func (s *Store) fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, bool, error) {
	r, err := s.call(ctx, logFetch, s.logKeys(p.Log, []string{"c"}, p.Partition),
		p.Partition, decimal(uint64(p.Offset)), p.Max, strconv.FormatInt(p.MaxBytes, 10))
	if err != nil {
		return store.FetchResult{}, false, err
	}
	res := store.FetchResult{Bounds: r.bounds()}
	left := r.int() > 0
	ahead := s.ahead()
	for o := p.Offset; r.more(); o++ {
		size, at, body := r.int(), r.recordTime(ahead), r.text()
		res.Records = append(res.Records, store.Fetched{Offset: o, Size: uint32(size), Time: at, Payload: bytesOf(body)})
	}
	if err := r.done(); err != nil {
		return store.FetchResult{}, false, err
	}
	return res, left, outside(p, res.Bounds)
}

// recordTime reads the time of a record: its own, or when it was appended by the wall clock, which is ahead.
func (r *reply) recordTime(ahead wall.Ahead) time.Time {
	text := r.text()
	at, stamped := strings.CutPrefix(text, "@")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		r.fail("the time of a record", text)
	}
	if stamped {
		return ahead.Time(ms)
	}
	return time.UnixMilli(ms).UTC()
}

// outside says why there is no such offset to read from.
func outside(p store.FetchParams, b store.Bounds) error {
	switch {
	case p.Offset < b.First:
		return &store.OffsetError{Partition: p.Partition, Offset: p.Offset, Bounds: b, Err: store.ErrTrimmed}
	case p.Offset > b.Next:
		return &store.OffsetError{Partition: p.Partition, Offset: p.Offset, Bounds: b, Err: store.ErrOutOfRange}
	}
	return nil
}
