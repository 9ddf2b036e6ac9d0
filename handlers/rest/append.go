package rest

import (
	"strconv"
	"time"
)

func appendUint(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// appendTime appends t as a JSON string: RFC 3339 with milliseconds, UTC.
func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeFormat)
	return append(b, '"')
}

// timeFormat is how all times are written.
const timeFormat = "2006-01-02T15:04:05.000Z"
