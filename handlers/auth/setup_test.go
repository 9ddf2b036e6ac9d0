package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const secret = "0123456789abcdef0123456789abcdef"

// clock is a wall clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// pair is one key of each kind, made once since RSA keys take a while.
var pair = sync.OnceValue(func() (p struct {
	rsa, otherRSA *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
	ed            ed25519.PrivateKey
},
) {
	var err error
	if p.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		panic(err)
	}
	if p.otherRSA, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		panic(err)
	}
	if p.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	if _, p.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		panic(err)
	}
	return p
})

func pemOf(t testing.TB, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func privatePEM(t testing.TB, private any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func keysOf(t testing.TB, data []byte) []Key {
	t.Helper()
	keys, err := ParseKeys(data)
	if err != nil {
		t.Fatalf("ParseKeys: %v", err)
	}
	return keys
}

func newVerifier(t testing.TB, c Config) *Verifier {
	t.Helper()
	v, err := New(t.Context(), c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return v
}

// good are claims that pass; tests change one thing.
func good() jwt.MapClaims {
	return jwt.MapClaims{
		"sub":   "worker-7",
		"exp":   start.Add(time.Hour).Unix(),
		"scope": "queues:receive:orders",
	}
}

func but(c jwt.MapClaims, name string, value any) jwt.MapClaims {
	if value == nil {
		delete(c, name)
	} else {
		c[name] = value
	}
	return c
}

func sign(t testing.TB, m jwt.SigningMethod, key any, c jwt.MapClaims, header ...string) string {
	t.Helper()
	token := jwt.NewWithClaims(m, c)
	for i := 0; i < len(header); i += 2 {
		token.Header[header[i]] = header[i+1]
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	return s
}

func refusal(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v (%T), want an *auth.Error", err, err)
	}
	return e
}
