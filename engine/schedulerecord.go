package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Schedules are kept in the key-value part of the store, one pair for each: schedule/<tenant>/<queue>/<name>, the tenant
// path-escaped. A pair names the generation of its queue; one of another generation is left over from a queue that was
// deleted, and removed by whoever meets it.
const (
	schedulePrefix        = "schedule/"
	scheduleRecordVersion = 1
)

// scheduleRecord is a schedule as it is stored.
type scheduleRecord struct {
	queue Ref
	name  string
	// generation of the queue.
	generation store.QueueID
	// id is random and stays the same as long as the schedule exists. With a fire time it names one send.
	id   string
	spec ScheduleSpec
	// next is the first fire time that is not dealt with; last that of the last message sent. next goes back only with the wall
	// clock, and then turn rises: a fire time that comes again after that is another one.
	next, last time.Time
	turn       uint64
	// due is next in queue time, for a schedule that fires in intervals; 0 in records of earlier versions.
	due      store.Instant
	revision store.Revision
}

func schedulesOf(ref Ref) string {
	return schedulePrefix + url.PathEscape(ref.Tenant) + "/" + ref.Name + "/"
}

func scheduleKey(ref Ref, name string) string { return schedulesOf(ref) + name }

func scheduleOfKey(key string) (Ref, string, error) {
	parts := strings.Split(strings.TrimPrefix(key, schedulePrefix), "/")
	if len(parts) == 3 {
		if tenant, err := url.PathUnescape(parts[0]); err == nil {
			return Ref{tenant, parts[1]}, parts[2], nil
		}
	}
	return Ref{}, "", fmt.Errorf("%w: schedule key %q", store.ErrCorrupt, key)
}

// storedSchedule is the JSON of a record. Durations are nanoseconds, times seconds since 1970.
type storedSchedule struct {
	Version    int           `json:"version"`
	ID         string        `json:"id"`
	Generation uint64        `json:"generation,string"`
	Cron       string        `json:"cron"`
	Zone       string        `json:"tz"`
	Missed     MissedPolicy  `json:"missed"`
	Next       int64         `json:"next"`
	Last       *int64        `json:"last,omitempty"`
	Turn       uint64        `json:"turn,omitempty"`
	Due        store.Instant `json:"due,omitempty"`
	Message    storedMessage `json:"message"`
}

