package rest

import (
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
)

// ScheduleRequest is a recurring send.
type ScheduleRequest struct {
	// Five fields (minute, hour, day of month, month, day of week), or six with seconds in front; or @hourly, @daily,
	// @weekly, @monthly, @yearly, or @every with a duration in whole seconds.
	Cron string `json:"cron" validate:"required" example:"30 8 * * 1-5"`
	// The IANA name of the time zone that cron is read in; UTC if left out.
	Zone string `json:"tz,omitzero" example:"Europe/Berlin"`
	// What is sent each time: as in a send, without deliver_at.
	Message NewMessage `json:"message" validate:"required"`
	// What becomes of fire times that passed while no server ran: skip, the default, leaves them out; once sends one message
	// for all of them, with the fire time of the last.
	Missed engine.MissedPolicy `json:"missed,omitzero" swaggertype:"string" enums:"skip,once" example:"skip"`
}

// Schedule is a recurring send of a queue.
type Schedule struct {
	Name    string              `json:"name" validate:"required" example:"nightly"`
	Cron    string              `json:"cron" validate:"required" example:"30 8 * * 1-5"`
	Zone    string              `json:"tz" validate:"required" example:"Europe/Berlin"`
	Message NewMessage          `json:"message" validate:"required"`
	Missed  engine.MissedPolicy `json:"missed" validate:"required" swaggertype:"string" enums:"skip,once" example:"skip"`
	// When it is sent next.
	NextFire Time `json:"next_fire" validate:"required" swaggertype:"string" format:"date-time"`
	// The fire time of the last message sent; absent when there was none.
	LastFire Time `json:"last_fire,omitzero" swaggertype:"string" format:"date-time"`
	// The next three fire times, next_fire included.
	Upcoming []string `json:"upcoming" validate:"required" format:"date-time"`
}

// ScheduleList is one page of schedules.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules" validate:"required"`
	// Where the next page starts; absent on the last one.
	Cursor string `json:"cursor,omitzero"`
}

func (s *ScheduleRequest) engine() engine.ScheduleSpec {
	return engine.ScheduleSpec{Cron: s.Cron, Zone: s.Zone, Message: s.Message.engine("message."), Missed: s.Missed}
}

func scheduleOf(s engine.Schedule) Schedule {
	out := Schedule{
		Name: s.Name, Cron: s.Cron, Zone: s.Zone, Missed: s.Missed,
		Message:  newMessageOf(&s.Message),
		LastFire: Time(s.LastFire),
		Upcoming: make([]string, len(s.Upcoming)),
	}
	for i, t := range s.Upcoming {
		out.Upcoming[i] = t.UTC().Format(timeFormat)
	}
	if len(s.Upcoming) > 0 {
		out.NextFire = Time(s.Upcoming[0])
	}
	return out
}

// newMessageOf is the request that m came from.
func newMessageOf(m *engine.Message) NewMessage {
	out := NewMessage{
		Attributes: m.Attributes,
		Delay:      (*Duration)(m.Delay),
		Group:      m.Group,
		DedupID:    m.DedupID,
		Priority:   m.Priority,
		TTL:        (*Duration)(m.TTL),
	}
	if utf8.Valid(m.Body) {
		out.Body = new(string(m.Body))
	} else {
		out.BodyBase64 = m.Body
	}
	return out
}
