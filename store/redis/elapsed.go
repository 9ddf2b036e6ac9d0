package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// Elapsed time is what leases, delays, windows and retention go by. It is the clock of a server, corrected so that nobody
// notices when that clock is set, or when a server with another clock takes over. Three things keep it right:
//
//   - Each process counts elapsed time itself, with a clock that is never set, and each script is given what the process
//     takes it for. A script that disagrees by more than a second changes nothing. The process then finds out what is wrong,
//     and makes the call again.
//   - The record of elapsed time, {kv}clock, has the correction of the server that keeps it, and a fence that rises when
//     that is replaced: of several processes that find the clock set, one replaces it, and all others follow. Each
//     process reads it every second, follows small differences, and writes down the time if nobody has for a second.
//   - What is written down is where elapsed time resumes after an interval in which no process ran.
//
// In a cluster the other servers are corrected by each process for itself, to what it takes elapsed time for.
const (
	// stepLimit is from which difference on a clock was set, in milliseconds. It is also in lua/clock.lua and lua/clock_note.lua.
	stepLimit = 1000
	// readEvery is how often a process reads the record, noteAfter how old that is when it is written again (ms).
	readEvery = time.Second
	noteAfter = 1000
	// others is for how long after a record was written by another process that is taken to be running (ms).
	others = 2000
	// resumeWithin is how old a record may be so that elapsed time goes by it without more ado (ms).
	resumeWithin = 3000
	// resumeWait is for how long a process that starts with an older record waits for another one to write it.
	resumeWait = 2500 * time.Millisecond
	resumeLook = 50 * time.Millisecond
	// leaveWithin bounds what a process still writes when it ends.
	leaveWithin = 500 * time.Millisecond
	// timeTries bounds how often the record is read again because another process has changed it.
	timeTries = 5
)

var (
	clockRead = newScript("clock_read")
	clockNote = newRepeatable("clock_note")
)

// elapsedTime is what a process takes elapsed time for.
type elapsedTime struct {
	monotonic func() time.Duration
	// base is elapsed time in milliseconds when monotonic is 0.
	base atomic.Int64
	// known says that base is.
	known atomic.Bool
	// protected is that of the record.
	protected atomic.Int64

	mu     sync.Mutex // held while the record is read or written
	record timeRecord
	// looked is when, by monotonic, the process last began to find out whether a clock was set.
	looked time.Duration
}

// timeRecord is the record of elapsed time. All times are in milliseconds.
type timeRecord struct {
	// fence rises whenever the correction is replaced; 0 if there is no record.
	fence int64
	// correction makes elapsed time out of the clock of the server that keeps the record.
	correction int64
	// elapsed is elapsed time when it was written, clock what the server's clock showed, by the process that wrote it, empty
	// if that has ended since.
	elapsed, clock int64
	by             string
	// protected is until when retention and times to live remove nothing.
	protected int64
}

// now is what the process takes elapsed time for.
func (e *elapsedTime) now() int64 { return e.base.Load() + int64(e.monotonic()/time.Millisecond) }

// knownTime is elapsed time, 0 while the process does not know it.
func (s *Store) knownTime() int64 {
	if s.o.Now != nil || !s.elapsed.known.Load() {
		return 0
	}
	return s.elapsed.now()
}

// shownTime is what the wall clock showed at an instant of elapsed time, or of a server's clock while elapsed time is not known.
func (s *Store) shownTime(at int64) time.Time {
	if s.knownTime() == 0 {
		return time.UnixMilli(at).UTC()
	}
	return s.ahead().Time(at)
}

// set has elapsed time be what a server's clock showed, corrected.
func (e *elapsedTime) set(at reading, correction int64) {
	e.base.Add(at.clock + correction - (at.before+at.after)/2)
	e.known.Store(true)
}

// reading is what a server's clock showed, and what the process took elapsed time for just before and after.
type reading struct{ before, clock, after int64 }

// off is by how much a correction misses elapsed time for sure: 0 if it may be right.
func (r reading) off(correction int64) int64 {
	now := r.clock + correction
	return now - min(max(now, r.before), r.after)
}

