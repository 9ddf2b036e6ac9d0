package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
)

// wantsRaw says whether the client asked for the body as it is: by name, and no less than it wants JSON (RFC 9110,
// section 12.5.1).
func wantsRaw(r *http.Request) bool {
	raw, text, others := -1.0, -1.0, 0.0
	for _, header := range r.Header["Accept"] {
		for accepted := range strings.SplitSeq(header, ",") {
			media, params, err := mime.ParseMediaType(accepted)
			if err != nil {
				continue
			}
			switch media {
			case "application/octet-stream":
				raw = quality(params)
			case "application/json":
				text = quality(params)
			case "application/*", "*/*":
				others = max(others, quality(params))
			}
		}
	}
	if text < 0 {
		text = others
	}
	return raw > 0 && raw >= text
}

// quality is the weight of one accepted type: 1 unless it says something else.
func quality(params map[string]string) float64 {
	if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
		return q
	}
	return 1
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
	setPlace(header, d)
	if omitted := setAttributes(header, d.Attributes); omitted > 0 {
		header.Set(omittedHeader, strconv.Itoa(omitted))
	}
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(d.Body)
	return err
}

// setPlace makes headers of what decides when a message is delivered. A group or id that is no header value is left out.
func setPlace(header http.Header, d *engine.Delivery) {
	if headerSafe(d.Group) {
		header.Set("Dabba-Group", d.Group)
	}
	if headerSafe(d.DedupID) {
		header.Set("Dabba-Dedup-Id", d.DedupID)
	}
	if d.Priority > 0 {
		header.Set("Dabba-Priority", strconv.Itoa(d.Priority))
	}
	if !d.ExpiresAt.IsZero() {
		header.Set("Dabba-Expires-At", d.ExpiresAt.UTC().Format(timeFormat))
	}
	if d.Sequence > 0 {
		header.Set("Dabba-Sequence", strconv.FormatUint(d.Sequence, 10))
	}
}

// omittedHeader says how many attributes a raw answer leaves out. It does not start like those that carry one.
const omittedHeader = "Dabba-Omitted-Attributes"

// setAttributes makes headers of the attributes and counts those that cannot be one: whose name is no header name, or
// differs from another's only in case, or whose value is bytes or would not survive in a header. The JSON form has all.
func setAttributes(header http.Header, attributes []engine.Attribute) (omitted int) {
	for _, a := range attributes {
		name := http.CanonicalHeaderKey(attributeHeader + a.Name)
		_, taken := header[name]
		if taken || !headerToken(a.Name) || strings.HasPrefix(a.Type, binaryType) ||
			len(a.Value) > 0 && !headerSafe(string(a.Value)) {
			omitted++
			continue
		}
		header[name] = []string{string(a.Value)}
	}
	return omitted
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
