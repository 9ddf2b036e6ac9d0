package rest

import "net/http"

const traceHeader = "Traceparent"

// traceParent is the W3C traceparent header of a request, or "" when there is none or it is not one: the standard
// says to go on without it then.
func traceParent(r *http.Request) string {
	given := r.Header[traceHeader]
	if len(given) != 1 || !isTraceParent(given[0]) {
		return ""
	}
	return given[0]
}

// isTraceParent checks the form of version 00 and above: 2, 32, 16 and 2 hexadecimal digits (Trace Context, 3.2.2).
func isTraceParent(s string) bool {
	const size = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(s) < size || len(s) > 128 || len(s) > size && (s[:2] == "00" || s[size] != '-') || s[:2] == "ff" {
		return false
	}
	for i := range size {
		c := s[i]
		switch i {
		case 2, 35, 52:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}
