package sigv4_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

const (
	credential = "Credential=AKIDEXAMPLE/20261129/us-east-1/sqs/aws4_request"
	whole      = "AWS4-HMAC-SHA256 " + credential + ", SignedHeaders=host;x-amz-date, Signature=abc"
)

// signedAt is the time of most tests here.
var signedAt = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, target string, headers ...string) (sigv4.Signature, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return sigv4.Parse(r)
}

func TestParseHeaderSpellings(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		whole,
		strings.ReplaceAll(whole, ", ", ","),
		strings.ReplaceAll(whole, ", ", " "),
		strings.ReplaceAll(whole, ", ", " ,  "),
		strings.ReplaceAll(whole, ", ", ",\t"),
		"  " + strings.ReplaceAll(whole, "SHA256 ", "SHA256    ") + ", ",
		"AWS4-HMAC-SHA256 Signature=abc, SignedHeaders=host;x-amz-date, " + credential,
		whole + ", Future=1",
	} {
		s, err := parse(t, "/", "Authorization", value, "X-Amz-Date", "20261129T120000Z")
		if err != nil || s.AccessKeyID != "AKIDEXAMPLE" || s.Region != "us-east-1" || s.Service != "sqs" || s.Presigned || !s.Date.Equal(signedAt) {
			t.Errorf("Parse of %q = %+v, %v", value, s, err)
		}
	}
}

func TestParseTimes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		headers []string
		want    time.Time // zero for malformed
	}{
		"x-amz-date":              {[]string{"X-Amz-Date", "20261129T120000Z"}, signedAt},
		"x-amz-date before date":  {[]string{"Date", "Sun, 29 Nov 2026 13:00:00 GMT", "X-Amz-Date", "20261129T120000Z"}, signedAt},
		"date":                    {[]string{"Date", "Sun, 29 Nov 2026 12:00:00 GMT"}, signedAt},
		"date with -0000":         {[]string{"Date", "Sun, 29 Nov 2026 12:00:00 -0000"}, signedAt},
		"date elsewhere":          {[]string{"Date", "Sun, 29 Nov 2026 13:00:00 +0100"}, signedAt},
		"date in the short form":  {[]string{"Date", "20261129T120000Z"}, signedAt},
		"none":                    {nil, time.Time{}},
		"empty":                   {[]string{"X-Amz-Date", ""}, time.Time{}},
		"two":                     {[]string{"X-Amz-Date", "20261129T120000Z", "X-Amz-Date", "20261129T120000Z"}, time.Time{}},
		"two dates":               {[]string{"Date", "20261129T120000Z", "Date", "20261129T120000Z"}, time.Time{}},
		"fractions":               {[]string{"X-Amz-Date", "20261129T120000.5Z"}, time.Time{}},
		"with dashes":             {[]string{"X-Amz-Date", "2026-11-29T12:00:00Z"}, time.Time{}},
		"no such day":             {[]string{"X-Amz-Date", "20261131T120000Z"}, time.Time{}},
		"broken, though date is":  {[]string{"X-Amz-Date", "x", "Date", "20261129T120000Z"}, time.Time{}},
		"date is no date":         {[]string{"Date", "yesterday"}, time.Time{}},
		"date without a time":     {[]string{"Date", "20261129"}, time.Time{}},
		"date, seconds of a leap": {[]string{"X-Amz-Date", "20261129T120060Z"}, time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, "/", append([]string{"Authorization", whole}, tt.headers...)...)
			if tt.want.IsZero() {
				refused(t, err, "IncompleteSignature", "'X-Amz-Date' or a 'Date' header")
				return
			}
			if err != nil || !s.Date.Equal(tt.want) {
				t.Errorf("signed at %v, %v; want %v", s.Date, err, tt.want)
			}
		})
	}
}

func TestParseAbsent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		target  string
		headers []string
	}{
		"nothing":           {"/", nil},
		"parameters":        {"/?Action=ListQueues&%zz&X-Amz-Date=1&X-Amz-SignedHeaders=host", nil},
		"bearer":            {"/", []string{"Authorization", "Bearer AWS4-HMAC-SHA256"}},
		"basic":             {"/", []string{"Authorization", "Basic QVdTOkFXUw=="}},
		"empty":             {"/", []string{"Authorization", ""}},
		"two of other kind": {"/", []string{"Authorization", "Bearer a", "Authorization", "Bearer b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, tt.target, tt.headers...)
			if !errors.Is(err, sigv4.ErrAbsent) || s.AccessKeyID != "" || s.Region != "" {
				t.Errorf("Parse = %+v, %v; want ErrAbsent", s, err)
			}
		})
	}
}

