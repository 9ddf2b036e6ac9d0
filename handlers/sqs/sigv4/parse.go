package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	// timeFormat is how a signature writes its time, always UTC.
	timeFormat = "20060102T150405Z"
	dayFormat  = "20060102"
)

// Signature is what a request says about how and by whom it was signed. Nothing of it is true before
// [Signature.Verify] has said so.
type Signature struct {
	AccessKeyID string
	// Region and Service are those of the credential scope.
	Region, Service string
	// Date is when it was signed.
	Date time.Time
	// Presigned says that the signature is in the query of the URL.
	Presigned bool

	// day and terminator are the other parts of the scope.
	day, terminator string
	// headers are the names of the signed ones, in lower case, sorted, each once.
	headers []string
	// expires is how long a presigned URL is good for.
	expires time.Duration
	// value is the signature itself, in hexadecimal digits.
	value string
}

// Parse reads the signature of a request. The error is [ErrAbsent] when there is none, also when the Authorization
// header is of another kind, like a bearer token; any other error is an [*Error] about a signature that is malformed.
// With that one the Signature holds what could be read, so that a server that asks for no signature may still know the
// region.
func Parse(r *http.Request) (Signature, error) {
	header, err := signedHeader(r.Header["Authorization"])
	if err != nil {
		return Signature{}, err
	}
	params := presignedParams(r.URL.RawQuery)
	switch {
	case header == "" && params == nil:
		return Signature{}, ErrAbsent
	case header == "":
		return parsePresigned(params)
	}
	s, err := parseHeader(header, r.Header)
	if err == nil && params != nil {
		err = malformed("The request is signed twice, in the Authorization header and in the query: sign it once.")
	}
	return s, err
}

// signedHeader finds the Authorization header that holds a signature: "" when none does.
func signedHeader(values []string) (string, error) {
	found := ""
	for _, v := range values {
		v = strings.TrimLeft(v, " \t")
		if !strings.HasPrefix(v, "AWS") {
			continue
		}
		if found != "" {
			return "", malformed("There is more than one Authorization header with a signature: send one.")
		}
		found = v
	}
	return found, nil
}

// parseHeader reads "AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…". Its parts come in any order, with
// commas, spaces or both between them.
func parseHeader(value string, h http.Header) (Signature, error) {
	parts := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if parts[0] != algorithm {
		return Signature{}, malformed("Unsupported AWS 'algorithm' in the Authorization header: sign with " + algorithm + ".")
	}
	fields := map[string]string{}
	var twice, missing []string
	for _, part := range parts[1:] {
		name, v, _ := strings.Cut(part, "=")
		if _, ok := fields[name]; ok {
			twice = append(twice, name)
		}
		fields[name] = v
	}
	for _, name := range []string{"Credential", "Signature", "SignedHeaders"} {
		if fields[name] == "" {
			missing = append(missing, "Authorization header requires '"+name+"' parameter.")
		}
	}
	s := Signature{value: fields["Signature"]}
	scoped := s.readCredential(fields["Credential"])
	var dated bool
	s.Date, dated = headerDate(h)
	if !dated {
		missing = append(missing, "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header, with one valid time.")
	}
	listed := s.readSignedHeaders(fields["SignedHeaders"])
	switch {
	case len(missing) > 0:
		return s, malformed(strings.Join(missing, " "))
	case len(twice) > 0:
		return s, malformed("Authorization header has the same parameter twice.")
	case !scoped:
		return s, malformed("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.")
	case !listed:
		return s, malformed("SignedHeaders in the Authorization header must be names with semicolons between them, each once.")
	}
	return s, nil
}

// readCredential takes <access key id>/<day>/<region>/<service>/aws4_request apart, and says whether it is that.
func (s *Signature) readCredential(credential string) bool {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 {
		return false
	}
	s.AccessKeyID, s.day, s.Region, s.Service, s.terminator = parts[0], parts[1], parts[2], parts[3], parts[4]
	if !isRegion(s.Region) {
		s.Region = ""
		return false
	}
	return !slices.Contains(parts, "")
}

// isRegion keeps everything out of a region's name that could mean something elsewhere: namespaces are named after it.
func isRegion(name string) bool {
	if name == "" || len(name) > maxRegion {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isUnreserved(c) || c == '.' || c == '~' {
			return false
		}
	}
	return true
}

const maxRegion = 64

// readSignedHeaders reads host;x-amz-date;…, and says whether it is that.
func (s *Signature) readSignedHeaders(list string) bool {
	names := strings.Split(strings.ToLower(list), ";")
	slices.Sort(names)
	s.headers = slices.Compact(names)
	return len(s.headers) == strings.Count(list, ";")+1 && s.headers[0] != ""
}

// headerDate is when a request was signed that has its signature in a header: X-Amz-Date, or else Date.
func headerDate(h http.Header) (time.Time, bool) {
	if values, ok := h["X-Amz-Date"]; ok {
		if len(values) != 1 {
			return time.Time{}, false
		}
		return parseTime(values[0])
	}
	values := h["Date"]
	if len(values) != 1 {
		return time.Time{}, false
	}
	if t, ok := parseTime(values[0]); ok {
		return t, true
	}
	for _, layout := range []string{http.TimeFormat, time.RFC1123Z, time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, values[0]); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// parseTime reads exactly what writing the time again gives: it is part of what is signed.
func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(timeFormat, s)
	return t, err == nil && t.Format(timeFormat) == s
}