// correction is the one that seems right.
func (r reading) correction() int64 { return (r.before+r.after)/2 - r.clock }

func far(ms int64) bool { return ms > stepLimit || ms < -stepLimit }

// timeOf is the argument with which a script gets elapsed time, see lua/clock.lua. It is written on the connection.
type timeOf struct {
	store  *Store
	server *server
	// late is by how much more than stepLimit the call may be later than that.
	late int64
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (t *timeOf) MarshalBinary() ([]byte, error) {
	correction := t.server.correction.Load()
	b := make([]byte, 0, 64)
	if correction >= 0 {
		b = append(b, '+')
	}
	b = strconv.AppendInt(b, correction, 10)
	b = strconv.AppendInt(append(b, ' '), t.store.elapsed.now(), 10)
	b = strconv.AppendInt(append(b, ' '), t.late, 10)
	b = strconv.AppendInt(append(b, ' '), t.store.elapsed.protected.Load(), 10)
	return strconv.AppendInt(append(b, ' '), int64(t.store.ahead()), 10), nil
}

// longer allows a call to be later the next time that it is made: it may have been on its way for long, and be again.
func (t *timeOf) longer() { t.late = 4*(t.late+stepLimit) - stepLimit }

// estimate is an argument: what the process takes elapsed time for when it is written.
type estimate struct{ elapsed *elapsedTime }

// MarshalBinary implements [encoding.BinaryMarshaler].
func (e estimate) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, e.elapsed.now(), 10), nil
}

// isClock says that a script has refused since it disagrees on elapsed time.
func isClock(err error) bool { return err != nil && redis.HasErrorPrefix(err, "CLOCK") }

// clockKeys is the record of elapsed time.
func (s *Store) clockKeys() []string { return []string{s.o.Prefix + "{kv}clock"} }

// readTime reads the record.
func (s *Store) readTime(ctx context.Context) (timeRecord, reading, error) {
	var rec timeRecord
	at := reading{before: s.elapsed.now()}
	r, err := s.call(ctx, clockRead, s.clockKeys())
	if err != nil {
		return rec, at, err
	}
	at.after = s.elapsed.now()
	if at.clock = r.int(); r.more() {
		rec = timeRecord{fence: r.int(), correction: r.int(), elapsed: r.int(), clock: r.int(), by: r.text(), protected: r.int()}
	}
	return rec, at, r.done()
}

// noteTime writes the record, if it still has a fence, and says whether it did.
func (s *Store) noteTime(ctx context.Context, had int64, rec timeRecord) (bool, error) {
	r, err := s.call(ctx, clockNote, s.clockKeys(), had, rec.fence, rec.correction, estimate{&s.elapsed}, rec.by, rec.protected)
	if err != nil {
		return false, err
	}
	return r.int() == 1, r.done()
}

// follow has calls go by a record.
func (s *Store) follow(ctx context.Context, rec timeRecord) {
	s.elapsed.record = rec
	s.elapsed.protected.Store(rec.protected)
	if home, err := s.topology.route(ctx, s.clockKeys()[0]); err == nil {
		home.correction.Store(rec.correction)
	}
}

// resumeTime finds out what time it is when the store is opened.
func (s *Store) resumeTime(ctx context.Context) error {
	e := &s.elapsed
	e.mu.Lock()
	defer e.mu.Unlock()
	var first timeRecord
	for begun := e.monotonic(); ; {
		rec, at, err := s.readTime(ctx)
		if err != nil {
			return err
		}
		gap := at.clock - rec.clock
		switch {
		case rec.fence == 0:
			rec, err = s.firstTime(ctx, at.clock)
		case gap >= 0 && gap <= resumeWithin:
			e.set(at, rec.correction)
			s.follow(ctx, rec)
			return nil
		case rec.by != "" && e.monotonic()-begun < resumeWait && (first.fence == 0 || first == rec):
			first = rec // whoever wrote it may be running, and find the clock set
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(resumeLook):
			}
			continue
		default:
			rec = s.afterGap(rec, gap)
			rec.correction = rec.elapsed - at.clock
		}
		if err != nil {
			return err
		}
		had := rec.fence
		rec.fence, rec.by = had+1, s.id
		e.set(at, rec.correction)
		noted, err := s.noteTime(ctx, had, rec)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		if noted || err != nil { // a server that takes no changes gets the record later
			s.follow(ctx, rec)
			return nil
		}
	}
}

