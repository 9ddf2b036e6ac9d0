package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var logCases = []testCase{
	{"appends get dense offsets in order", logAppends},
	{"an append over partitions is one", logParts},
	{"an append belongs to the settings it was made for", logRevisions},
	{"an expected end is compared, for all parts or none", logExpect},
	{"a repeat appends nothing and gets the first answer", logOnce},
	{"a key is forgotten after its window", logOnceEnds},
	{"fetch begins and ends where it is told", logFetch},
	{"fetch gives one record whatever its size", logFetchBytes},
	{"fetch refuses what is not there", logFetchRefused},
	{"records of every size come back", logSizes},
	{"records keep their own time", logTimes},
	{"seek finds the first record at or after a time", logSeek},
	{"seek among many records", logSeekMany},
	{"trim removes what is before", logTrim},
	{"trim in the middle of an append", logTrimWithin},
	{"trim refuses what is beyond the end", logTrimRefused},
	{"age ends a record's stay", logAge},
	{"sizes end a record's stay, but for the last call's", logBytes},
	{"many appends are swept nearly to the byte", logBytesMany},
	{"settings add partitions and never take any", logConfigure},
	{"drop removes a log for every call", logDrop},
	{"logs are listed in order", logList},
	{"buffers belong to their side", logBuffers},
	{"a queue and a log of one number are two things", logBesideQueue},
}

var logBusyCases = []testCase{
	{"watchers hear of each partition that grew", logWatch},
	{"appends at once are each in one piece", logConcurrent},
	{"reads go on while records are trimmed", logReadWhileTrimmed},
	{"of two appends that expect one end one wins", logRace},
}

var logReopenCases = []testCase{
	{"everything is there again", logReopen},
	{"trimmed records stay away", logReopenTrimmed},
	{"a dropped log stays away", logReopenDropped},
	{"idempotency keys are remembered", logReopenOnce},
}

// log configures a new log at revision 1.
func (f *fixture) log(s store.LogSettings) store.LogID {
	f.Helper()
	f.last++
	l := store.LogID(f.last * 0x9E3779B97F4A7C15)
	s.Partitions = max(s.Partitions, 1)
	f.configureLog(l, s)
	return l
}

// configureLog gives the log settings under its next revision. Logs and queues of the suite share their numbers.
func (f *fixture) configureLog(l store.LogID, s store.LogSettings) {
	f.Helper()
	s.Revision = f.revision[store.QueueID(l)] + 1
	f.wantError(fmt.Sprintf("ConfigureLog(%+v)", s), f.store.ConfigureLog(f.Context(), l, s), nil)
	f.revision[store.QueueID(l)] = s.Revision
}

func logRecords(bodies ...string) []store.LogRecord {
	list := make([]store.LogRecord, len(bodies))
	for i, body := range bodies {
		list[i] = store.LogRecord{Payload: []byte(body), Size: uint32(len(body))}
	}
	return list
}

func (f *fixture) appendParams(l store.LogID, parts ...store.AppendPart) store.AppendParams {
	return store.AppendParams{Log: l, Revision: f.revision[store.QueueID(l)], Parts: parts}
}

func (f *fixture) appendWith(p store.AppendParams) store.AppendResult {
	f.Helper()
	r, err := f.store.Append(f.Context(), p)
	if err != nil {
		f.Fatalf("Append(%d parts) = %v, want nil", len(p.Parts), err)
	}
	return r
}

// append appends to partition 0 and returns the first offset.
func (f *fixture) append(l store.LogID, bodies ...string) store.Offset {
	f.Helper()
	return f.appendWith(f.appendParams(l, store.AppendPart{Records: logRecords(bodies...)})).Parts[0].First
}

func (f *fixture) fetch(p store.FetchParams) store.FetchResult {
	f.Helper()
	r, err := f.store.Fetch(f.Context(), p)
	if err != nil {
		f.Fatalf("Fetch(%+v) = %v, want nil", p, err)
	}
	for i, record := range r.Records {
		if record.Offset != p.Offset+store.Offset(i) {
			f.Fatalf("Fetch(%+v): record %d has offset %d", p, i, record.Offset)
		}
	}
	return r
}

