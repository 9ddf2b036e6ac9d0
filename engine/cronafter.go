package engine

import (
	"sort"
	"time"
)

// after is the first fire time later than t, in UTC; zero when there is none.
//
// The library knows no daylight saving time rules beyond those of package time, by which a schedule for 2:30 is left out on
// the day that has no such time and one for 1:30 fires twice on the day that has two. Here
//
//   - a schedule for fixed hours, whose hour field does not cover the whole day, means times of day: what falls into a gap
//     (the clocks are put forward) fires once, at the first moment after it; a time that comes twice (they are put back)
//     fires the first time only;
//   - any other schedule means an interval and goes on through real time: it fires whenever the clocks show a time that
//     matches, however often they do.
//
// "@every" does not look at clocks at all.
func (r rule) after(t time.Time) time.Time {
	if r.dial == nil {
		return r.afterInterval(t)
	}
	// From zone change to zone change: between two of them the clocks run evenly.
	for from := t.UTC().Add(1); ; {
		local := from.In(r.zone)
		start, end := local.ZoneBounds()
		_, offset := local.Zone()
		shown := shownAt(from, offset)
		if r.fixed && !start.IsZero() {
			// What the clocks showed before they were put back has had its turn.
			if first := shownAt(start, offsetAt(start.Add(-1), r.zone)); first.After(shown) {
				shown = first
			}
		}
		found := r.dialed(shown)
		if found.IsZero() {
			return found
		}
		if at := found.Add(-time.Duration(offset) * time.Second); end.IsZero() || at.Before(end) {
			return at
		}
		if r.fixed && found.Before(shownAt(end, offsetAt(end, r.zone))) {
			return end.UTC() // it is in the gap
		}
		from = end.UTC()
	}
}

// following is after for a time that may be before the anchor of an interval.
func (r rule) following(t time.Time) time.Time {
	if r.dial == nil && !r.anchor.IsZero() && t.Before(r.anchor) {
		return r.anchor.Add(-((r.anchor.Sub(t) - 1) / r.every) * r.every)
	}
	return r.after(t)
}

func (r rule) afterInterval(t time.Time) time.Time {
	if r.anchor.IsZero() {
		return t.UTC().Truncate(time.Second).Add(r.every)
	}
	if t.Before(r.anchor) {
		return r.anchor
	}
	return r.anchor.Add((t.Sub(r.anchor)/r.every + 1) * r.every)
}

// latest is the last fire time up to now, given one that is not later.
func (r rule) latest(fire, now time.Time) time.Time {
	// Fire times are whole seconds, and whether another one comes by now is decided once and for all along the way.
	seconds := int(now.Sub(fire) / time.Second)
	i := sort.Search(seconds, func(i int) bool {
		next := r.after(fire.Add(time.Duration(i) * time.Second))
		return next.IsZero() || next.After(now)
	})
	return fire.Add(time.Duration(i) * time.Second)
}

// dialed is the first match that is not before what the clocks show. Both are written as if they were in UTC, where the
// library has no zone changes to stumble over.
func (r rule) dialed(shown time.Time) time.Time {
	found := r.dial.Next(shown.Add(-1))
	if found.IsZero() {
		// It looks to the end of the fifth year only, and from one 29 February to the next it may be eight.
		found = r.dial.Next(time.Date(shown.Year()+5, time.December, 31, 23, 59, 59, 0, time.UTC))
	}
	return found
}

// shownAt is what clocks show at t that are ahead of UTC by some seconds, written as if it were in UTC.
func shownAt(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

func offsetAt(t time.Time, zone *time.Location) int {
	_, offset := t.In(zone).Zone()
	return offset
}