type storedMessage struct {
	Body        []byte            `json:"body,omitempty"`
	ContentType string            `json:"content_type,omitempty"`
	TraceParent string            `json:"traceparent,omitempty"`
	Attributes  []storedAttribute `json:"attributes,omitempty"`
	Delay       *time.Duration    `json:"delay,omitempty"`
	Group       string            `json:"group,omitempty"`
	DedupID     string            `json:"dedup_id,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	TTL         *time.Duration    `json:"ttl,omitempty"`
}

type storedAttribute struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value []byte `json:"value,omitempty"`
}

func encodeSchedule(r *scheduleRecord) ([]byte, error) {
	m := &r.spec.Message
	s := storedSchedule{
		Version: scheduleRecordVersion, ID: r.id, Generation: uint64(r.generation),
		Cron: r.spec.Cron, Zone: r.spec.Zone, Missed: r.spec.Missed, Next: r.next.Unix(), Turn: r.turn, Due: r.due,
		Message: storedMessage{
			Body: m.Body, ContentType: m.ContentType, TraceParent: m.TraceParent,
			Delay: m.Delay, Group: m.Group, DedupID: m.DedupID, Priority: m.Priority, TTL: m.TTL,
		},
	}
	if !r.last.IsZero() {
		s.Last = new(r.last.Unix())
	}
	for _, a := range m.Attributes {
		s.Message.Attributes = append(s.Message.Attributes, storedAttribute(a))
	}
	return json.Marshal(s)
}

func decodeSchedule(p store.Pair) (*scheduleRecord, error) {
	ref, name, err := scheduleOfKey(p.Key)
	if err != nil {
		return nil, err
	}
	var s storedSchedule
	if err := json.Unmarshal(p.Value, &s); err != nil {
		return nil, fmt.Errorf("%w: schedule %q: %w", store.ErrCorrupt, p.Key, err)
	}
	if s.Version != scheduleRecordVersion {
		return nil, fmt.Errorf("%w: schedule %q has version %d, this program knows %d", store.ErrVersion, p.Key, s.Version, scheduleRecordVersion)
	}
	m := &s.Message
	r := &scheduleRecord{
		queue: ref, name: name, generation: store.QueueID(s.Generation), id: s.ID,
		spec: ScheduleSpec{
			Cron: s.Cron, Zone: s.Zone, Missed: s.Missed,
			Message: Message{
				Body: m.Body, ContentType: m.ContentType, TraceParent: m.TraceParent,
				Delay: m.Delay, Group: m.Group, DedupID: m.DedupID, Priority: m.Priority, TTL: m.TTL,
			},
		},
		next: time.Unix(s.Next, 0).UTC(), turn: s.Turn, due: s.Due, revision: p.Revision,
	}
	if s.Last != nil {
		r.last = time.Unix(*s.Last, 0).UTC()
	}
	for _, a := range m.Attributes {
		r.spec.Message.Attributes = append(r.spec.Message.Attributes, Attribute(a))
	}
	return r, nil
}

// readSchedule gives nil when there is no such schedule.
func (e *Engine) readSchedule(ctx context.Context, key string) (*scheduleRecord, error) {
	pair, err := e.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read schedule %s: %w", key, err)
	}
	return decodeSchedule(pair)
}

// putSchedule writes r if the pair still has r's revision. A conflict is returned as such.
func (e *Engine) putSchedule(ctx context.Context, r *scheduleRecord) error {
	value, err := encodeSchedule(r)
	if err != nil {
		return fmt.Errorf("encode schedule %s of %s: %w", r.name, r.queue, err)
	}
	rev, err := e.store.Put(ctx, scheduleKey(r.queue, r.name), value, r.revision)
	if err != nil {
		return fmt.Errorf("write schedule %s of %s: %w", r.name, r.queue, err)
	}
	r.revision = rev
	return nil
}

// rule is that of the record's expression, with intervals counted from the next fire time.
func (r *scheduleRecord) rule() (rule, *Error) {
	rule, err := parseRule(r.spec.Cron, r.spec.Zone)
	rule.anchor = r.next
	return rule, err
}

// With the wall clock set by no more than this the next fire time stays as it is, so that none comes twice: the schedule is
// silent for as long if it was put back. One for fixed hours is patient for longer, as cron is, and as it is when the clocks of a
// time zone are put back.
const (
	silentWithin      = 10 * time.Second
	silentWithinFixed = 3 * time.Hour
)

// moved gives the fire time that is next because the wall clock was set since the record was written. An interval counts
// elapsed time, so its next fire time moves with the clock. Others have been left behind by a clock that was put back: then the
// record's is further away than any can be.
func (r *scheduleRecord) moved(now store.Clock) (next time.Time, ok bool) {
	rule, err := r.rule()
	if err != nil {
		return time.Time{}, false
	}
	if rule.dial == nil && r.due != 0 {
		next = now.Show(r.due).UTC().Round(time.Second)
		return next, next.Sub(r.next).Abs() > silentWithin
	}
	next = rule.following(now.Wall)
	if next.IsZero() || !r.next.After(next) {
		return time.Time{}, false
	}
	within := silentWithin
	if rule.fixed {
		within = silentWithinFixed
	}
	if r.last.After(now.Wall) && r.last.Sub(now.Wall) <= within {
		return time.Time{}, false
	}
	return next, true
}

// expects makes a fire time the next one.
func (r *scheduleRecord) expects(now store.Clock, rule rule, next time.Time) {
	if r.next = next; rule.dial == nil {
		r.due = now.Instant(next)
	}
}