// wantRecords fetches everything from an offset of a partition on, a few records at a time, and expects exactly these.
func (f *fixture) wantRecords(l store.LogID, partition uint32, from store.Offset, want ...string) {
	f.Helper()
	var got []string
	for at := from; ; {
		r := f.fetch(store.FetchParams{Log: l, Partition: partition, Offset: at, Max: 1 + len(got)%3, MaxBytes: 1 << 40})
		if len(r.Records) == 0 {
			break
		}
		for _, record := range r.Records {
			got = append(got, string(record.Payload))
		}
		at += store.Offset(len(r.Records))
	}
	f.equal(fmt.Sprintf("Fetch of partition %d from %d", partition, from), got, want)
}

func (f *fixture) wantBounds(l store.LogID, when string, want ...store.Bounds) {
	f.Helper()
	got, err := f.store.Bounds(f.Context(), l)
	f.wantError("Bounds "+when, err, nil)
	f.equal("Bounds "+when, got, want)
}

func (f *fixture) sweepLog(l store.LogID) store.LogSweepResult {
	f.Helper()
	r, err := f.store.SweepLog(f.Context(), l)
	f.wantError("SweepLog", err, nil)
	return r
}

func (f *fixture) trim(l store.LogID, partition uint32, before store.Offset) store.Bounds {
	f.Helper()
	b, err := f.store.Trim(f.Context(), l, partition, before)
	f.wantError(fmt.Sprintf("Trim(%d, %d)", partition, before), err, nil)
	return b
}

func logAppends(f *fixture) {
	l := f.log(store.LogSettings{})
	f.wantBounds(l, "of a new log", store.Bounds{})
	f.equal("Append: First", f.append(l, "a"), store.Offset(0))
	f.equal("Append: First", f.append(l, "b", "c"), store.Offset(1))
	f.equal("Append: First", f.append(l, "", "e"), store.Offset(3))
	f.wantRecords(l, 0, 0, "a", "b", "c", "", "e")
	f.wantRecords(l, 0, 2, "c", "", "e")
	f.wantBounds(l, "after appends", store.Bounds{Next: 5, Bytes: 4})
}

func logParts(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 4})
	f.append(l, "first")
	r := f.appendWith(f.appendParams(l,
		store.AppendPart{Partition: 3, Records: logRecords("x")},
		store.AppendPart{Partition: 0, Records: logRecords("a", "b")},
		store.AppendPart{Partition: 2, Records: logRecords("p", "q", "r")}))
	f.equal("Append: Parts", r.Parts, []store.Appended{{Partition: 3, Count: 1}, {Partition: 0, First: 1, Count: 2}, {Partition: 2, Count: 3}})
	f.equal("Append: At", r.At.Equal(f.clock.Now()), true)
	f.wantRecords(l, 0, 0, "first", "a", "b")
	f.wantRecords(l, 1, 0)
	f.wantRecords(l, 2, 1, "q", "r")
	f.wantRecords(l, 3, 0, "x")
	f.wantBounds(l, "after an append to three partitions",
		store.Bounds{Next: 3, Bytes: 7}, store.Bounds{}, store.Bounds{Next: 3, Bytes: 3}, store.Bounds{Next: 1, Bytes: 1})
}

func logRevisions(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	f.configureLog(l, store.LogSettings{Partitions: 2})
	p := f.appendParams(l, store.AppendPart{Records: logRecords("a")})
	p.Revision--
	_, err := f.store.Append(f.Context(), p)
	f.wantError("Append with an old revision", err, store.ErrStaleConfig)
	p.Revision += 2
	_, err = f.store.Append(f.Context(), p)
	f.wantError("Append with a revision to come", err, store.ErrStaleConfig)
	_, err = f.store.Append(f.Context(), f.appendParams(l, store.AppendPart{Records: logRecords("a")}, store.AppendPart{Partition: 2, Records: logRecords("b")}))
	f.wantError("Append to a partition that is not there", err, store.ErrStaleConfig)
	f.wantBounds(l, "after refused appends", store.Bounds{}, store.Bounds{})
}

