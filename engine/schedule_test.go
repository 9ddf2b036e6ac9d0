package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

var scheduled = engine.Ref{Tenant: "acme", Name: "work"}

// flaky is a store whose calls can be made to fail, by what the test puts into the hooks. It can be opened by several
// engines.
type flaky struct {
	store.Store
	put, list atomic.Pointer[func(key string) error]
	send      atomic.Pointer[func() error]
	watched   atomic.Bool
}

func (f *flaky) Watch(notify func(store.QueueID)) {
	if !f.watched.Swap(true) {
		f.Store.Watch(notify)
	}
}

func (f *flaky) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if fail := f.put.Load(); fail != nil {
		if err := (*fail)(key); err != nil {
			return 0, err
		}
	}
	return f.Store.Put(ctx, key, value, prev)
}

func (f *flaky) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	if fail := f.list.Load(); fail != nil {
		if err := (*fail)(prefix); err != nil {
			return nil, err
		}
	}
	return f.Store.List(ctx, prefix, after, limit)
}

func (f *flaky) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	if fail := f.send.Load(); fail != nil {
		if err := (*fail)(); err != nil {
			return store.SendResult{}, err
		}
	}
	return f.Store.Send(ctx, p)
}

// failing makes calls about schedules fail.
func failing(err error) *func(string) error {
	fail := func(key string) error {
		if strings.HasPrefix(key, "schedule/") {
			return err
		}
		return nil
	}
	return &fail
}

// timed is an engine with schedules in a synctest bubble, where a day passes in no time. It starts at midnight.
type timed struct {
	*testing.T
	store  *flaky
	engine *engine.Engine
	// shift is how far the wall clock has been put forward.
	shift atomic.Int64

	mu     sync.Mutex
	failed []string
}

// inBubble runs a test with an engine that has the queue [scheduled].
func inBubble(t *testing.T, test func(*timed)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &timed{T: t}
		b.store = &flaky{Store: memory.New(memory.Options{
			Now:  time.Now,
			Wall: func() time.Time { return time.Now().Add(time.Duration(b.shift.Load())) },
		})}
		b.engine = b.open()
		b.queue(scheduled)
		test(b)
	})
}

