package model

import (
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The machine says all instants in queue time. What leaves a store is turned here into what the wall clock shows, as it is set
// now, so that what was stamped while it was wrong follows a correction.

func (a Ahead) span() time.Duration { return time.Duration(a) * time.Millisecond }

// show turns an instant; zero stays zero.
func (a Ahead) show(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(a.span())
}

// Time is what the wall clock shows at an instant of queue time.
func (a Ahead) Time(at Millis) time.Time { return a.show(Time(at)) }

// Sent turns the result of a send.
func (a Ahead) Sent(r store.SendResult) store.SendResult {
	r.SentAt = a.show(r.SentAt)
	return r
}

// Appended turns the result of an append.
func (a Ahead) Appended(r store.AppendResult) store.AppendResult {
	r.At = a.show(r.At)
	return r
}

// Delivery turns a delivery.
func (a Ahead) Delivery(d store.Delivery) store.Delivery {
	if a == 0 {
		return d
	}
	d.SentAt, d.AvailableAt, d.ExpiresAt = a.show(d.SentAt), a.show(d.AvailableAt), a.show(d.ExpiresAt)
	if d.Origin != nil {
		o := *d.Origin // which may be the store's own
		o.SentAt, o.MovedAt = a.show(o.SentAt), a.show(o.MovedAt)
		d.Origin = &o
	}
	return d
}

// View turns what was found by looking.
func (a Ahead) View(v store.View) store.View {
	if a == 0 {
		return v
	}
	v.Delivery = a.Delivery(v.Delivery)
	v.Due, v.LeasedAt, v.RemovedAt = a.show(v.Due), a.show(v.LeasedAt), a.show(v.RemovedAt)
	v.Visits = slices.Clone(v.Visits)
	for i := range v.Visits {
		v.Visits[i].LeasedAt, v.Visits[i].EndedAt = a.show(v.Visits[i].LeasedAt), a.show(v.Visits[i].EndedAt)
	}
	return v
}

// Views turns many, in place.
func (a Ahead) Views(list []store.View) []store.View {
	if a != 0 {
		for i := range list {
			list[i] = a.View(list[i])
		}
	}
	return list
}

// Groups turns groups, in place.
func (a Ahead) Groups(list []store.Group) []store.Group {
	for i := range list {
		list[i].LockedUntil = a.show(list[i].LockedUntil)
	}
	return list
}

// Selection turns what a caller chooses by into queue time.
func (a Ahead) Selection(sel store.Selection) store.Selection {
	sel.AvailableBefore = (-a).show(sel.AvailableBefore)
	return sel
}
