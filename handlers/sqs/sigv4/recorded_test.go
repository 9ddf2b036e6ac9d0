package sigv4_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// keyID and secret are the ones of the published examples; everything recorded is signed with them.
const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// recording is one request as an SDK has put it on the wire: its clients where the name is an operation, its signer
// otherwise. testdata/recorded.json was recorded once, by a listener on the loopback address that the SDKs were pointed
// to, and is not edited.
type recording struct {
	Name    string
	By      string
	Region  string
	Request string
}

func recordings(t testing.TB) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []recording
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// request parses a request as the server does.
func request(t testing.TB, wire string) (*http.Request, []byte) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire)))
	if err != nil {
		t.Fatalf("read %q: %v", wire, err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("read the body of %q: %v", wire, err)
	}
	return r, body
}

// verify parses and verifies a request; d is how long after its signing.
func verify(t testing.TB, wire string, d time.Duration) error {
	t.Helper()
	r, body := request(t, wire)
	s, err := sigv4.Parse(r)
	if err != nil {
		return err
	}
	return s.Verify(r, secret, body, s.Date.Add(d))
}

// refused wants an error of this code that says the words.
func refused(t testing.TB, err error, code, words string) {
	t.Helper()
	var e *sigv4.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error with code %s", err, code)
	}
	if e.Code != code || !strings.Contains(e.Message, words) || e.Shape == "" || e.Status < 400 {
		t.Errorf("refused with %+v, want code %s and a message with %q", *e, code, words)
	}
}

func TestRecordedRequestsPass(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		t.Run(rec.By+"/"+rec.Name, func(t *testing.T) {
			t.Parallel()
			r, body := request(t, rec.Request)
			s, err := sigv4.Parse(r)
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if s.AccessKeyID != keyID || s.Region != rec.Region || s.Service != "sqs" || s.Presigned != strings.HasPrefix(rec.Name, "presigned") {
				t.Errorf("Parse = %+v, want key %s, region %s, service sqs", s, keyID, rec.Region)
			}
			if err := s.Verify(r, secret, body, s.Date); err != nil {
				t.Errorf("Verify: %v", err)
			}
		})
	}
}

func TestRecordedRequestsWithOneThingChangedFail(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		t.Run(rec.By+"/"+rec.Name, func(t *testing.T) {
			t.Parallel()
			changes := map[string]func(r *http.Request, body *[]byte){
				"method": func(r *http.Request, _ *[]byte) { r.Method = http.MethodPut },
				"host":   func(r *http.Request, _ *[]byte) { r.Host = "127.0.0.1:1" },
				"path":   func(r *http.Request, _ *[]byte) { r.URL.Path += "x"; r.URL.RawPath = "" },
				"query":  func(r *http.Request, _ *[]byte) { r.URL.RawQuery += "&QueueUrl=x" },
				"body":   func(_ *http.Request, body *[]byte) { *body = append(*body, 'x') },
				"target": func(r *http.Request, _ *[]byte) { r.Header.Set("X-Amz-Target", "AmazonSQS.PurgeQueue") },
				"date":   func(r *http.Request, _ *[]byte) { r.Header.Del("X-Amz-Date"); r.Header.Del("Date") },
			}
			if strings.Contains(rec.Request, "UNSIGNED-PAYLOAD") {
				delete(changes, "body")
			}
			if strings.Contains(rec.Request, "X-Amz-Expires=") {
				delete(changes, "date")
			}
			r, _ := request(t, rec.Request)
			for name := range r.Header {
				if name == "Content-Length" {
					continue // it is that of the body, however it was sent
				}
				if strings.Contains(strings.ToLower(rec.Request), ";"+strings.ToLower(name)+";") {
					changes["without "+name] = func(r *http.Request, _ *[]byte) { r.Header.Del(name) }
				}
			}
			for what, change := range changes {
				r, body := request(t, rec.Request)
				s, err := sigv4.Parse(r)
				if err != nil {
					t.Fatalf("Parse: %v", err)
				}
				at := s.Date
				change(r, &body)
				if s, err = sigv4.Parse(r); err == nil {
					err = s.Verify(r, secret, body, at)
				}
				if err == nil {
					t.Errorf("with another %s it passes", what)
				}
			}
			s, err := sigv4.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			_, body := request(t, rec.Request)
			refused(t, s.Verify(r, secret+"x", body, s.Date), "SignatureDoesNotMatch", "does not match")
			refused(t, s.Verify(r, "", body, s.Date), "InvalidClientTokenId", "security token")
		})
	}
}