func logExpect(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	expect := func(partition uint32, at store.Offset, body string) store.AppendPart {
		return store.AppendPart{Partition: partition, Records: logRecords(body), Expect: &at}
	}
	f.appendWith(f.appendParams(l, expect(0, 0, "a")))
	_, err := f.store.Append(f.Context(), f.appendParams(l, expect(0, 0, "b")))
	f.wantError("Append that expects an earlier end", err, store.ErrConflict)
	var at *store.OffsetError
	if !errors.As(err, &at) {
		f.Fatalf("Append that expects an earlier end = %v, want an OffsetError", err)
	}
	f.equal("Append that expects an earlier end: Bounds", at.Bounds, store.Bounds{Next: 1, Bytes: 1})
	_, err = f.store.Append(f.Context(), f.appendParams(l, expect(0, 1, "b"), expect(1, 1, "c")))
	f.wantError("Append of which one part expects a later end", err, store.ErrConflict)
	f.wantBounds(l, "after refused appends", store.Bounds{Next: 1, Bytes: 1}, store.Bounds{})
	f.appendWith(f.appendParams(l, expect(0, 1, "b"), expect(1, 0, "c")))
	f.wantRecords(l, 0, 0, "a", "b")
	f.wantRecords(l, 1, 0, "c")
}

func logOnce(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 3})
	p := f.appendParams(l, store.AppendPart{Partition: 2, Records: logRecords("a", "b")}, store.AppendPart{Partition: 1, Records: logRecords("c")})
	p.Once = &store.Once{Key: [16]byte{1}, Fingerprint: [16]byte{2}, Window: time.Hour, Note: []byte("note")}
	first := f.appendWith(p)
	f.equal("first Append: Duplicate", first.Duplicate, false)
	f.clock.Advance(time.Minute)
	again := p
	again.Parts = []store.AppendPart{{Records: logRecords("whatever")}}
	want := first
	want.Duplicate, want.Note, want.NextDue = true, []byte("note"), 0
	got := f.appendWith(again)
	got.NextDue = 0
	f.equal("repeated Append", got, want)
	again.Once = &store.Once{Key: [16]byte{1}, Fingerprint: [16]byte{3}, Window: time.Hour}
	_, err := f.store.Append(f.Context(), again)
	f.wantError("Append of other content under the key", err, store.ErrKeyReused)
	f.wantBounds(l, "after repeats", store.Bounds{}, store.Bounds{Next: 1, Bytes: 1}, store.Bounds{Next: 2, Bytes: 2})
	f.trim(l, 2, 2)
	got = f.appendWith(p)
	got.NextDue = 0
	f.equal("Append repeated after its records were trimmed", got, want)
}

func logOnceEnds(f *fixture) {
	l := f.log(store.LogSettings{})
	p := f.appendParams(l, store.AppendPart{Records: logRecords("a")})
	p.Once = &store.Once{Key: [16]byte{1}, Window: time.Minute}
	f.appendWith(p)
	f.clock.Advance(time.Minute - time.Millisecond)
	f.equal("Append at the end of the window: Duplicate", f.appendWith(p).Duplicate, true)
	f.clock.Advance(time.Millisecond)
	f.equal("Append after the window: Duplicate", f.appendWith(p).Duplicate, false)
	f.wantRecords(l, 0, 0, "a", "a")
}

func logFetch(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, "a", "b", "c")
	f.append(l, "d")
	f.append(l, "e", "f")
	for from := range store.Offset(7) {
		for limit := 1; limit < 8; limit++ {
			r := f.fetch(store.FetchParams{Log: l, Offset: from, Max: limit, MaxBytes: 1 << 40})
			if want := min(limit, 6-int(from)); len(r.Records) != want {
				f.Errorf("Fetch(from %d, max %d): got %d records, want %d", from, limit, len(r.Records), want)
			}
			f.equal("Fetch: Bounds", r.Bounds, store.Bounds{Next: 6, Bytes: 6})
		}
	}
}

func logFetchBytes(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, strings.Repeat("x", 100), "aa", "bb", strings.Repeat("y", 50))
	for _, c := range []struct {
		from  store.Offset
		bytes int64
		want  int
	}{{0, 1, 1}, {0, 101, 1}, {0, 102, 2}, {0, 104, 3}, {1, 0, 1}, {1, 3, 1}, {1, 4, 2}, {1, 53, 2}, {1, 54, 3}, {3, 1, 1}} {
		r := f.fetch(store.FetchParams{Log: l, Offset: c.from, Max: 10, MaxBytes: c.bytes})
		if len(r.Records) != c.want {
			f.Errorf("Fetch(from %d, %d bytes): got %d records, want %d", c.from, c.bytes, len(r.Records), c.want)
		}
	}
}

