package sigv4

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	signatureParam = "X-Amz-Signature"
	payloadHeader  = "X-Amz-Content-Sha256"
	// maxExpires is how long a presigned URL may be good for.
	maxExpires = 7 * 24 * time.Hour
)

// presignedParams are the parameters of a query that are a signature's, by name; nil when it has no signature.
func presignedParams(rawQuery string) map[string][]string {
	var found map[string][]string
	for part := range strings.SplitSeq(rawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			continue
		}
		switch name {
		case "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", signatureParam:
		default:
			continue
		}
		if value, err = url.QueryUnescape(value); err != nil {
			value = ""
		}
		if found == nil {
			found = map[string][]string{}
		}
		found[name] = append(found[name], value)
	}
	if found["X-Amz-Algorithm"] == nil && found["X-Amz-Credential"] == nil && found[signatureParam] == nil {
		return nil
	}
	return found
}

// parsePresigned reads the parameters of a presigned URL.
func parsePresigned(params map[string][]string) (Signature, error) {
	var wrong []string
	one := func(name string) string {
		values := params[name]
		switch {
		case len(values) > 1:
			wrong = append(wrong, "AWS query-string parameters must have '"+name+"' once.")
			return ""
		case len(values) == 0 || values[0] == "":
			wrong = append(wrong, "AWS query-string parameters must include '"+name+"'.")
			return ""
		}
		return values[0]
	}
	used := one("X-Amz-Algorithm")
	credential, date, expires := one("X-Amz-Credential"), one("X-Amz-Date"), one("X-Amz-Expires")
	list := one("X-Amz-SignedHeaders")

	s := Signature{Presigned: true, value: one(signatureParam)}
	scoped := s.readCredential(credential)
	listed := s.readSignedHeaders(list)
	var dated bool
	s.Date, dated = parseTime(date)
	seconds, err := strconv.ParseUint(expires, 10, 32)
	s.expires = time.Duration(seconds) * time.Second
	switch {
	case len(wrong) > 0:
		return s, malformed(strings.Join(wrong, " ") + " Re-examine the query-string parameters.")
	case used != algorithm:
		return s, malformed("X-Amz-Algorithm only supports \"" + algorithm + "\".")
	case !scoped:
		return s, malformed("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.")
	case !dated:
		return s, malformed("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\".")
	case err != nil || s.expires <= 0 || s.expires > maxExpires:
		return s, malformed("X-Amz-Expires must be a number of seconds from 1 to 604800, which is a week.")
	case !listed:
		return s, malformed("X-Amz-SignedHeaders must be names with semicolons between them, each once.")
	}
	return s, nil
}
