package auth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider that publishes a key set.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	set     []byte // nil: out of order
	fetches int
}

func newProvider(t *testing.T, keys ...jwkset.JWKMarshal) *provider {
	t.Helper()
	p := &provider{}
	p.publish(t, keys...)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetches++
		if p.set == nil {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(p.set)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) publish(t *testing.T, keys ...jwkset.JWKMarshal) {
	t.Helper()
	data, err := json.Marshal(jwkset.JWKSMarshal{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = data
}

func jwkOf(t *testing.T, id string, key any, private bool) jwkset.JWKMarshal {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Marshal:  jwkset.JWKMarshalOptions{Private: private},
		Metadata: jwkset.JWKMetadataOptions{KID: id},
	})
	if err != nil {
		t.Fatal(err)
	}
	return jwk.Marshal()
}

func TestRemoteKeysRotate(t *testing.T) {
	t.Parallel()
	k := pair()
	idp := newProvider(t, jwkOf(t, "old", &k.rsa.PublicKey, false))
	v := newVerifier(t, Config{JWKSURL: idp.URL, Now: newClock().Now})
	old := sign(t, jwt.SigningMethodRS256, k.rsa, good(), "kid", "old")
	if _, err := v.Verify(t.Context(), old); err != nil {
		t.Fatalf("Verify with the first set: %v", err)
	}

	idp.publish(t, jwkOf(t, "new", k.ed.Public(), false))
	if _, err := v.Verify(t.Context(), old); err != nil {
		t.Fatalf("Verify before the new set was fetched: %v", err)
	}
	// A token that names an unknown key makes the verifier look for it.
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodEdDSA, k.ed, good(), "kid", "new")); err != nil {
		t.Fatalf("Verify with the second set: %v", err)
	}
	if p, err := v.Verify(t.Context(), old); err == nil {
		t.Errorf("Verify of a remembered token whose key is no longer published = %+v, want a refusal", p)
	}
}

func TestRemoteForgedKeyIDsDoNotFlood(t *testing.T) {
	t.Parallel()
	k := pair()
	idp := newProvider(t, jwkOf(t, "a", &k.rsa.PublicKey, false))
	v := newVerifier(t, Config{JWKSURL: idp.URL, Now: newClock().Now})
	for i := range 50 {
		token := sign(t, jwt.SigningMethodRS256, k.otherRSA, good(), "kid", strings.Repeat("x", i+1))
		if p, err := v.Verify(t.Context(), token); err == nil {
			t.Fatalf("Verify = %+v, want a refusal", p)
		}
	}
	idp.mu.Lock()
	defer idp.mu.Unlock()
	if idp.fetches > 3 {
		t.Errorf("50 forged tokens caused %d fetches, want at most one every %v", idp.fetches, unknownKeyInterval)
	}
}

func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	k := pair()
	shared := jwkOf(t, "shared", []byte(secret), true)
	forEncryption := jwkOf(t, "enc", &k.otherRSA.PublicKey, false)
	forEncryption.USE = jwkset.UseEnc
	idp := newProvider(t, jwkOf(t, "rsa", &k.rsa.PublicKey, false), shared, forEncryption)
	tests := map[string]string{
		"published shared secret": sign(t, jwt.SigningMethodHS256, []byte(secret), good(), "kid", "shared"),
		"the same, id left out":   sign(t, jwt.SigningMethodHS256, []byte(secret), good()),
		"public key as secret":    sign(t, jwt.SigningMethodHS256, pemOf(t, &k.rsa.PublicKey), good(), "kid", "rsa"),
		"key for encryption":      sign(t, jwt.SigningMethodRS256, k.otherRSA, good(), "kid", "enc"),
		"foreign, id left out":    sign(t, jwt.SigningMethodRS256, k.otherRSA, good()),
		"another algorithm":       sign(t, jwt.SigningMethodEdDSA, k.ed, good(), "kid", "rsa"),
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerifier(t, Config{JWKSURL: idp.URL, Now: newClock().Now})
			p, err := v.Verify(t.Context(), token)
			if err == nil {
				t.Fatalf("Verify = %+v, want a refusal", p)
			}
			if e := refusal(t, err); e.Status != http.StatusUnauthorized {
				t.Errorf("got %d %q, want 401", e.Status, e.Detail)
			}
		})
	}
	v := newVerifier(t, Config{JWKSURL: idp.URL, Now: newClock().Now})
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, k.rsa, good())); err != nil {
		t.Errorf("a good token without a key id: %v", err)
	}
}

func TestRemoteOutOfOrder(t *testing.T) {
	t.Parallel()
	k := pair()
	idp := newProvider(t)
	idp.set = nil
	var failures int
	v := newVerifier(t, Config{JWKSURL: idp.URL, Keys: keysOf(t, []byte(secret)), Now: newClock().Now, FetchFailed: func(error) { failures++ }})
	if failures != 1 {
		t.Errorf("FetchFailed was called %d times, want once", failures)
	}
	_, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, k.rsa, good()))
	if err == nil {
		t.Fatal("verified without any key")
	}
	if e := refusal(t, err); e.Status != http.StatusServiceUnavailable || e.Challenge() != "" {
		t.Errorf("got %d %q, want 503 without a challenge: the token may be fine", e.Status, e.Detail)
	}
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), good())); err != nil {
		t.Errorf("a token of a local key must pass meanwhile: %v", err)
	}
	idp.publish(t, jwkOf(t, "a", &k.rsa.PublicKey, false))
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, k.rsa, good(), "kid", "a")); err != nil {
		t.Errorf("after the provider recovered: %v", err)
	}
}

func TestRemoteBadURL(t *testing.T) {
	t.Parallel()
	if v, err := New(t.Context(), Config{JWKSURL: "not a url", Now: newClock().Now}); err == nil {
		t.Errorf("New = %v, want an error", v)
	}
}