func logFetchRefused(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, "a", "b", "c")
	f.trim(l, 0, 2)
	for _, c := range []struct {
		at   store.Offset
		want error
	}{{0, store.ErrTrimmed}, {1, store.ErrTrimmed}, {4, store.ErrOutOfRange}, {1 << 63, store.ErrOutOfRange}} {
		_, err := f.store.Fetch(f.Context(), store.FetchParams{Log: l, Offset: c.at, Max: 1})
		f.wantError(fmt.Sprintf("Fetch(from %d)", c.at), err, c.want)
		var at *store.OffsetError
		if !errors.As(err, &at) || at.Bounds.First != 2 || at.Bounds.Next != 3 || at.Offset != c.at {
			f.Errorf("Fetch(from %d) = %v, want an OffsetError that has the bounds", c.at, err)
		}
	}
	_, err := f.store.Fetch(f.Context(), store.FetchParams{Log: l, Partition: 1, Max: 1})
	f.wantError("Fetch from a partition that is not there", err, store.ErrStaleConfig)
	_, err = f.store.Seek(f.Context(), l, 1, f.clock.Now())
	f.wantError("Seek in a partition that is not there", err, store.ErrStaleConfig)
	_, err = f.store.Fetch(f.Context(), store.FetchParams{Log: 404, Max: 1})
	f.wantError("Fetch from a log that is not there", err, store.ErrGone)
}

func logSizes(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	var all []string
	for _, n := range []int{0, 1, 100, 4000, 4096, 8192, 16 << 10, 16<<10 + 1, 100_000, 1 << 20, 3 << 20} {
		all = append(all, strings.Repeat(string(rune('a'+len(all))), n))
	}
	f.append(l, all...)
	for _, body := range all {
		f.appendWith(f.appendParams(l,
			store.AppendPart{Partition: 0, Records: logRecords("between")}, store.AppendPart{Partition: 1, Records: logRecords(body)}))
	}
	f.wantRecords(l, 1, 0, all...)
	for i := range all {
		r := f.fetch(store.FetchParams{Log: l, Offset: store.Offset(i), Max: 1})
		if len(r.Records) != 1 || string(r.Records[0].Payload) != all[i] || int(r.Records[0].Size) != len(all[i]) {
			f.Errorf("Fetch of a record of %d bytes out of many: got another", len(all[i]))
		}
	}
}

func logTimes(f *fixture) {
	l := f.log(store.LogSettings{})
	own := epoch.Add(-time.Hour + 123*time.Millisecond + 456*time.Microsecond)
	f.appendWith(f.appendParams(l, store.AppendPart{Records: []store.LogRecord{{Time: own}, {}, {Time: time.UnixMilli(0)}}}))
	f.clock.Advance(time.Second)
	r := f.fetch(store.FetchParams{Log: l, Max: 10, MaxBytes: 1})
	for i, want := range []time.Time{own.Truncate(time.Millisecond), epoch, time.UnixMilli(0)} {
		if got := r.Records[i].Time; !got.Equal(want) {
			f.Errorf("Fetch: time of record %d is %v, want %v", i, got, want)
		}
	}
}

// wantSeek seeks seconds after the epoch.
func (f *fixture) wantSeek(l store.LogID, seconds int, want store.Offset) {
	f.Helper()
	got, err := f.store.Seek(f.Context(), l, 0, epoch.Add(time.Duration(seconds)*time.Second))
	f.wantError("Seek", err, nil)
	f.equal(fmt.Sprintf("Seek(%d seconds)", seconds), got, want)
}

func logSeek(f *fixture) {
	l := f.log(store.LogSettings{})
	f.wantSeek(l, 0, 0)
	at := func(seconds ...int) store.AppendPart {
		var p store.AppendPart
		for _, s := range seconds {
			p.Records = append(p.Records, store.LogRecord{Payload: []byte("x"), Size: 1, Time: epoch.Add(time.Duration(s) * time.Second)})
		}
		return p
	}
	f.appendWith(f.appendParams(l, at(10, 20)))
	f.appendWith(f.appendParams(l, at(15)))
	f.appendWith(f.appendParams(l, at(50, 30, 40)))
	f.appendWith(f.appendParams(l, at(35)))
	for seconds, want := range map[int]store.Offset{-5: 0, 10: 0, 11: 1, 20: 1, 21: 3, 50: 3, 51: 7} {
		f.wantSeek(l, seconds, want)
	}
	f.trim(l, 0, 4)
	for seconds, want := range map[int]store.Offset{-5: 4, 30: 4, 31: 5, 40: 5, 41: 7, 50: 7} {
		f.wantSeek(l, seconds, want)
	}
}