// firstTime is a record when there was none: elapsed time is what the clock shows, or what was recorded before there was
// such a record, if that is later. Its fence is 0.
func (s *Store) firstTime(ctx context.Context, clock int64) (timeRecord, error) {
	latest, err := s.latestRecorded(ctx)
	if err != nil || latest == 0 {
		return timeRecord{correction: 0, elapsed: clock}, err
	}
	rec := s.afterGap(timeRecord{elapsed: latest}, clock-latest)
	rec.correction = rec.elapsed - clock
	return rec, nil
}

// afterGap is a record with elapsed time after an interval in which no process ran.
func (s *Store) afterGap(rec timeRecord, gap int64) timeRecord {
	rec.elapsed += max(gap, 0)
	g := store.Gap{Counted: time.Duration(max(gap, 0)) * time.Millisecond, Wall: time.Duration(gap) * time.Millisecond}
	if g.Implausible() {
		g.Protected = store.Protection
		rec.protected = rec.elapsed + millis(store.Protection)
		if s.o.Gap != nil {
			s.o.Gap(g)
		}
	}
	return rec
}

// keepTime reads the record now and then until the store is closed, and writes it so that others know that a process runs.
func (s *Store) keepTime() {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		s.lookAtTime()
	}
}

func (s *Store) lookAtTime() {
	ctx, cancel := context.WithTimeout(s.life, 2*readEvery)
	defer cancel()
	s.elapsed.mu.Lock()
	defer s.elapsed.mu.Unlock()
	_ = s.checkRecord(ctx) // it is done again soon, and by calls that find the time wrong
}

// leaveTime notes that this process wrote the record last and has ended, so that the next one need not wait for it.
func (s *Store) leaveTime() {
	if s.o.Now != nil || !s.opened.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(s.life, leaveWithin)
	defer cancel()
	s.elapsed.mu.Lock()
	defer s.elapsed.mu.Unlock()
	rec, _, err := s.readTime(ctx)
	if err == nil && rec.by == s.id {
		rec.by = ""
		_, _ = s.noteTime(ctx, rec.fence, rec) // the next process then waits
	}
}

// checkTime is called when a script has refused, and finds out which clock was set: that of the server, that of the one which
// keeps the record, or none.
func (s *Store) checkTime(ctx context.Context, v *server) error {
	e := &s.elapsed
	since := e.monotonic()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looked > since && v.looked > since {
		return nil // another call did
	}
	e.looked, v.looked = e.monotonic(), e.monotonic()
	if err := s.checkRecord(ctx); err != nil && ctx.Err() != nil {
		return err // else by what this process knows
	}
	if home, err := s.topology.route(ctx, s.clockKeys()[0]); err == nil && home == v {
		return nil
	}
	at := reading{before: e.now()}
	t, err := v.client.Time(ctx).Result()
	if err != nil {
		return err
	}
	at.clock, at.after = t.UnixMilli(), e.now()
	v.correct(at)
	return nil
}

// correct corrects the clock of a server other than the one that keeps the record.
func (v *server) correct(at reading) {
	have := v.correction.Load()
	off := at.off(have)
	if off == 0 {
		return
	}
	if far(off) {
		if v.timed.Load() {
			v.store.clockSet(v, off)
		}
		v.correction.Store(at.correction())
	} else {
		v.correction.Store(have - off)
	}
	v.timed.Store(true)
}

// lookAtClock does so with what the server has said of itself.
func (v *server) lookAtClock(ctx context.Context, at reading, facts map[string]string) {
	us, err := strconv.ParseInt(facts["server_time_usec"], 10, 64)
	if err != nil || !v.store.elapsed.known.Load() {
		return
	}
	if home, err := v.store.topology.route(ctx, v.store.clockKeys()[0]); err != nil || home == v {
		return
	}
	at.clock = us / 1000
	v.correct(at)
}

