package sqs_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs"
)

// The access keys of the servers of withAccessKeys.
const (
	ownersKey  = "the-secret-of-the-owner-0123456789"
	guestsKey  = "the-secret-of-the-guest-0123456789"
	accessKeys = `{"keys": [
		{"access_key_id": "OWNER", "secret_access_key": "` + ownersKey + `", "scope": "queues:*:*"},
		{"access_key_id": "GUEST", "secret_access_key": "` + guestsKey + `", "tenant": "guests", "scope": "queues:*:*"}
	]}`
)

func withAccessKeys(t *testing.T) *server {
	t.Helper()
	keys, err := auth.ParseAccessKeys([]byte(accessKeys))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, func(c *sqs.Config) { c.AccessKeys = keys })
}

// presigned is the path of a GET with the parameters, signed in the query as the documentation of Signature Version 4 says.
func (s *server) presigned(id, secret string, params url.Values) string {
	at := s.now().UTC()
	day, region := at.Format("20060102"), "us-east-1"
	params.Set("X-Amz-Algorithm", "AWS4-HMAC-SHA256")
	params.Set("X-Amz-Credential", id+"/"+day+"/"+region+"/sqs/aws4_request")
	params.Set("X-Amz-Date", at.Format("20060102T150405Z"))
	params.Set("X-Amz-Expires", "60")
	params.Set("X-Amz-SignedHeaders", "host")
	query := strings.ReplaceAll(params.Encode(), "+", "%20")
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	sign := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	canonical := "GET\n/\n" + query + "\nhost:" + s.host + "\n\nhost\n" + hash("")
	scope := day + "/" + region + "/sqs/aws4_request"
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = sign(key, part)
	}
	signature := sign(key, "AWS4-HMAC-SHA256\n"+at.Format("20060102T150405Z")+"\n"+scope+"\n"+hash(canonical))
	return "/?" + query + "&X-Amz-Signature=" + hex.EncodeToString(signature)
}

func TestFact018PresignedGET(t *testing.T) {
	t.Parallel()
	s := withAccessKeys(t)
	for _, name := range operations {
		path := s.presigned("OWNER", ownersKey, url.Values{"Action": {name}})
		if got := s.get(path); got.status != http.StatusOK && got.status != http.StatusBadRequest {
			t.Errorf("%s, presigned, answered %d %s", name, got.status, got.body)
		}
		s.get("/?Action="+name).refused(http.StatusForbidden, "MissingAuthenticationToken", "")
		forged := s.presigned("OWNER", guestsKey, url.Values{"Action": {name}})
		s.get(forged).refused(http.StatusForbidden, "SignatureDoesNotMatch", "")
	}
	s.get(s.presigned("OWNER", ownersKey, url.Values{"Action": {"CreateQueue"}, "QueueName": {"q"}})).ok()
	s.get(s.presigned("OWNER", ownersKey, url.Values{"Action": {"SendMessage"}, "QueueUrl": {"q"}, "MessageBody": {"a b&c"}})).ok()
	got := s.get(s.presigned("OWNER", ownersKey, url.Values{"Action": {"ReceiveMessage"}, "QueueUrl": {"q"}})).ok().list("Messages")
	same(t, "received", bodies(got), []string{"a b&c"})
}

func TestAKeyStandsForItsTenant(t *testing.T) {
	t.Parallel()
	s := withAccessKeys(t)
	s.get(s.presigned("OWNER", ownersKey, url.Values{"Action": {"CreateQueue"}, "QueueName": {"q"}})).ok()
	find := url.Values{"Action": {"GetQueueUrl"}, "QueueName": {"q"}}
	s.get(s.presigned("OWNER", ownersKey, find)).ok()
	s.get(s.presigned("GUEST", guestsKey, find)).refused(http.StatusBadRequest, noQueue, "")
	s.get(s.presigned("NOBODY", ownersKey, find)).refused(http.StatusForbidden, "InvalidClientTokenId", "")
}

// With access keys alone there is nothing that a token could be checked with.
func TestATokenIsNoAccessKey(t *testing.T) {
	t.Parallel()
	s := withAccessKeys(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?Action=ListQueues", nil)
	r.Header.Set("Authorization", "Bearer token")
	s.send(r).refused(http.StatusForbidden, "MissingAuthenticationToken", "")
}

// Whatever region a request names becomes a part of a namespace.
func TestARegionIsAWord(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, region := range []string{"EU", "eu_west", strings.Repeat("a", 33)} {
		s.region(region).json("ListQueues", params{}).refused(http.StatusBadRequest, "InvalidAddress", "")
	}
	s.region(strings.Repeat("a", 32)).json("ListQueues", params{}).ok()
}

// unreadBody fails the test when it is read.
type unreadBody struct{ t *testing.T }

func (b unreadBody) Read([]byte) (int, error) {
	b.t.Error("the body was read before the headers were checked")
	return 0, io.ErrUnexpectedEOF
}

// Who has no key cannot fill the server's memory with bodies.
func TestHeadersAreCheckedBeforeABodyIsRead(t *testing.T) {
	t.Parallel()
	s := withAccessKeys(t)
	at := s.now().UTC()
	day, now := at.Format("20060102"), at.Format("20060102T150405Z")
	old := at.Add(-time.Hour).Format("20060102T150405Z")
	signed := func(id, day, service, names string) string {
		return "AWS4-HMAC-SHA256 Credential=" + id + "/" + day + "/us-east-1/" + service + "/aws4_request, SignedHeaders=" + names +
			", Signature=" + strings.Repeat("0", 64)
	}
	for name, tt := range map[string]struct{ authorization, date, code string }{
		"no signature":     {"", now, "MissingAuthenticationToken"},
		"a token":          {"Bearer token", now, "MissingAuthenticationToken"},
		"an unknown key":   {signed("NOBODY", day, "sqs", "host;x-amz-date;x-amz-target"), now, "InvalidClientTokenId"},
		"another service":  {signed("OWNER", day, "sns", "host;x-amz-date;x-amz-target"), now, "SignatureDoesNotMatch"},
		"another time":     {signed("OWNER", old[:8], "sqs", "host;x-amz-date;x-amz-target"), old, "SignatureDoesNotMatch"},
		"an unsigned host": {signed("OWNER", day, "sqs", "x-amz-date;x-amz-target"), now, "SignatureDoesNotMatch"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", unreadBody{t})
		r.ContentLength = 16 << 20
		r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		r.Header.Set("X-Amz-Date", tt.date)
		if tt.authorization != "" {
			r.Header.Set("Authorization", tt.authorization)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if got := w.Header().Get("X-Amzn-Query-Error"); w.Code != http.StatusForbidden || !strings.HasPrefix(got, tt.code) {
			t.Errorf("%s: %d %s, want 403 %s", name, w.Code, got, tt.code)
		}
	}
}