func logSeekMany(f *fixture) {
	l := f.log(store.LogSettings{})
	const calls = 3000
	for i := range calls {
		f.appendWith(f.appendParams(l, store.AppendPart{Records: []store.LogRecord{
			{Payload: []byte("x"), Size: 1, Time: epoch.Add(time.Duration(2*i) * time.Second)},
		}}))
	}
	for i := 0; i < calls; i += 97 {
		f.wantSeek(l, 2*i, store.Offset(i))
		f.wantSeek(l, 2*i-1, store.Offset(i))
	}
	f.wantSeek(l, 2*calls, calls)
}

func logTrim(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	for _, body := range []string{"a", "bb", "ccc", "dddd"} {
		f.append(l, body)
	}
	f.equal("Trim(2)", f.trim(l, 0, 2), store.Bounds{First: 2, Next: 4, Bytes: 7})
	f.wantRecords(l, 0, 2, "ccc", "dddd")
	f.equal("Trim(1) after Trim(2)", f.trim(l, 0, 1), store.Bounds{First: 2, Next: 4, Bytes: 7})
	f.equal("Trim(4)", f.trim(l, 0, 4), store.Bounds{First: 4, Next: 4})
	f.wantRecords(l, 0, 4)
	f.equal("Append after everything was trimmed: First", f.append(l, "e"), store.Offset(4))
	f.wantRecords(l, 0, 4, "e")
	f.wantBounds(l, "after trims", store.Bounds{First: 4, Next: 5, Bytes: 1}, store.Bounds{})
}

func logTrimWithin(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, "aa", "bb", "cc", "dd")
	f.append(l, "ee")
	f.trim(l, 0, 1)
	f.wantRecords(l, 0, 1, "bb", "cc", "dd", "ee")
	f.equal("Trim in the middle of an append of equal records", f.trim(l, 0, 3), store.Bounds{First: 3, Next: 5, Bytes: 4})
	f.wantRecords(l, 0, 3, "dd", "ee")
	f.equal("Trim to the next append", f.trim(l, 0, 4), store.Bounds{First: 4, Next: 5, Bytes: 2})
}

func logTrimRefused(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, "a")
	_, err := f.store.Trim(f.Context(), l, 0, 2)
	f.wantError("Trim beyond the end", err, store.ErrOutOfRange)
	_, err = f.store.Trim(f.Context(), l, 1, 0)
	f.wantError("Trim of a partition that is not there", err, store.ErrStaleConfig)
	_, err = f.store.Trim(f.Context(), 404, 0, 0)
	f.wantError("Trim of a log that is not there", err, store.ErrGone)
	f.wantRecords(l, 0, 0, "a")
}

func logAge(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2, RetentionAge: time.Minute})
	f.equal("SweepLog of nothing", f.sweepLog(l), store.LogSweepResult{NextDue: store.NoDue})
	f.append(l, "a", "b")
	f.clock.Advance(10 * time.Second)
	r := f.appendWith(f.appendParams(l, store.AppendPart{Records: logRecords("c")}, store.AppendPart{Partition: 1, Records: logRecords("p")}))
	f.equal("Append: NextDue", r.NextDue, 50*time.Second)
	f.equal("SweepLog before anything is old", f.sweepLog(l), store.LogSweepResult{NextDue: 50 * time.Second})
	f.clock.Advance(50*time.Second - time.Millisecond)
	f.equal("SweepLog just before", f.sweepLog(l), store.LogSweepResult{NextDue: time.Millisecond})
	f.clock.Advance(time.Millisecond)
	f.equal("SweepLog when the first call is old", f.sweepLog(l), store.LogSweepResult{Trimmed: 2, NextDue: 10 * time.Second})
	f.wantRecords(l, 0, 2, "c")
	f.clock.Advance(10 * time.Second)
	f.equal("SweepLog when all is old", f.sweepLog(l), store.LogSweepResult{Trimmed: 2, NextDue: store.NoDue})
	f.wantBounds(l, "when all was old", store.Bounds{First: 3, Next: 3}, store.Bounds{First: 1, Next: 1})
	f.configureLog(l, store.LogSettings{Partitions: 2})
	f.append(l, "d")
	f.clock.Advance(1000 * time.Hour)
	f.equal("SweepLog without retention", f.sweepLog(l), store.LogSweepResult{NextDue: store.NoDue})
}

