package engine

import (
	"fmt"
	"strings"
	"time"
)

const (
	// MaxScheduleMessageBytes bounds body and attributes of the message of a schedule. Schedules are read often and as a
	// whole, so what is larger belongs where the message only points to.
	MaxScheduleMessageBytes = 256 << 10

	// ScheduleAttribute and FireTimeAttribute are what every message of a schedule has beside its own attributes: the
	// schedule's name and the fire time (RFC 3339, UTC).
	ScheduleAttribute = "dabba-schedule"
	FireTimeAttribute = "dabba-fire-time"

	// fireTimeFormat is RFC 3339 with milliseconds in UTC, as the wires write all times.
	fireTimeFormat = "2006-01-02T15:04:05.000Z"

	maxScheduleName = 80
	// upcoming is how many fire times are shown ahead.
	upcoming = 3
)

// ScheduleSpec is what the owner of a queue says about one schedule.
type ScheduleSpec struct {
	// Cron has five fields, or six with seconds in front, or is one of "@hourly", "@daily", "@weekly", "@monthly",
	// "@yearly" and "@every" with a duration in whole seconds. A schedule for fixed hours fires once on a day on which
	// the clocks are put forward over its time, at the first moment after the gap, and once on a day that has its time
	// twice, the first time. One that fires in every hour, or "@every" so often, goes on through real time.
	Cron string
	// Zone is the IANA name of the time zone that Cron is read in; empty means [DefaultZone].
	Zone string
	// Message is what is sent. It has no DeliverAt; its Delay counts from when it is sent.
	Message Message
	// Missed is empty for [MissedSkip].
	Missed MissedPolicy
}

// MissedPolicy says what becomes of fire times that nobody noticed within a minute, mostly since no server ran.
type MissedPolicy string

// The policies.
const (
	MissedSkip MissedPolicy = "skip" // nothing: the schedule goes on with the next fire time to come
	MissedOnce MissedPolicy = "once" // one message for all of them, with the fire time of the last
)

// Schedule is one recurring send of a queue.
type Schedule struct {
	Queue Ref
	Name  string
	ScheduleSpec
	// LastFire is the fire time of the last message that was sent; zero when there was none.
	LastFire time.Time
	// Upcoming are the next fire times, three as a rule.
	Upcoming []time.Time
}

func validScheduleName(name string) *Error {
	if name == "" || len(name) > maxScheduleName || strings.ContainsFunc(name, notOfNames) {
		return invalid("name", fmt.Sprintf("A schedule's name has 1 to %d letters, digits, '_' and '-'.", maxScheduleName))
	}
	return nil
}

func notOfNames(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && r != '_' && r != '-'
}

// stamped is the message as it is sent at a fire time.
func (m *Message) stamped(schedule string, fire time.Time) Message {
	out := *m
	out.Attributes = append(make([]Attribute, 0, len(m.Attributes)+2), m.Attributes...)
	out.Attributes = append(
		out.Attributes,
		Attribute{Name: ScheduleAttribute, Value: []byte(schedule)},
		Attribute{Name: FireTimeAttribute, Value: fire.UTC().AppendFormat(nil, fireTimeFormat)},
	)
	return out
}

// validateScheduled checks the message of a schedule against the configuration of its queue.
func (e *Engine) validateScheduled(m *Message, schedule string, c *QueueConfig) *Error {
	if m.DeliverAt != nil {
		return invalid("message.deliver_at", "A schedule's message has no time of its own; leave it out, or give a delay.")
	}
	for i := range m.Attributes {
		if name := m.Attributes[i].Name; name == ScheduleAttribute || name == FireTimeAttribute {
			return invalid("message.attributes."+name, "The schedule sets this attribute itself; leave it out.")
		}
	}
	if size := messageSize(m); m.Refused == nil && size > MaxScheduleMessageBytes {
		return &Error{
			Code: CodeTooLarge, Field: "message.body", Outcome: NotApplied,
			Detail: fmt.Sprintf("Body and attributes have %d bytes and the message of a schedule at most %d; send less, such as where the rest is.",
				size, MaxScheduleMessageBytes),
		}
	}
	first := m.stamped(schedule, time.Unix(0, 0))
	err := first.Refused
	if err == nil {
		err = first.validate(0, messageSize(&first), c)
	}
	if err == nil {
		return nil
	}
	if rest, ok := strings.CutPrefix(err.Field, messageField(0, "")); ok {
		renamed := *err
		renamed.Field = "message." + rest
		return &renamed
	}
	return err
}
