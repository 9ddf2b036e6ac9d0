package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	service    = "sqs"
	terminator = "aws4_request"
	unsigned   = "UNSIGNED-PAYLOAD"
	// maxSkew is how far the signer's clock may be from the server's.
	maxSkew = 15 * time.Minute
)

// Verify returns nil if the request that [Parse] read this from was signed with the secret, for the service sqs, and
// neither too long ago nor ahead of time. Otherwise it returns an [*Error]. The body is all of the request's body as it
// was sent. The request must be as it was received: its path, query, headers and Host count, also where no SDK would
// have set them. Verify changes nothing and may be called concurrently.
func (s Signature) Verify(r *http.Request, secret string, body []byte, now time.Time) error {
	if secret == "" {
		return ErrUnknownKey // everybody can sign with an empty secret
	}
	if err := s.Check(r, now); err != nil {
		return err
	}
	rest, err := s.canonicalRest(r, body)
	if err != nil {
		return err
	}
	key := s.signingKey(secret)
	for _, path := range canonicalPaths(r.URL) {
		if hmac.Equal([]byte(s.sign(key, r.Method+"\n"+path+"\n"+rest)), []byte(s.value)) {
			return nil
		}
	}
	return errWrong
}

// Check is what of [Signature.Verify] needs neither the secret nor the body: a request that does not pass it will not be
// verified, whatever its body is.
func (s Signature) Check(r *http.Request, now time.Time) error {
	if err := s.checkScope(); err != nil {
		return err
	}
	if err := s.checkTime(now); err != nil {
		return err
	}
	return s.checkSignedHeaders(r)
}

func (s Signature) checkScope() error {
	switch day := s.Date.Format(dayFormat); {
	case s.terminator != terminator:
		return mismatch("Credential should be scoped with a valid terminator: '" + terminator + "', not '" + printable(s.terminator) + "'.")
	case s.Service != service:
		return mismatch("Credential should be scoped to correct service: '" + service + "'.")
	case s.day != day:
		return mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" +
			printable(s.day) + "' != '" + day + "', from '" + s.Date.Format(timeFormat) + "'.")
	}
	return nil
}

func (s Signature) checkTime(now time.Time) error {
	now = now.UTC()
	earliest, latest := now.Add(-maxSkew), now.Add(maxSkew)
	at := s.Date.Format(timeFormat)
	switch {
	case s.Date.After(latest):
		return mismatch("Signature not yet current: " + at + " is still later than " + latest.Format(timeFormat) +
			" (" + now.Format(timeFormat) + " + 15 min.)")
	case s.Presigned && !now.Before(s.Date.Add(s.expires)):
		return requestExpired("The URL was signed at " + at + " for " + strconv.Itoa(int(s.expires/time.Second)) +
			" seconds and has expired: sign a new one.")
	case !s.Presigned && s.Date.Before(earliest):
		return mismatch("Signature expired: " + at + " is now earlier than " + earliest.Format(timeFormat) +
			" (" + now.Format(timeFormat) + " - 15 min.)")
	}
	return nil
}

// checkSignedHeaders wants those to be signed that say for whom and what the request is.
func (s Signature) checkSignedHeaders(r *http.Request) error {
	must := []string{"host"}
	if _, ok := r.Header["X-Amz-Target"]; ok {
		must = append(must, "x-amz-target")
	}
	for _, name := range must {
		if _, ok := slices.BinarySearch(s.headers, name); !ok {
			return mismatch("'" + name + "' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	return nil
}

// canonicalRest is the canonical request from the query on.
func (s Signature) canonicalRest(r *http.Request, body []byte) (string, error) {
	query, err := canonicalQuery(r.URL.RawQuery)
	if err != nil {
		return "", err
	}
	headers, err := canonicalHeaders(r, s.headers, body)
	if err != nil {
		return "", err
	}
	payload, err := s.payload(r, body)
	if err != nil {
		return "", err
	}
	return query + "\n" + headers + "\n" + strings.Join(s.headers, ";") + "\n" + payload, nil
}

// payload is the last line of the canonical request. A signer that left the body out says so in X-Amz-Content-Sha256, a
// header or a parameter of a presigned URL. Nobody else can say it, since the line itself is signed.
func (s Signature) payload(r *http.Request, body []byte) (string, error) {
	said := r.Header[payloadHeader]
	_, signed := slices.BinarySearch(s.headers, "x-amz-content-sha256")
	if s.Presigned && len(said) == 0 {
		said, signed = queryPayload(r), true
	}
	if len(said) > 0 && said[0] == unsigned {
		return unsigned, nil
	}
	hash := hexHash(body)
	if signed && len(said) > 0 && said[0] != hash {
		return "", mismatch("The X-Amz-Content-Sha256 of the request is not the SHA-256 of its body.")
	}
	return hash, nil
}

// queryPayload finds the header that some SDKs move into the query of a presigned URL, in lower case.
func queryPayload(r *http.Request) []string {
	for name, values := range r.URL.Query() {
		if strings.EqualFold(name, payloadHeader) {
			return values
		}
	}
	return nil
}

// signingKey is derived anew for each request: it takes few microseconds, and no secret stays behind.
func (s Signature) signingKey(secret string) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.day, s.Region, s.Service, s.terminator} {
		key = keyedHash(key, part)
	}
	return key
}

// sign is the signature of a canonical request.
func (s Signature) sign(key []byte, canonical string) string {
	scope := strings.Join([]string{s.day, s.Region, s.Service, s.terminator}, "/")
	text := strings.Join([]string{algorithm, s.Date.Format(timeFormat), scope, hexHash([]byte(canonical))}, "\n")
	return hex.EncodeToString(keyedHash(key, text))
}

func keyedHash(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