func TestParseMalformedHeader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value, words, region string
	}{
		"algorithm alone":   {"AWS4-HMAC-SHA256", "'Credential' parameter. Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders'", ""},
		"asymmetric":        {"AWS4-ECDSA-P256-SHA256 " + credential, "Unsupported AWS 'algorithm'", ""},
		"version 2":         {"AWS AKIDEXAMPLE:abc=", "Unsupported AWS 'algorithm'", ""},
		"comma for a space": {"AWS,", "Unsupported AWS 'algorithm'", ""},
		"no credential":     {strings.Replace(whole, "Credential", "Cred", 1), "requires 'Credential'", ""},
		"no headers":        {strings.Replace(whole, "SignedHeaders", "Headers", 1), "requires 'SignedHeaders'", "us-east-1"},
		"no signature":      {strings.Replace(whole, "Signature=abc", "Signature=", 1), "requires 'Signature'", "us-east-1"},
		"twice":             {whole + ", Signature=abd", "twice", "us-east-1"},
		"key alone":         {strings.Replace(whole, "/20261129/us-east-1/sqs/aws4_request", "", 1), "exactly 5", ""},
		"six parts":         {strings.Replace(whole, "/sqs/", "/sqs/x/", 1), "exactly 5", ""},
		"no key":            {strings.Replace(whole, "AKIDEXAMPLE", "", 1), "exactly 5", "us-east-1"},
		"no region":         {strings.Replace(whole, "us-east-1", "", 1), "exactly 5", ""},
		"odd region":        {strings.Replace(whole, "us-east-1", "us%2Feast", 1), "exactly 5", ""},
		"region with a dot": {strings.Replace(whole, "us-east-1", "..", 1), "exactly 5", ""},
		"long region":       {strings.Replace(whole, "us-east-1", strings.Repeat("a", 65), 1), "exactly 5", ""},
		"header twice":      {strings.Replace(whole, "host;", "host;Host;", 1), "each once", "us-east-1"},
		"empty header":      {strings.Replace(whole, "host;", "host;;", 1), "each once", "us-east-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, "/", "Authorization", tt.value, "X-Amz-Date", "20261129T120000Z")
			refused(t, err, "IncompleteSignature", tt.words)
			if s.Region != tt.region {
				t.Errorf("region %q, want %q", s.Region, tt.region)
			}
		})
	}
	_, err := parse(t, "/", "Authorization", whole, "Authorization", whole, "X-Amz-Date", "20261129T120000Z")
	refused(t, err, "IncompleteSignature", "more than one Authorization header")
	s, err := parse(t, "/"+presignedQuery(nil), "Authorization", whole, "X-Amz-Date", "20261129T120000Z")
	refused(t, err, "IncompleteSignature", "signed twice")
	if s.Region != "us-east-1" {
		t.Errorf("region %q of a request signed twice, want that of the header", s.Region)
	}
}

// presignedQuery is a query that parses, with parameters replaced; "" removes one.
func presignedQuery(change map[string]string) string {
	query := "?Action=ListQueues"
	for _, p := range [][2]string{
		{"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
		{"X-Amz-Credential", "AKIDEXAMPLE%2F20261129%2Fus-east-1%2Fsqs%2Faws4_request"},
		{"X-Amz-Date", "20261129T120000Z"},
		{"X-Amz-Expires", "60"},
		{"X-Amz-SignedHeaders", "host"},
		{"X-Amz-Signature", "abc"},
	} {
		v, ok := change[p[0]]
		if !ok {
			v = p[1]
		}
		if v != "" {
			query += "&" + p[0] + "=" + v
		}
	}
	return query
}

func TestParsePresigned(t *testing.T) {
	t.Parallel()
	s, err := parse(t, "/"+presignedQuery(nil), "Authorization", "Bearer x")
	if err != nil || !s.Presigned || s.AccessKeyID != "AKIDEXAMPLE" || s.Region != "us-east-1" || s.Service != "sqs" || !s.Date.Equal(signedAt) {
		t.Errorf("Parse = %+v, %v", s, err)
	}
	tests := map[string]struct{ name, value, words string }{
		"no algorithm":    {"X-Amz-Algorithm", "", "must include 'X-Amz-Algorithm'"},
		"other algorithm": {"X-Amz-Algorithm", "AWS4-HMAC-SHA1", "only supports"},
		"no credential":   {"X-Amz-Credential", "", "must include 'X-Amz-Credential'"},
		"half credential": {"X-Amz-Credential", "AKIDEXAMPLE", "exactly 5"},
		"broken escape":   {"X-Amz-Credential", "AKIDEXAMPLE%2", "must include 'X-Amz-Credential'"},
		"no date":         {"X-Amz-Date", "", "must include 'X-Amz-Date'"},
		"odd date":        {"X-Amz-Date", "Sun,+29+Nov+2026+12:00:00+GMT", "ISO8601"},
		"no expiry":       {"X-Amz-Expires", "", "must include 'X-Amz-Expires'"},
		"expiry 0":        {"X-Amz-Expires", "0", "from 1 to 604800"},
		"expiry -1":       {"X-Amz-Expires", "-1", "from 1 to 604800"},
		"expiry 604801":   {"X-Amz-Expires", "604801", "from 1 to 604800"},
		"expiry 1.5":      {"X-Amz-Expires", "1.5", "from 1 to 604800"},
		"expiry endless":  {"X-Amz-Expires", "99999999999999999999", "from 1 to 604800"},
		"no headers":      {"X-Amz-SignedHeaders", "", "must include 'X-Amz-SignedHeaders'"},
		"empty header":    {"X-Amz-SignedHeaders", "host;", "each once"},
		"no signature":    {"X-Amz-Signature", "", "must include 'X-Amz-Signature'"},
		"two signatures":  {"X-Amz-Signature", "abc&X-Amz-Signature=abc", "'X-Amz-Signature' once"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, "/"+presignedQuery(map[string]string{tt.name: tt.value}))
			refused(t, err, "IncompleteSignature", tt.words)
		})
	}
}