// checkRecord compares the record with what this process takes elapsed time for. If the server's clock was set the record is
// replaced, unless another process has done so. It is called with mu held.
func (s *Store) checkRecord(ctx context.Context) error {
	e := &s.elapsed
	for range timeTries {
		rec, at, err := s.readTime(ctx)
		if err != nil {
			return err
		}
		off, had := at.off(rec.correction), rec.fence
		age := at.clock - rec.clock
		switch {
		case had == 0: // the server was emptied
			rec = e.record
			rec.correction = at.correction()
		case !far(off) || rec.by != s.id && rec.by != "" && age >= 0 && age <= others && !s.advanced(off):
			s.agree(ctx, rec, off)
			if age >= 0 && age < noteAfter {
				return nil
			}
			rec.by = s.id
			_, err := s.noteTime(ctx, had, rec)
			return err
		default:
			rec.correction = at.correction()
		}
		rec.fence, rec.by = max(had, e.record.fence)+1, s.id
		noted, err := s.noteTime(ctx, had, rec)
		if err != nil {
			if home, err := s.topology.route(ctx, s.clockKeys()[0]); err == nil {
				home.correction.Store(rec.correction) // for calls that only look
			}
			return err
		}
		if noted {
			s.follow(ctx, rec)
			if had > 0 && !s.advanced(off) {
				s.clockSet(nil, off)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: the clocks of Redis and of this machine do not agree", store.ErrUnavailable)
}

// advanced says that a test may have moved the time of this process forward, and not the clock of the server back.
func (s *Store) advanced(off int64) bool { return s.o.Advances && off < 0 }

// agree has the process go by a record that others go by, too, and that it misses by so much.
func (s *Store) agree(ctx context.Context, rec timeRecord, off int64) {
	e := &s.elapsed
	if far(off) && !s.o.Advances {
		s.o.Warning(fmt.Sprintf("The clock that this machine measures time with has missed %v, by what other nodes measure. It is corrected.",
			time.Duration(off)*time.Millisecond))
	}
	if moved := e.record.correction - rec.correction; rec.fence != e.record.fence && far(moved) && !s.advanced(moved) {
		s.clockSet(nil, moved)
	}
	e.base.Add(off)
	s.follow(ctx, rec)
}

// ClockSet says that the clock of a server was set, or that a server with another clock has taken its place. Elapsed time does not
// notice it.
type ClockSet struct {
	// Server is the address of the server, or what sentinels call it; empty if it cannot be found.
	Server string
	// By is how far it was set: forward, or back if it is negative. It is precise to a second.
	By time.Duration
	// At is what the wall clock showed then.
	At time.Time
}

// clockSet reports that the clock of a server was set forward by so much: v, or if it is nil the one that keeps the record.
func (s *Store) clockSet(v *server, by int64) {
	if s.o.ClockSet == nil {
		return
	}
	c := ClockSet{By: time.Duration(by) * time.Millisecond, At: s.wall().UTC()}
	if home, err := s.topology.route(s.life, s.clockKeys()[0]); v == nil && err == nil {
		v = home
	}
	if v != nil {
		c.Server = v.name
	}
	s.o.ClockSet(c)
}

// latestRecorded is the latest time that any queue or log has recorded, in milliseconds; 0 if none has.
func (s *Store) latestRecorded(ctx context.Context) (int64, error) {
	latest := int64(0)
	for _, kind := range []byte{'q', 'l'} {
		ids, err := s.enrolled(ctx, kind, 0, math.MaxInt, "c")
		if err != nil {
			return 0, err
		}
		for len(ids) > 0 {
			n := min(len(ids), pageSize)
			err := s.do(ctx, func(c redis.Cmdable) error {
				cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
					for _, id := range ids[:n] {
						p.HGet(ctx, s.keys(kind, id, "c")[0], "now")
					}
					return nil
				})
				for _, cmd := range cmds {
					at, _ := cmd.(*redis.StringCmd).Int64()
					latest = max(latest, at)
				}
				if errors.Is(err, redis.Nil) {
					return nil
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			ids = ids[n:]
		}
	}
	return latest, nil
}