func (b *timed) open() *engine.Engine {
	b.Helper()
	e, err := engine.Open(b.Context(), b.store, engine.Options{
		Now:  time.Now,
		Rand: rand.Reader,
		Events: engine.Events{ScheduleFailed: func(q engine.Ref, name string, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = append(b.failed, fmt.Sprintf("%s %s: %v", q.Name, name, err))
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { b.close(e) })
	synctest.Wait()
	return e
}

func (b *timed) close(e *engine.Engine) {
	b.Helper()
	if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
}

// restart lets the engine be away for a while.
func (b *timed) restart(away time.Duration) {
	b.Helper()
	b.close(b.engine)
	time.Sleep(away)
	b.engine = b.open()
}

func (b *timed) queue(ref engine.Ref, changes ...func(*engine.QueueConfig)) {
	b.Helper()
	config := engine.DefaultConfig()
	for _, change := range changes {
		change(&config)
	}
	if _, _, err := b.engine.PutQueue(b.Context(), ref, config, engine.Condition{}); err != nil {
		b.Fatal(err)
	}
}

func (b *timed) schedule(ref engine.Ref, name string, spec engine.ScheduleSpec) engine.Schedule {
	b.Helper()
	if spec.Message.Body == nil {
		spec.Message.Body = []byte(name)
	}
	s, _, err := b.engine.PutSchedule(b.Context(), ref, name, spec)
	if err != nil {
		b.Fatalf("put schedule %s: %v", name, err)
	}
	return s
}

// pass lets time go by.
func (b *timed) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// take removes all ready messages of a queue and gives them as "body fire time", the latter as a time of the first day.
func (b *timed) take(ref engine.Ref) []string {
	b.Helper()
	got, err := b.engine.Receive(b.Context(), ref, engine.ReceiveRequest{Max: engine.MaxBatch, Wait: new(time.Duration)})
	if err != nil {
		b.Fatal(err)
	}
	var all, receipts []string
	for _, m := range got.Messages {
		of := make(map[string]string)
		for _, a := range m.Attributes {
			of[a.Name] = string(a.Value)
		}
		at, err := time.Parse(time.RFC3339, of[engine.FireTimeAttribute])
		if err != nil || of[engine.ScheduleAttribute] == "" {
			b.Fatalf("message %q has the attributes %v", m.Body, of)
		}
		all = append(all, string(m.Body)+" "+at.Format("15:04:05"))
		receipts = append(receipts, m.Receipt)
	}
	if len(receipts) > 0 {
		if _, err := b.engine.Ack(b.Context(), ref, receipts, ""); err != nil {
			b.Fatal(err)
		}
	}
	return all
}

func (b *timed) wantTaken(ref engine.Ref, want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.take(ref)); diff != "" {
		b.Errorf("messages of %s at %s (-want +got):\n%s", ref, time.Now().UTC().Format("15:04:05"), diff)
	}
}

// wantFailures checks what was reported since the last time, one text for each report.
func (b *timed) wantFailures(want ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failed) != len(want) {
		b.Errorf("%d failures reported, want %d: %q", len(b.failed), len(want), b.failed)
	}
	for i := range min(len(want), len(b.failed)) {
		if !strings.Contains(b.failed[i], want[i]) {
			b.Errorf("failure %d: got %q, want it to contain %q", i, b.failed[i], want[i])
		}
	}
	b.failed = nil
}

func TestScheduleFiresAtItsTimes(t *testing.T) {
	inBubble(t, func(b *timed) {
		s := b.schedule(scheduled, "tick", engine.ScheduleSpec{Cron: "0 */6 * * *", Zone: "Europe/Berlin"})
		begun := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		want := []time.Time{begun.Add(5 * time.Hour), begun.Add(11 * time.Hour), begun.Add(17 * time.Hour)}
		if diff := cmp.Diff(want, s.Upcoming); diff != "" {
			b.Errorf("upcoming (-want +got):\n%s", diff)
		}
		b.pass(5*time.Hour - time.Millisecond)
		b.wantTaken(scheduled)
		b.pass(time.Millisecond)
		b.wantTaken(scheduled, "tick 05:00:00")
		b.pass(12 * time.Hour)
		b.wantTaken(scheduled, "tick 11:00:00", "tick 17:00:00")

		s, err := b.engine.Schedule(b.Context(), scheduled, "tick")
		if err != nil {
			b.Fatal(err)
		}
		if !s.LastFire.Equal(begun.Add(17*time.Hour)) || !s.Upcoming[0].Equal(begun.Add(23*time.Hour)) {
			b.Errorf("after 17:00 it shows last fire %v and next %v", s.LastFire, s.Upcoming[0])
		}
		b.wantFailures()
	})
}

func TestScheduleSendsAllItsMessageSays(t *testing.T) {
	inBubble(t, func(b *timed) {
		ref := engine.Ref{Tenant: "acme", Name: "work.fifo"}
		b.queue(ref, func(c *engine.QueueConfig) { c.FIFO = true })
		m := engine.Message{
			Body: []byte{0, 0xff}, ContentType: "image/jpeg", Group: "g", TTL: new(time.Hour), Delay: new(time.Second),
			Attributes: []engine.Attribute{{Name: "a", Type: "Binary", Value: []byte{1}}, {Name: "b", Value: []byte("c")}},
		}
		b.schedule(ref, "s", engine.ScheduleSpec{Cron: "@hourly", Message: m})
		b.restart(0)
		b.pass(time.Hour + time.Second)
		got, err := b.engine.Receive(b.Context(), ref, engine.ReceiveRequest{})
		if err != nil || len(got.Messages) != 1 {
			b.Fatalf("received %d messages, %v", len(got.Messages), err)
		}
		d := got.Messages[0]
		want := append(m.Attributes,
			engine.Attribute{Name: "dabba-schedule", Value: []byte("s")},
			engine.Attribute{Name: "dabba-fire-time", Value: []byte("2000-01-01T01:00:00.000Z")})
		if diff := cmp.Diff(want, d.Attributes); diff != "" {
			b.Errorf("attributes (-want +got):\n%s", diff)
		}
		if string(d.Body) != string(m.Body) || d.ContentType != m.ContentType || d.Group != "g" || d.ExpiresAt.IsZero() {
			b.Errorf("delivery: %+v", d)
		}
	})
}

// TestCrashBetweenSendAndRecordSendsOnce has the message sent and the record not written, and the server gone then.
func TestCrashBetweenSendAndRecordSendsOnce(t *testing.T) {
	for _, missed := range []engine.MissedPolicy{engine.MissedSkip, engine.MissedOnce} {
		for _, away := range []time.Duration{0, 5 * time.Minute, 23 * time.Hour} {
			t.Run(fmt.Sprintf("%s, away for %v", missed, away), func(t *testing.T) {
				inBubble(t, func(b *timed) {
					b.schedule(scheduled, "daily", engine.ScheduleSpec{Cron: "0 1 * * *", Missed: missed})
					b.store.put.Store(failing(store.ErrUnknown))
					b.pass(time.Hour)
					b.store.put.Store(nil)
					b.restart(away)
					b.pass(time.Hour)
					want := []string{"daily 01:00:00"}
					if away > 22*time.Hour {
						want = append(want, "daily 01:00:00") // of the next day, which is on time
					}
					b.wantTaken(scheduled, want...)
				})
			})
		}
	}
}

func TestRecordThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "hourly", engine.ScheduleSpec{Cron: "@hourly"})
		b.store.put.Store(failing(store.ErrFull))
		b.pass(time.Hour + 10*time.Minute)
		b.store.put.Store(nil)
		b.pass(time.Hour)
		b.wantTaken(scheduled, "hourly 01:00:00", "hourly 02:00:00")
		if len(b.failed) == 0 {
			b.Error("nobody was told")
		}
	})
}

