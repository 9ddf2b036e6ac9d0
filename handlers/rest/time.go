package rest

import "time"

// Time is an instant in an answer: RFC 3339 with milliseconds, in UTC.
type Time time.Time

// MarshalText writes it.
func (t Time) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, timeFormat), nil
}

// UnmarshalText reads what MarshalText writes.
func (t *Time) UnmarshalText(b []byte) error { return (*time.Time)(t).UnmarshalText(b) }

// IsZero lets it be left out.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }
