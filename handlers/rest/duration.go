package rest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Duration is a length of time on the wire. It is read from a string such as "30s", "5m", "12h", "1h30m" or "4d", or
// from a number of seconds; it is written as the shortest string that Go and most others can read.
type Duration time.Duration

const (
	day = 24 * time.Hour
	// aDuration tells a person what a duration looks like.
	aDuration = `a duration such as "30s", "5m", "12h" or "4d", or a number of seconds`
)

// String is the shortest exact form in one unit: "45s", "90m", "96h", "1.5s".
func (d Duration) String() string {
	t := time.Duration(d)
	for _, unit := range [...]struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if t%unit.size == 0 && (t != 0 || unit.name == "s") {
			return strconv.FormatInt(int64(t/unit.size), 10) + unit.name
		}
	}
	return t.String()
}

// MarshalText writes [Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSONFrom reads a string or a number of seconds; null leaves d alone.
func (d *Duration) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	refused := &valueError{reason: "must be " + aDuration}
	switch token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		if parsed, ok := parseDuration(token.String()); ok {
			*d = Duration(parsed)
			return nil
		}
		refused.value = true
	default:
	}
	return refused
}

// Shift is a length of time forward or, with a minus sign in front, back.
type Shift time.Duration

// UnmarshalJSONFrom reads what a [Duration] does, with or without a minus sign; null leaves s alone.
func (s *Shift) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	refused := &valueError{reason: "must be " + aDuration + `, with a minus sign to go back`}
	switch token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		forward, back := strings.CutPrefix(token.String(), "-")
		if d, ok := parseDuration(forward); ok && d >= 0 {
			if *s = Shift(d); back {
				*s = -*s
			}
			return nil
		}
		refused.value = true
	default:
	}
	return refused
}

// parseDuration reads what a client may write: a number of seconds, or numbers with units, days included.
func parseDuration(s string) (time.Duration, bool) {
	if strings.ContainsAny(s, "xX") { // ParseFloat takes hexadecimal numbers, which no client means
		return 0, false
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		ns := math.Round(seconds * float64(time.Second))
		// Written so that NaN is refused, too.
		if !(math.Abs(ns) < math.MaxInt64) {
			return 0, false
		}
		return time.Duration(ns), true
	}
	before, after, hasDays := strings.Cut(s, "d")
	if !hasDays {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	days, err := strconv.ParseUint(before, 10, 16)
	if err != nil {
		return 0, false
	}
	d := time.Duration(days) * day
	if after == "" {
		return d, true
	}
	rest, err := time.ParseDuration(after)
	if err != nil || rest < 0 || rest > math.MaxInt64-d {
		return 0, false
	}
	return d + rest, true
}