func TestMissedFireTimes(t *testing.T) {
	for _, tc := range []struct {
		name, cron string
		missed     engine.MissedPolicy
		away, then time.Duration
		want       []string
		reports    []string
	}{
		{"skipped", "@hourly", engine.MissedSkip, 5*time.Hour + 30*time.Minute, 30 * time.Minute, []string{"s 06:00:00"}, []string{"work s: fire times from 2000-01-01T01:00:00Z to 2000-01-01T05:00:00Z missed"}},
		{"skipped by default", "@hourly", "", 5*time.Hour + 30*time.Minute, 30 * time.Minute, []string{"s 06:00:00"}, []string{"missed"}},
		{"once", "@hourly", engine.MissedOnce, 5*time.Hour + 30*time.Minute, 30 * time.Minute, []string{"s 05:00:00", "s 06:00:00"}, nil},
		{"one of them, once", "@hourly", engine.MissedOnce, time.Hour, time.Minute, []string{"s 01:00:00"}, nil},
		{"none", "@hourly", engine.MissedOnce, 59 * time.Minute, time.Minute, []string{"s 01:00:00"}, nil},
		{"by seconds, skipped", "*/20 * * * * *", engine.MissedSkip, 59*time.Minute + 10*time.Second, 50 * time.Second, []string{
			"s 00:58:20", "s 00:58:40", "s 00:59:00", "s 00:59:20", "s 00:59:40", "s 01:00:00",
		}, []string{"from 2000-01-01T00:00:20Z to 2000-01-01T00:58:00Z"}},
		{"an interval keeps its beat, once", "@every 25m", engine.MissedOnce, 55 * time.Minute, 20 * time.Minute, []string{"s 00:50:00", "s 01:15:00"}, nil},
		{"noticed within a minute", "@hourly", engine.MissedSkip, time.Hour + 30*time.Second, time.Minute, []string{"s 01:00:00"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(b *timed) {
				b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: tc.cron, Missed: tc.missed})
				b.restart(tc.away)
				b.pass(tc.then)
				b.wantTaken(scheduled, tc.want...)
				b.wantFailures(tc.reports...)
			})
		})
	}
}

// TestEachFireTimeIsSentOnceByTwoEngines has two of them on one store, with wall clocks that do not quite agree, each
// holding the other up now and then.
func TestEachFireTimeIsSentOnceByTwoEngines(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "* * * * * *"})
		var calls atomic.Int64
		slow := func() error {
			if calls.Add(1)%3 == 0 {
				time.Sleep(time.Duration(calls.Load()%7) * 100 * time.Millisecond)
			}
			return nil
		}
		b.store.send.Store(&slow)
		second := b.open()
		b.shift.Store(int64(300 * time.Millisecond))
		third := b.open()
		b.pass(2 * time.Minute)
		b.close(third)
		b.close(second)
		b.pass(3 * time.Second)

		seen := make(map[string]int)
		for _, m := range b.take(scheduled) {
			seen[m]++
		}
		for at := time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC); at.Before(time.Date(2000, 1, 1, 0, 2, 2, 0, time.UTC)); at = at.Add(time.Second) {
			if n := seen["s "+at.Format("15:04:05")]; n != 1 {
				b.Errorf("the fire time %s was sent %d times", at.Format("15:04:05"), n)
			}
		}
		b.wantFailures()
	})
}

func TestAnEngineTakesOverWhatAnotherMade(t *testing.T) {
	inBubble(t, func(b *timed) {
		second := b.open()
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		b.close(b.engine)
		b.engine = second
		b.pass(2 * time.Hour)
		b.wantTaken(scheduled, "s 01:00:00", "s 02:00:00")
	})
}

// TestManyAtOnceAreAllSent has so many due at one time that the last is sent minutes late.
func TestManyAtOnceAreAllSent(t *testing.T) {
	inBubble(t, func(b *timed) {
		for i := range 100 {
			b.schedule(scheduled, fmt.Sprint("s", i), engine.ScheduleSpec{Cron: "@hourly"})
		}
		slow := func() error {
			time.Sleep(2 * time.Minute)
			return nil
		}
		b.store.send.Store(&slow)
		b.pass(time.Hour + 10*time.Minute)
		if got := b.take(scheduled); len(got) != 100 {
			b.Errorf("%d of 100 were sent", len(got))
		}
		b.wantFailures()
	})
}

// TestManyAtOnceDoNotFallBehind has more due every second than could be sent in it one after the other.
func TestManyAtOnceDoNotFallBehind(t *testing.T) {
	inBubble(t, func(b *timed) {
		slow := func() error {
			time.Sleep(20 * time.Millisecond)
			return nil
		}
		b.store.send.Store(&slow)
		for i := range 90 {
			b.schedule(scheduled, fmt.Sprint("s", i), engine.ScheduleSpec{Cron: "* * * * * *"})
		}
		b.pass(10*time.Second + 100*time.Millisecond)
		sent := make(map[string]int)
		for _, m := range b.take(scheduled) {
			sent[m]++
		}
		if len(sent) != 900 {
			b.Errorf("%d of 900 were sent in time", len(sent))
		}
		for m, n := range sent {
			if n != 1 {
				b.Errorf("%s was sent %d times", m, n)
			}
		}
		b.wantFailures()
	})
}

func TestUnreadableScheduleHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "good", engine.ScheduleSpec{Cron: "* * * * *"})
		if _, err := b.store.Put(b.Context(), "schedule/acme/work/bad", []byte("{}"), 0); err != nil {
			b.Fatal(err)
		}
		b.restart(0)
		b.pass(2 * time.Minute)
		b.wantTaken(scheduled, "good 00:01:00", "good 00:02:00")
		b.wantFailures("work bad: ", "work bad: ", "work bad: ") // at the start and every minute
	})
}

func TestFailedSendIsTriedUntilTheNextFireTime(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.queue(scheduled, func(c *engine.QueueConfig) { c.Limits.MaxMessages = 1 })
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		b.pass(2*time.Hour + 10*time.Minute)
		b.wantTaken(scheduled, "s 01:00:00")
		b.pass(time.Minute)
		b.wantTaken(scheduled, "s 02:00:00") // tried again, long after it was due
		b.wantFailures()

		b.pass(3 * time.Hour) // 03:00 fills the queue
		b.wantFailures("work s: fire time 2000-01-01T04:00:00Z missed: queue_full")
		b.wantTaken(scheduled, "s 03:00:00")
		b.pass(time.Minute)
		b.wantTaken(scheduled, "s 05:00:00")
	})
}

func TestFullDiskDelaysASchedule(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		full := func() error { return store.ErrFull }
		b.store.send.Store(&full)
		b.pass(time.Hour + 20*time.Minute)
		b.store.send.Store(nil)
		b.pass(time.Minute)
		b.wantTaken(scheduled, "s 01:00:00")
		b.wantFailures()
	})
}

func TestPausedQueueDelaysASchedule(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		if _, err := b.engine.PauseQueue(b.Context(), scheduled, true, false, time.Time{}); err != nil {
			b.Fatal(err)
		}
		b.pass(time.Hour + 20*time.Minute)
		b.wantTaken(scheduled)
		if _, err := b.engine.ResumeQueue(b.Context(), scheduled, true, true); err != nil {
			b.Fatal(err)
		}
		b.pass(time.Minute)
		b.wantTaken(scheduled, "s 01:00:00")
	})
}

func TestBlockingQueueHoldsUpNoOtherSchedule(t *testing.T) {
	inBubble(t, func(b *timed) {
		other := engine.Ref{Tenant: "acme", Name: "other"}
		b.queue(other)
		b.queue(scheduled, func(c *engine.QueueConfig) {
			c.Limits.MaxMessages, c.Limits.Overflow, c.Wait = 1, engine.OverflowBlock, 50*time.Minute
		})
		b.schedule(scheduled, "a", engine.ScheduleSpec{Cron: "@hourly"})
		b.pass(time.Hour)
		b.schedule(other, "b", engine.ScheduleSpec{Cron: "1 0 * * * *"})
		b.pass(time.Hour + time.Second)
		b.wantTaken(other, "b 01:00:01", "b 02:00:01")
		b.wantTaken(scheduled, "a 01:00:00")
		b.pass(time.Minute)
		b.wantTaken(scheduled, "a 02:00:00")
		b.wantFailures()
	})
}

