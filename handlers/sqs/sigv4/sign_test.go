package sigv4

import (
	"net/http"
	"testing"
)

// Value is the signature that the request ought to have; tests sign with it what no SDK would.
func (s Signature) Value(t testing.TB, r *http.Request, secret string, body []byte) string {
	t.Helper()
	rest, err := s.canonicalRest(r, body)
	if err != nil {
		t.Fatal(err)
	}
	return s.sign(s.signingKey(secret), r.Method+"\n"+canonicalPaths(r.URL)[0]+"\n"+rest)
}

// The example of the AWS documentation, with its intermediate results. Its service is not sqs.
func TestPublishedExample(t *testing.T) {
	t.Parallel()
	const (
		secret    = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
		canonical = "GET\n/\nAction=ListUsers&Version=2010-05-08\n" +
			"content-type:application/x-www-form-urlencoded; charset=utf-8\nhost:iam.amazonaws.com\nx-amz-date:20150830T123600Z\n\n" +
			"content-type;host;x-amz-date\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		canonicalHash = "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"
		signature     = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
	)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://iam.amazonaws.com/?Version=2010-05-08&Action=ListUsers", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="+signature)
	s, err := Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := s.canonicalRest(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Method + "\n" + canonicalPaths(r.URL)[0] + "\n" + rest
	if got != canonical || hexHash([]byte(got)) != canonicalHash {
		t.Errorf("canonical request:\n%s\nwant\n%s", got, canonical)
	}
	if got := s.Value(t, r, secret, nil); got != signature || s.value != signature {
		t.Errorf("signature %s, parsed %s, want %s", got, s.value, signature)
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/": "/", "//": "/", "/.": "/", "/..": "/", "/../..": "/", "/a": "/a", "/a/": "/a/", "//a//b": "/a/b",
		"/a/./b/../c": "/a/c", "/a/..": "/", "/a/../": "/", "/a/b/..": "/a", "/a/.../b": "/a/.../b", "/%2E%2E/a": "/%2E%2E/a",
	} {
		if got := normalize(in); got != want {
			t.Errorf("normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCanonicalQuery(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "&": "", "b=2&a=1": "a=1&b=2", "a": "a=", "a=b=c": "a=b%3Dc", "k=b&k=a&k": "k=&k=a&k=b", "a=+%20%2b": "a=%20%20%2B",
		"%C3%A9=1&a=1&A=1": "%C3%A9=1&A=1&a=1", "k=a/b&k=a-b": "k=a%2Fb&k=a-b", "a=1&X-Amz-Signature=x&&b=~*'": "a=1&b=~%2A%27", "a;b=1": "a%3Bb=1",
	} {
		if got, err := canonicalQuery(in); got != want || err != nil {
			t.Errorf("canonicalQuery(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"%", "a=%zz", "%4=a"} {
		if got, err := canonicalQuery(in); err == nil {
			t.Errorf("canonicalQuery(%q) = %q, want an error", in, got)
		}
	}
}