func logBytes(f *fixture) {
	l := f.log(store.LogSettings{RetentionBytes: 10})
	for range 5 {
		f.append(l, "four")
	}
	f.equal("SweepLog", f.sweepLog(l), store.LogSweepResult{Trimmed: 3, NextDue: store.NoDue})
	f.wantBounds(l, "swept", store.Bounds{First: 3, Next: 5, Bytes: 8})
	f.equal("Append: NextDue", f.appendWith(f.appendParams(l, store.AppendPart{Records: logRecords("four")})).NextDue, time.Duration(0))
	f.append(l, "more than ten bytes")
	f.sweepLog(l)
	f.wantRecords(l, 0, 6, "more than ten bytes")
}

func logBytesMany(f *fixture) {
	l := f.log(store.LogSettings{RetentionBytes: 100_000})
	for range 5000 {
		f.append(l, strings.Repeat("x", 100))
	}
	f.sweepLog(l)
	got, err := f.store.Bounds(f.Context(), l)
	f.wantError("Bounds", err, nil)
	if b := got[0]; b.Bytes > 100_000 || b.Bytes < 98_000 || b.Bytes != 100*int64(b.Next-b.First) {
		f.Errorf("Bounds after a sweep of 500,000 bytes to 100,000 = %+v", b)
	}
}

func logConfigure(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	f.append(l, "a")
	f.configureLog(l, store.LogSettings{Partitions: 4})
	f.appendWith(f.appendParams(l, store.AppendPart{Partition: 3, Records: logRecords("x")}))
	f.configureLog(l, store.LogSettings{Partitions: 1})
	f.wantBounds(l, "after fewer partitions were asked for", store.Bounds{Next: 1, Bytes: 1}, store.Bounds{}, store.Bounds{}, store.Bounds{Next: 1, Bytes: 1})
	f.wantError("ConfigureLog with an old revision", f.store.ConfigureLog(f.Context(), l, store.LogSettings{Revision: 1, Partitions: 9}), nil)
	f.wantBounds(l, "after an old revision", store.Bounds{Next: 1, Bytes: 1}, store.Bounds{}, store.Bounds{}, store.Bounds{Next: 1, Bytes: 1})
}

func logDrop(f *fixture) {
	l, other := f.log(store.LogSettings{}), f.log(store.LogSettings{})
	f.append(l, "a")
	f.append(other, "b")
	f.wantError("DropLog", f.store.DropLog(f.Context(), l), nil)
	f.wantError("DropLog again", f.store.DropLog(f.Context(), l), nil)
	_, err := f.store.Append(f.Context(), f.appendParams(l, store.AppendPart{Records: logRecords("b")}))
	f.wantError("Append to a dropped log", err, store.ErrGone)
	_, err = f.store.Fetch(f.Context(), store.FetchParams{Log: l, Max: 1})
	f.wantError("Fetch from a dropped log", err, store.ErrGone)
	_, err = f.store.Seek(f.Context(), l, 0, epoch)
	f.wantError("Seek in a dropped log", err, store.ErrGone)
	_, err = f.store.Bounds(f.Context(), l)
	f.wantError("Bounds of a dropped log", err, store.ErrGone)
	_, err = f.store.Trim(f.Context(), l, 0, 0)
	f.wantError("Trim of a dropped log", err, store.ErrGone)
	_, err = f.store.SweepLog(f.Context(), l)
	f.wantError("SweepLog of a dropped log", err, store.ErrGone)
	f.wantRecords(other, 0, 0, "b")
	f.wantRecords(f.log(store.LogSettings{}), 0, 0)
}

func logList(f *fixture) {
	var want []store.LogID
	for range 5 {
		want = append(want, f.log(store.LogSettings{}))
	}
	f.queue(store.Settings{})
	slices.Sort(want)
	for after := range 5 {
		last := store.LogID(0)
		if after > 0 {
			last = want[after-1]
		}
		got, err := f.store.Logs(f.Context(), last, 2)
		f.wantError("Logs", err, nil)
		f.equal("Logs", got, want[after:min(after+2, 5)])
	}
}

