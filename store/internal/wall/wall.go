// Package wall turns what a backend knows in queue time into what the wall clock shows. It decides nothing: which of the two clocks
// ends a delay is for package model, and for the scripts of package redis.
package wall

import (
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Ahead is by how many milliseconds the wall clock is ahead of queue time. All instants in a backend are in queue time; what leaves it
// is turned into what the wall clock shows as it is set now, so that what was stamped while it was wrong follows a correction.
type Ahead int64

func (a Ahead) span() time.Duration { return time.Duration(a) * time.Millisecond }

// Show turns an instant; zero stays zero.
func (a Ahead) Show(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(a.span())
}

// Time is what the wall clock shows at an instant of queue time in milliseconds.
func (a Ahead) Time(at int64) time.Time { return a.Show(time.UnixMilli(at).UTC()) }

// Sent turns the result of a send.
func (a Ahead) Sent(r store.SendResult) store.SendResult {
	r.SentAt = a.Show(r.SentAt)
	return r
}

// Appended turns the result of an append.
func (a Ahead) Appended(r store.AppendResult) store.AppendResult {
	r.At = a.Show(r.At)
	return r
}

// Delivery turns a delivery.
func (a Ahead) Delivery(d store.Delivery) store.Delivery {
	if a == 0 {
		return d
	}
	d.SentAt, d.AvailableAt, d.ExpiresAt = a.Show(d.SentAt), a.Show(d.AvailableAt), a.Show(d.ExpiresAt)
	if d.Origin != nil {
		o := *d.Origin // which may be the store's own
		o.SentAt, o.MovedAt = a.Show(o.SentAt), a.Show(o.MovedAt)
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
	v.Due, v.LeasedAt, v.RemovedAt = a.Show(v.Due), a.Show(v.LeasedAt), a.Show(v.RemovedAt)
	v.Visits = slices.Clone(v.Visits)
	for i := range v.Visits {
		v.Visits[i].LeasedAt, v.Visits[i].EndedAt = a.Show(v.Visits[i].LeasedAt), a.Show(v.Visits[i].EndedAt)
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
		list[i].LockedUntil = a.Show(list[i].LockedUntil)
	}
	return list
}

// Selection turns what a caller chooses by into queue time.
func (a Ahead) Selection(sel store.Selection) store.Selection {
	sel.AvailableBefore = (-a).Show(sel.AvailableBefore)
	return sel
}