func TestWallClockIsPutForward(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "skip", engine.ScheduleSpec{Cron: "@hourly"})
		b.schedule(scheduled, "once", engine.ScheduleSpec{Cron: "@hourly", Missed: engine.MissedOnce})
		b.shift.Store(int64(3*time.Hour + 30*time.Minute))
		b.pass(time.Minute)
		b.wantTaken(scheduled, "once 03:00:00")
		b.pass(29 * time.Minute)
		got := b.take(scheduled)
		if len(got) != 2 {
			b.Errorf("at 04:00 by the wall clock: got %q", got)
		}
		b.wantFailures("work skip: fire times from 2000-01-01T01:00:00Z to 2000-01-01T03:00:00Z missed")
	})
}

// TestWallClockIsPutForwardAndTold wants no minute to pass until that is noticed.
func TestWallClockIsPutForwardAndTold(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		b.schedule(scheduled, "once", engine.ScheduleSpec{Cron: "@hourly", Missed: engine.MissedOnce})
		b.shift.Store(int64(time.Hour))
		b.engine.ClockChanged()
		synctest.Wait()
		if got := b.take(scheduled); len(got) != 2 { // in either order
			b.Errorf("at 01:00 by the wall clock: got %q", got)
		}
		b.shift.Store(int64(5*time.Hour + 30*time.Minute))
		b.engine.ClockChanged()
		synctest.Wait()
		b.wantTaken(scheduled, "once 05:00:00")
		b.wantFailures("work s: fire times from 2000-01-01T02:00:00Z to 2000-01-01T05:00:00Z missed")
	})
}

func TestWallClockIsPutBack(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		b.schedule(scheduled, "daily", engine.ScheduleSpec{Cron: "0 2 * * *", Message: engine.Message{Body: []byte("daily")}})
		b.schedule(scheduled, "often", engine.ScheduleSpec{Cron: "@every 50m", Message: engine.Message{Body: []byte("often")}})
		b.pass(3*time.Hour + time.Minute)
		if got := b.take(scheduled); len(got) != 3+1+3 {
			b.Errorf("in three hours: got %q", got)
		}
		b.shift.Store(int64(-2 * time.Hour)) // it is 01:01 again; the interval has 19 minutes to go
		b.pass(19*time.Minute + time.Second)
		b.wantTaken(scheduled, "often 01:20:00")
		b.pass(40 * time.Minute)
		b.wantTaken(scheduled, "s 02:00:00") // not daily, which was there today
		b.wantFailures()
	})
}

// TestWallClockWasAhead has the wall clock wrong for a moment, and then right, with a restart or without.
func TestWallClockWasAhead(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, ahead := range []time.Duration{time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
			t.Run(fmt.Sprintf("by %v, restart %v", ahead, restart), func(t *testing.T) {
				inBubble(t, func(b *timed) {
					b.schedule(scheduled, "every", engine.ScheduleSpec{Cron: "@every 2s"})
					b.schedule(scheduled, "cron", engine.ScheduleSpec{Cron: "*/2 * * * * *", Message: engine.Message{Body: []byte("cron")}})
					b.pass(3 * time.Second)
					b.shift.Store(int64(ahead))
					b.pass(4 * time.Second)
					if got := b.take(scheduled); len(got) < 5 {
						b.Errorf("while the clock was ahead: got %q", got)
					}
					b.shift.Store(0)
					if restart {
						b.restart(0)
					}
					b.pass(3100 * time.Millisecond)
					if got := b.take(scheduled); len(got) < 2 {
						b.Errorf("three seconds after the clock was right again: got %q", got)
					}
					for _, name := range []string{"every", "cron"} {
						s, err := b.engine.Schedule(b.Context(), scheduled, name)
						if err != nil || time.Until(s.Upcoming[0]) > 2*time.Second {
							b.Errorf("next fire time of %s: %v in %v, %v", name, s.Upcoming, time.Until(s.Upcoming[0]), err)
						}
					}
					b.pass(20 * time.Second)
					if got := b.take(scheduled); len(got) != 20 {
						b.Errorf("in twenty seconds: got %d: %q", len(got), got)
					}
				})
			})
		}
	}
}

// TestWallClockIsSetALittle wants no fire time twice when the clock is corrected by a second.
func TestWallClockIsSetALittle(t *testing.T) {
	for _, by := range []time.Duration{-time.Second, time.Second, -3 * time.Second} {
		t.Run(by.String(), func(t *testing.T) {
			inBubble(t, func(b *timed) {
				b.schedule(scheduled, "every", engine.ScheduleSpec{Cron: "@every 1s"})
				b.schedule(scheduled, "cron", engine.ScheduleSpec{Cron: "* * * * * *", Message: engine.Message{Body: []byte("cron")}})
				b.pass(5500 * time.Millisecond)
				b.shift.Store(int64(by))
				b.pass(10 * time.Second)
				seen := make(map[string]int)
				for _, m := range b.take(scheduled) {
					if seen[m]++; seen[m] > 1 {
						b.Errorf("by %v: %s was sent %d times", by, m, seen[m])
					}
				}
				if n := 2 * (15 + int(by.Seconds())); len(seen) < n-2 || len(seen) > n+2 {
					b.Errorf("by %v: got %d messages, want about %d", by, len(seen), n)
				}
			})
		})
	}
}

