package sigv4_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// signed puts the right signature into a request that has "SIGNATURE" in its place.
func signed(t testing.TB, wire string) string {
	t.Helper()
	wire = strings.ReplaceAll(wire, "\n", "\r\n")
	r, body := request(t, wire)
	s, err := sigv4.Parse(r)
	if err != nil {
		t.Fatalf("Parse of %q: %v", wire, err)
	}
	return strings.Replace(wire, "SIGNATURE", s.Value(t, r, secret, body), 1)
}

func inHeader(scope, headers, more string) string {
	return "POST /q HTTP/1.1\nHost: h\nX-Amz-Date: 20261129T120000Z\n" + more + "Content-Length: 2\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" +
		scope + ", SignedHeaders=" + headers + ", Signature=SIGNATURE\n\n{}"
}

func inQuery(more string) string {
	return "GET /q" + presignedQuery(map[string]string{"X-Amz-Signature": "SIGNATURE"}) + " HTTP/1.1\nHost: h\n" + more + "\n"
}

const scope = "20261129/us-east-1/sqs/aws4_request"

func TestVerifyTimes(t *testing.T) {
	t.Parallel()
	header := signed(t, inHeader(scope, "host;x-amz-date", ""))
	query := signed(t, inQuery(""))
	tests := map[string]struct {
		wire        string
		after       time.Duration
		code, words string
	}{
		"header, at once":          {header, 0, "", ""},
		"header, at the end":       {header, 15 * time.Minute, "", ""},
		"header, too late":         {header, 15*time.Minute + time.Second, "SignatureDoesNotMatch", "Signature expired: 20261129T120000Z is now earlier than 20261129T120001Z (20261129T121501Z - 15 min.)"},
		"header, just ahead":       {header, -15 * time.Minute, "", ""},
		"header, too early":        {header, -15*time.Minute - time.Second, "SignatureDoesNotMatch", "Signature not yet current: 20261129T120000Z is still later than 20261129T115959Z (20261129T114459Z + 15 min.)"},
		"presigned, last second":   {query, 59 * time.Second, "", ""},
		"presigned, expired":       {query, 60 * time.Second, "RequestExpired", "for 60 seconds and has expired"},
		"presigned, far too early": {query, -16 * time.Minute, "SignatureDoesNotMatch", "not yet current"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := verify(t, tt.wire, tt.after)
			if tt.code != "" {
				refused(t, err, tt.code, tt.words)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// Each of these has a signature that is right for what it says, so that only the rule refuses it.
func TestVerifyRefusesWhatIsSignedForSomethingElse(t *testing.T) {
	t.Parallel()
	const hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	tests := map[string]struct{ wire, code, words string }{
		"service":         {inHeader("20261129/us-east-1/s3/aws4_request", "host", ""), "SignatureDoesNotMatch", "scoped to correct service: 'sqs'"},
		"terminator":      {inHeader("20261129/us-east-1/sqs/aws5_request", "host", ""), "SignatureDoesNotMatch", "'aws4_request', not 'aws5_request'"},
		"day":             {inHeader("20261128/us-east-1/sqs/aws4_request", "host", ""), "SignatureDoesNotMatch", "'20261128' != '20261129'"},
		"host not signed": {inHeader(scope, "x-amz-date", ""), "SignatureDoesNotMatch", "'host' must be a 'SignedHeader'"},
		"target not signed": {
			inHeader(scope, "host;x-amz-date", "X-Amz-Target: AmazonSQS.PurgeQueue\n"),
			"SignatureDoesNotMatch", "'x-amz-target' must be a 'SignedHeader'",
		},
		"target added to a presigned URL": {inQuery("X-Amz-Target: AmazonSQS.PurgeQueue\n"), "SignatureDoesNotMatch", "'x-amz-target' must be a 'SignedHeader'"},
		"target is signed":                {inHeader(scope, "host;x-amz-target", "X-Amz-Target: AmazonSQS.PurgeQueue\n"), "", ""},
		"wrong body hash": {
			strings.Replace(inHeader(scope, "host;x-amz-content-sha256", "X-Amz-Content-Sha256: "+hash+"\n"), "{}", "[]", 1),
			"SignatureDoesNotMatch", "is not the SHA-256 of its body",
		},
		"body hash":                      {inHeader(scope, "host;x-amz-content-sha256", "X-Amz-Content-Sha256: "+hash+"\n"), "", ""},
		"body hash, not signed":          {inHeader(scope, "host", "X-Amz-Content-Sha256: nonsense\n"), "", ""},
		"session token, not signed":      {inHeader(scope, "host", "X-Amz-Security-Token: anything\n"), "", ""},
		"session token, signed":          {inHeader(scope, "host;x-amz-security-token", "X-Amz-Security-Token: anything\n"), "", ""},
		"names in capitals and no order": {inHeader(scope, "X-Amz-Date;HOST", ""), "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := tt.wire
			if name == "wrong body hash" {
				wire = strings.ReplaceAll(wire, "\n", "\r\n") // no signature is right for it
			} else {
				wire = signed(t, wire)
			}
			err := verify(t, wire, 0)
			if tt.code != "" {
				refused(t, err, tt.code, tt.words)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestVerifyMissingHeader(t *testing.T) {
	t.Parallel()
	wire := strings.ReplaceAll(inHeader(scope, "host;x-amz-date;x-gone", ""), "\n", "\r\n")
	refused(t, verify(t, wire, 0), "SignatureDoesNotMatch", "'x-gone' is not in the request")
	wire = strings.Replace(wire, "x-gone", "x-é<", 1)
	refused(t, verify(t, wire, 0), "SignatureDoesNotMatch", "'x-?<' is not in the request")
}

// curl signs this header, which net/http keeps apart.
func TestVerifyChunkedBody(t *testing.T) {
	t.Parallel()
	wire := inHeader(scope, "host;transfer-encoding", "Transfer-Encoding: chunked\n")
	wire = strings.Replace(strings.Replace(wire, "Content-Length: 2\n", "", 1), "{}", "2\n{}\n0\n\n", 1)
	wire = signed(t, wire)
	if err := verify(t, wire, 0); err != nil {
		t.Errorf("refused: %v", err)
	}
	refused(t, verify(t, strings.Replace(wire, "{}", "[]", 1), 0), "SignatureDoesNotMatch", "does not match")
}

func TestVerifyBrokenQuery(t *testing.T) {
	t.Parallel()
	wire := strings.ReplaceAll(inHeader(scope, "host", ""), "\n", "\r\n")
	refused(t, verify(t, strings.Replace(wire, "/q", "/q?a=%zz", 1), 0), "IncompleteSignature", "percent")
}

// "+" and %20 are the same to whoever reads the parameters, %2B is not; neither may take the place of the other.
func TestPlusIsASpace(t *testing.T) {
	t.Parallel()
	wire := signed(t, strings.Replace(inHeader(scope, "host", ""), "/q", "/q?m=a%20b", 1))
	if err := verify(t, strings.Replace(wire, "a%20b", "a+b", 1), 0); err != nil {
		t.Errorf("a space written as a plus is refused: %v", err)
	}
	refused(t, verify(t, strings.Replace(wire, "a%20b", "a%2Bb", 1), 0), "SignatureDoesNotMatch", "does not match")
	wire = signed(t, strings.Replace(inHeader(scope, "host", ""), "/q", "/q?m=a%2Bb", 1))
	refused(t, verify(t, strings.Replace(wire, "a%2Bb", "a+b", 1), 0), "SignatureDoesNotMatch", "does not match")
}

func TestZeroSignatureVerifiesNothing(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, sigv4.Signature{}.Verify(r, secret, nil, time.Time{}), "SignatureDoesNotMatch", "terminator")
}

func BenchmarkVerify(b *testing.B) {
	rec := recordings(b)[1]
	r, body := request(b, rec.Request)
	for b.Loop() {
		s, err := sigv4.Parse(r)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Verify(r, secret, body, s.Date); err != nil {
			b.Fatal(err)
		}
	}
}