func logBuffers(f *fixture) {
	l := f.log(store.LogSettings{})
	body := []byte("mine")
	f.appendWith(f.appendParams(l, store.AppendPart{Records: []store.LogRecord{{Payload: body, Size: 4}}}))
	copy(body, "xxxx")
	got := f.fetch(store.FetchParams{Log: l, Max: 1}).Records[0].Payload
	f.equal("Fetch after the sender changed its buffer", string(got), "mine")
	copy(got, "yyyy")
	f.wantRecords(l, 0, 0, "mine")
}

func logBesideQueue(f *fixture) {
	l := f.log(store.LogSettings{})
	q := store.QueueID(l)
	f.wantError("Configure of a queue", f.store.Configure(f.Context(), q, store.Settings{Revision: 1}), nil)
	f.append(l, "record")
	f.send(q, "message")
	f.append(l, "another")
	f.wantClaim(q, 5, "message")
	f.wantError("Drop of the queue", f.store.Drop(f.Context(), q), nil)
	f.wantRecords(l, 0, 0, "record", "another")
}

func logWatch(f *fixture) {
	type grown struct {
		Log       store.LogID
		Partition uint32
	}
	news := make(chan grown, 10)
	f.store.WatchLogs(func(l store.LogID, partition uint32) { news <- grown{l, partition} })
	l := f.log(store.LogSettings{Partitions: 3})
	p := f.appendParams(l, store.AppendPart{Partition: 2, Records: logRecords("a", "b")}, store.AppendPart{Records: logRecords("c")})
	p.Once = &store.Once{Key: [16]byte{1}, Window: time.Hour}
	f.appendWith(p)
	f.equal("news of an append", []grown{<-news, <-news}, []grown{{l, 2}, {l, 0}})
	f.appendWith(p)
	f.trim(l, 2, 1)
	f.appendWith(f.appendParams(l, store.AppendPart{Partition: 1, Records: logRecords("d")}))
	f.equal("news after a repeat and a trim", <-news, grown{l, 1})
}

func logConcurrent(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	const appenders, each = 8, 30
	together(appenders, func(i int) {
		for n := range each {
			list := logRecords(fmt.Sprintf("%d/%d/0", i, n), fmt.Sprintf("%d/%d/1", i, n), fmt.Sprintf("%d/%d/2", i, n))
			r, err := f.store.Append(f.Context(), f.appendParams(l, store.AppendPart{Records: list}, store.AppendPart{Partition: 1, Records: list[:1]}))
			if err != nil {
				f.Errorf("concurrent Append = %v, want nil", err)
				return
			}
			got, err := f.store.Fetch(f.Context(), store.FetchParams{Log: l, Offset: r.Parts[0].First, Max: 3, MaxBytes: 1 << 20})
			if err != nil || len(got.Records) != 3 {
				f.Errorf("Fetch of what was just appended = %d records, %v; want 3", len(got.Records), err)
				return
			}
			for j, record := range got.Records {
				if !bytes.Equal(record.Payload, list[j].Payload) {
					f.Errorf("Fetch of what was just appended: got %q, want %q", record.Payload, list[j].Payload)
				}
			}
		}
	})
	all := f.fetch(store.FetchParams{Log: l, Partition: 1, Max: 1000, MaxBytes: 1 << 20})
	next := make(map[string]int)
	for _, r := range all.Records {
		who, _, _ := strings.Cut(string(r.Payload), "/")
		if want := fmt.Sprintf("%s/%d/0", who, next[who]); string(r.Payload) != want {
			f.Fatalf("partition 1 has %q, want %q", r.Payload, want)
		}
		next[who]++
	}
	f.equal("records in partition 1", len(all.Records), appenders*each)
}