// skewed is a store as a node sees it whose wall clock is wrong.
type skewed struct {
	*flaky
	by time.Duration
}

func (s skewed) Clock() store.Clock {
	c := s.flaky.Clock()
	c.Wall = c.Wall.Add(s.by)
	return c
}

// TestNodesWithOtherClocksSendOnce has two nodes whose wall clocks are an hour apart: one is always first, and neither undoes what
// the other did. When that one is gone the other one fires by its own clock.
func TestNodesWithOtherClocksSendOnce(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.close(b.engine)
		open := func(node string, by time.Duration) *engine.Engine {
			e, err := engine.Open(b.Context(), skewed{b.store, by}, engine.Options{Now: time.Now, Rand: rand.Reader, Node: node})
			if err != nil {
				b.Fatal(err)
			}
			return e
		}
		ahead := open("ahead", time.Hour)
		b.engine = open("right", 0)
		defer b.close(b.engine)
		b.schedule(scheduled, "every", engine.ScheduleSpec{Cron: "@every 2s"})
		b.schedule(scheduled, "cron", engine.ScheduleSpec{Cron: "*/2 * * * * *", Message: engine.Message{Body: []byte("cron")}})
		b.pass(time.Minute)
		b.take(scheduled)
		b.pass(time.Minute)
		seen := make(map[string]int)
		for _, m := range b.take(scheduled) {
			if seen[m]++; seen[m] > 1 {
				b.Errorf("%s was sent %d times", m, seen[m])
			}
		}
		if len(seen) < 58 || len(seen) > 62 {
			b.Errorf("in a minute: got %d, want about 60", len(seen))
		}
		b.close(ahead)
		b.pass(20 * time.Second)
		b.take(scheduled)
		b.pass(20 * time.Second)
		if got := b.take(scheduled); len(got) < 19 || len(got) > 21 {
			b.Errorf("in twenty seconds after the other node was gone: got %d, want about 20: %q", len(got), got)
		}
	})
}

func TestDeletedScheduleIsSilent(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
		if err := b.engine.DeleteSchedule(b.Context(), scheduled, "s"); err != nil {
			b.Fatal(err)
		}
		err := b.engine.DeleteSchedule(b.Context(), scheduled, "s")
		if err == nil || engine.ErrorOf(err).Code != engine.CodeNotFound {
			b.Errorf("delete it again: %v", err)
		}
		b.pass(2 * time.Hour)
		b.wantTaken(scheduled)
	})
}

func TestSchedulesGoWithTheirQueue(t *testing.T) {
	inBubble(t, func(b *timed) {
		for i := range 100 {
			b.schedule(scheduled, fmt.Sprint("s", i), engine.ScheduleSpec{Cron: "@hourly"})
		}
		if err := b.engine.DeleteQueue(b.Context(), scheduled, engine.Condition{}, false); err != nil {
			b.Fatal(err)
		}
		b.wantPairs(0)
		b.queue(scheduled)
		b.pass(2 * time.Hour)
		b.wantTaken(scheduled)
	})
}

// TestSchedulesOfADeletedQueueAreFound has the server stop halfway through the deletion of a queue.
func TestSchedulesOfADeletedQueueAreFound(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("queue made again: %v", again), func(t *testing.T) {
			inBubble(t, func(b *timed) {
				b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
				b.store.list.Store(failing(store.ErrUnknown))
				err := b.engine.DeleteQueue(b.Context(), scheduled, engine.Condition{}, false)
				if err == nil || engine.ErrorOf(err).Outcome != engine.Applied {
					b.Fatalf("delete the queue: %v", err)
				}
				b.store.list.Store(nil)
				b.wantPairs(1)
				if again {
					b.queue(scheduled)
					if _, err := b.engine.Schedule(b.Context(), scheduled, "s"); err == nil {
						b.Error("the schedule of the deleted queue is shown")
					}
					if all, _, err := b.engine.Schedules(b.Context(), scheduled, "", 0); err != nil || len(all) > 0 {
						b.Errorf("schedules: %v, %v", all, err)
					}
				}
				b.restart(time.Minute)
				b.pass(time.Second)
				b.wantPairs(0)
				b.wantFailures()
			})
		})
	}
}

