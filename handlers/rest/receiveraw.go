package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
)

// wantsRaw says whether the client asked for the body as it is.
func wantsRaw(r *http.Request) bool {
	for _, header := range r.Header["Accept"] {
		for accepted := range strings.SplitSeq(header, ",") {
			if media, _, err := mime.ParseMediaType(accepted); err == nil && media == "application/octet-stream" {
				return true
			}
		}
	}
	return false
}

// writeRaw answers with one message's body, and 204 when there is none.
func writeRaw(w http.ResponseWriter, got *engine.Received) error {
	if len(got.Messages) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	d := &got.Messages[0]
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	// A browser that follows a link here must not run what a stranger sent.
	header.Set("X-Content-Type-Options", "nosniff")
	if headerSafe(d.ContentType) {
		header.Set("Content-Type", d.ContentType)
	}
	header.Set("Content-Length", strconv.Itoa(len(d.Body)))
	header.Set("Dabba-Id", d.ID.String())
	header.Set("Dabba-Receipt", d.Receipt)
	header.Set("Dabba-Receives", strconv.FormatUint(uint64(d.Receives), 10))
	header.Set("Dabba-Sent-At", d.SentAt.UTC().Format(timeFormat))
	header.Set("Dabba-Lease-Token", strconv.FormatUint(d.Lease.Token, 10))
	header.Set("Dabba-Lease-Expires-At", d.Lease.ExpiresAt.UTC().Format(timeFormat))
	if d.TraceParent != "" {
		header.Set(traceHeader, d.TraceParent)
	}
	for _, a := range d.Attributes {
		// An attribute that does not fit into a header is left out here and whole in the JSON form.
		if headerToken(a.Name) && (len(a.Value) == 0 || headerSafe(string(a.Value))) {
			header.Set(attributeHeader+a.Name, string(a.Value))
		}
	}
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(d.Body)
	return err
}

// headerSafe says whether s survives as a header value: not empty, no control characters, no spaces at the ends.
func headerSafe(s string) bool {
	if s == "" || strings.TrimSpace(s) != s || !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// headerToken says whether s can be part of a header name (RFC 9110, section 5.6.2).
func headerToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