func logReadWhileTrimmed(f *fixture) {
	l := f.log(store.LogSettings{})
	const records = 400
	for i := range records / 4 {
		body := fmt.Sprintf("%0500d", i)
		f.append(l, body, body, body, body)
	}
	var trimming sync.WaitGroup
	trimming.Go(func() {
		for at := range store.Offset(records) {
			if _, err := f.store.Trim(f.Context(), l, 0, at); err != nil {
				f.Errorf("Trim(%d) = %v, want nil", at, err)
			}
		}
	})
	for at := store.Offset(0); at < records; {
		r, err := f.store.Fetch(f.Context(), store.FetchParams{Log: l, Offset: at, Max: 7, MaxBytes: 1 << 20})
		var moved *store.OffsetError
		if errors.Is(err, store.ErrTrimmed) && errors.As(err, &moved) {
			at = moved.Bounds.First
			continue
		}
		if err != nil || len(r.Records) == 0 {
			f.Fatalf("Fetch(%d) = %d records, %v; want some, or a refusal since they were trimmed", at, len(r.Records), err)
		}
		for _, record := range r.Records {
			if want := fmt.Sprintf("%0500d", at/4); string(record.Payload) != want {
				f.Fatalf("Fetch: record %d is %q, want %q", at, record.Payload, want)
			}
			at++
		}
	}
	trimming.Wait()
}

func logRace(f *fixture) {
	l := f.log(store.LogSettings{})
	for end := range store.Offset(20) {
		var mu sync.Mutex
		won := 0
		together(4, func(i int) {
			_, err := f.store.Append(f.Context(), f.appendParams(l, store.AppendPart{Records: logRecords(fmt.Sprint(i)), Expect: &end}))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case !errors.Is(err, store.ErrConflict):
				f.Errorf("Append that expects %d = %v, want nil or a conflict", end, err)
			}
		})
		f.equal(fmt.Sprintf("appends that got offset %d", end), won, 1)
	}
}

func logReopen(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 3, RetentionAge: time.Hour})
	want := map[uint32][]string{}
	for i := range 60 {
		p := uint32(i % 2)
		body := strings.Repeat(fmt.Sprint(i), 400)
		f.appendWith(f.appendParams(l, store.AppendPart{Partition: p, Records: logRecords(body, "next")}))
		want[p] = append(want[p], body, "next")
		if i%20 == 19 {
			f.reopen()
		}
	}
	bounds, err := f.store.Bounds(f.Context(), l)
	f.wantError("Bounds", err, nil)
	f.reopen()
	f.wantBounds(l, "after reopening", bounds...)
	for p := range uint32(3) {
		f.wantRecords(l, p, 0, want[p]...)
	}
	f.equal("Append after reopening: First", f.append(l, "x"), store.Offset(60))
	f.clock.Advance(time.Hour)
	f.equal("SweepLog after reopening: Trimmed", f.sweepLog(l).Trimmed, int64(121))
}

func logReopenTrimmed(f *fixture) {
	l := f.log(store.LogSettings{})
	f.append(l, "a", "b", "c")
	f.append(l, "d")
	f.trim(l, 0, 2)
	f.reopen()
	f.wantRecords(l, 0, 2, "c", "d")
	f.trim(l, 0, 4)
	f.reopen()
	f.reopen()
	f.wantBounds(l, "after reopening", store.Bounds{First: 4, Next: 4})
	f.equal("Append after reopening: First", f.append(l, "e"), store.Offset(4))
	f.reopen()
	f.wantRecords(l, 0, 4, "e")
}

func logReopenDropped(f *fixture) {
	l, other := f.log(store.LogSettings{}), f.log(store.LogSettings{})
	f.append(l, "a")
	f.append(other, "b")
	f.reopen()
	f.wantError("DropLog", f.store.DropLog(f.Context(), l), nil)
	f.reopen()
	_, err := f.store.Fetch(f.Context(), store.FetchParams{Log: l, Max: 1})
	f.wantError("Fetch from a dropped log after reopening", err, store.ErrGone)
	f.wantRecords(other, 0, 0, "b")
}

func logReopenOnce(f *fixture) {
	l := f.log(store.LogSettings{Partitions: 2})
	p := f.appendParams(l, store.AppendPart{Partition: 1, Records: logRecords("a", "b")})
	p.Once = &store.Once{Key: [16]byte{1}, Window: time.Hour, Note: []byte("note")}
	first := f.appendWith(p)
	for range 2 {
		f.reopen()
		r := f.appendWith(p)
		f.equal("Append repeated after reopening", r.Parts, first.Parts)
		f.equal("Append repeated after reopening: Note", string(r.Note), "note")
	}
	f.wantBounds(l, "after repeats", store.Bounds{}, store.Bounds{Next: 2, Bytes: 2})
}