// wantPairs counts the records of schedules.
func (b *timed) wantPairs(want int) {
	b.Helper()
	pairs, err := b.store.List(b.Context(), "schedule/", "", 1000)
	if err != nil || len(pairs) != want {
		b.Errorf("the store has %d schedules, %v; want %d", len(pairs), err, want)
	}
}

func TestPutScheduleAgain(t *testing.T) {
	inBubble(t, func(b *timed) {
		spec := engine.ScheduleSpec{Cron: "@every 50m", Message: engine.Message{Body: []byte("one")}}
		b.schedule(scheduled, "s", spec)
		b.pass(40 * time.Minute)
		spec.Message.Body = []byte("two")
		if _, created, err := b.engine.PutSchedule(b.Context(), scheduled, "s", spec); created || err != nil {
			b.Errorf("put it again: created %v, %v", created, err)
		}
		b.pass(10 * time.Minute)
		b.wantTaken(scheduled, "two 00:50:00") // whose fire times stay
		spec.Cron = "@every 20m"
		b.schedule(scheduled, "s", spec)
		b.pass(40 * time.Minute)
		b.wantTaken(scheduled, "two 01:10:00", "two 01:30:00")
	})
}

func TestSameContentIsSentAgain(t *testing.T) {
	inBubble(t, func(b *timed) {
		b.queue(scheduled, func(c *engine.QueueConfig) { c.Dedup.ContentBased = true })
		b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "* * * * *"})
		b.pass(3 * time.Minute)
		b.wantTaken(scheduled, "s 00:01:00", "s 00:02:00", "s 00:03:00")
	})
}

func TestListSchedules(t *testing.T) {
	inBubble(t, func(b *timed) {
		beside := engine.Ref{Tenant: "acme", Name: "work2"}
		b.queue(beside)
		b.schedule(beside, "foreign", engine.ScheduleSpec{Cron: "@daily"})
		var want []string
		for i := range 75 {
			name := fmt.Sprintf("s%02d", i)
			want = append(want, name)
			b.schedule(scheduled, name, engine.ScheduleSpec{Cron: "@daily"})
		}
		for _, limit := range []int{1, 10, 32, 75, 1000} {
			var got []string
			for after, more := "", true; more; {
				var page []engine.Schedule
				var err error
				page, more, err = b.engine.Schedules(b.Context(), scheduled, after, limit)
				if err != nil || len(page) > limit {
					b.Fatalf("%d schedules after %q, %v", len(page), after, err)
				}
				for _, s := range page {
					got = append(got, s.Name)
					after = s.Name
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				b.Errorf("by %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

func TestBadSchedulesAreRefused(t *testing.T) {
	inBubble(t, func(b *timed) {
		ok := func() engine.ScheduleSpec {
			return engine.ScheduleSpec{Cron: "@daily", Message: engine.Message{Body: []byte("x")}}
		}
		for _, tc := range []struct {
			what   string
			ref    engine.Ref
			name   string
			change func(*engine.ScheduleSpec)
			code   engine.Code
			field  string
		}{
			{"a queue that is not there", engine.Ref{Tenant: "acme", Name: "none"}, "s", nil, engine.CodeNotFound, ""},
			{"a name with a slash", scheduled, "a/b", nil, engine.CodeInvalidRequest, "name"},
			{"no name", scheduled, "", nil, engine.CodeInvalidRequest, "name"},
			{"a long name", scheduled, strings.Repeat("x", 81), nil, engine.CodeInvalidRequest, "name"},
			{"no cron", scheduled, "s", func(s *engine.ScheduleSpec) { s.Cron = "" }, engine.CodeInvalidRequest, "cron"},
			{"a day that never comes", scheduled, "s", func(s *engine.ScheduleSpec) { s.Cron = "0 0 30 2 *" }, engine.CodeInvalidRequest, "cron"},
			{"a zone that is not there", scheduled, "s", func(s *engine.ScheduleSpec) { s.Zone = "Berlin" }, engine.CodeInvalidRequest, "tz"},
			{"a policy that is not there", scheduled, "s", func(s *engine.ScheduleSpec) { s.Missed = "all" }, engine.CodeInvalidRequest, "missed"},
			{"a time of delivery", scheduled, "s", func(s *engine.ScheduleSpec) { s.Message.DeliverAt = new(time.Now()) }, engine.CodeInvalidRequest, "message.deliver_at"},
			{"a priority without levels", scheduled, "s", func(s *engine.ScheduleSpec) { s.Message.Priority = 5 }, engine.CodeInvalidRequest, "message.priority"},
			{"its own attribute", scheduled, "s", func(s *engine.ScheduleSpec) {
				s.Message.Attributes = []engine.Attribute{{Name: engine.FireTimeAttribute}}
			}, engine.CodeInvalidRequest, "message.attributes.dabba-fire-time"},
			{"no room for its own attributes", scheduled, "s", func(s *engine.ScheduleSpec) {
				for i := range engine.MaxAttributes - 1 {
					s.Message.Attributes = append(s.Message.Attributes, engine.Attribute{Name: fmt.Sprint(i)})
				}
			}, engine.CodeInvalidRequest, "message.attributes"},
			{"a large message", scheduled, "s", func(s *engine.ScheduleSpec) {
				s.Message.Body = make([]byte, engine.MaxScheduleMessageBytes+1)
			}, engine.CodeTooLarge, "message.body"},
		} {
			spec := ok()
			if tc.change != nil {
				tc.change(&spec)
			}
			_, _, err := b.engine.PutSchedule(b.Context(), tc.ref, tc.name, spec)
			if got, is := errors.AsType[*engine.Error](err); !is || got.Code != tc.code || got.Field != tc.field || got.Outcome != engine.NotApplied {
				b.Errorf("%s: got %v, want %s about %q", tc.what, err, tc.code, tc.field)
			}
		}
		b.wantPairs(0)
	})
}

// TestChangeWhileItFires changes a schedule while one of its sends is under way.
func TestChangeWhileItFires(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*timed)
		cron   string
		want   []string
	}{
		{"another message", func(b *timed) {
			b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly", Message: engine.Message{Body: []byte("new")}})
		}, "@hourly", []string{"s 01:00:00", "new 02:00:00"}},
		{"another expression", func(b *timed) {
			b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "30 * * * *"})
		}, "30 * * * *", []string{"s 01:00:00", "s 01:30:00"}},
		{"deleted", func(b *timed) {
			if err := b.engine.DeleteSchedule(b.Context(), scheduled, "s"); err != nil {
				b.Error(err)
			}
		}, "", []string{"s 01:00:00"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(b *timed) {
				b.schedule(scheduled, "s", engine.ScheduleSpec{Cron: "@hourly"})
				change := func() error {
					b.store.send.Store(nil)
					tc.change(b)
					return nil
				}
				b.store.send.Store(&change)
				b.pass(2 * time.Hour)
				b.wantTaken(scheduled, tc.want...)
				s, err := b.engine.Schedule(b.Context(), scheduled, "s")
				if tc.cron == "" {
					if err == nil {
						b.Error("the schedule that was deleted is back")
					}
					return
				}
				if err != nil || s.Cron != tc.cron {
					b.Errorf("the schedule fires at %q, %v; want %q", s.Cron, err, tc.cron)
				}
				b.wantFailures()
			})
		})
	}
}

// TestTheWallClockIsNoMatterOfDurations sets it while a cooling-off time runs, which does not notice, and while a
// queue is paused until a time, which follows. When the queue was made is shown by the clock as it is.
func TestTheWallClockIsNoMatterOfDurations(t *testing.T) {
	for _, by := range []time.Duration{-24 * time.Hour, -time.Hour, -time.Second, time.Second, time.Hour, 365 * 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			inBubble(t, func(b *timed) {
				if began, err := b.engine.Cool(b.Context(), scheduled, "purge", time.Minute); !began || err != nil {
					b.Fatal(began, err)
				}
				until := time.Now().Add(30 * time.Minute)
				if _, err := b.engine.PauseQueue(b.Context(), scheduled, true, true, until); err != nil {
					b.Fatal(err)
				}
				made, err := b.engine.Queue(b.Context(), scheduled)
				if err != nil {
					b.Fatal(err)
				}
				b.shift.Store(int64(by))
				b.pass(59 * time.Second)
				if cooling, err := b.engine.Cooling(b.Context(), scheduled, "purge"); !cooling || err != nil {
					b.Errorf("after 59 s: cooling %v, %v", cooling, err)
				}
				b.pass(time.Second)
				if cooling, err := b.engine.Cooling(b.Context(), scheduled, "purge"); cooling || err != nil {
					b.Errorf("after a minute: cooling %v, %v", cooling, err)
				}
				q, err := b.engine.Queue(b.Context(), scheduled)
				if err != nil || q.Paused.Produce != time.Now().Add(by).Before(until) {
					b.Errorf("paused until %v, at %v: %+v, %v", until, time.Now().Add(by), q.Paused, err)
				}
				if want := made.CreatedAt.Add(by); !q.CreatedAt.Equal(want) {
					b.Errorf("created at %v by the clock as it is now, want %v", q.CreatedAt, want)
				}
			})
		})
	}
}
