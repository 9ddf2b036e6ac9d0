package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

func TestVerifyAccepts(t *testing.T) {
	t.Parallel()
	p := pair()
	tests := map[string]struct {
		keys   []byte
		method jwt.SigningMethod
		key    any
	}{
		"HS256 raw secret":     {[]byte(secret + "\n"), jwt.SigningMethodHS256, []byte(secret)},
		"RS256 public PEM":     {pemOf(t, &p.rsa.PublicKey), jwt.SigningMethodRS256, p.rsa},
		"RS256 private PEM":    {privatePEM(t, p.rsa), jwt.SigningMethodRS256, p.rsa},
		"ES256 public PEM":     {pemOf(t, &p.ec.PublicKey), jwt.SigningMethodES256, p.ec},
		"EdDSA public PEM":     {pemOf(t, p.ed.Public()), jwt.SigningMethodEdDSA, p.ed},
		"second of three PEMs": {append(append(pemOf(t, &p.otherRSA.PublicKey), pemOf(t, &p.rsa.PublicKey)...), pemOf(t, p.ed.Public())...), jwt.SigningMethodRS256, p.rsa},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerifier(t, Config{Keys: keysOf(t, tt.keys), Now: newClock().Now})
			token := sign(t, tt.method, tt.key, but(good(), "tenant", "acme"))
			for _, round := range []string{"examined", "remembered"} {
				got, err := v.Verify(t.Context(), token)
				if err != nil {
					t.Fatalf("Verify (%s): %v", round, err)
				}
				if got.Tenant != "acme" || got.Subject != "worker-7" || !got.Expires.Equal(start.Add(time.Hour)) {
					t.Errorf("Verify (%s) = %+v, want tenant acme, subject worker-7, an hour to live", round, got)
				}
				if !got.Allows("queues", "receive", "orders") || got.Allows("queues", "send", "orders") {
					t.Errorf("Verify (%s): scopes %v are not those of the token", round, got.Scopes())
				}
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	p := pair()
	publicPEM := pemOf(t, &p.rsa.PublicKey)
	rsaOnly := Config{Keys: keysOf(t, publicPEM)}
	hmacOnly := Config{Keys: keysOf(t, []byte(secret))}
	hs256 := func(c jwt.MapClaims, header ...string) string {
		return sign(t, jwt.SigningMethodHS256, []byte(secret), c, header...)
	}
	segment := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	issuer := hmacOnly
	issuer.Issuer = "https://id.example"
	audience := hmacOnly
	audience.Audience = "dabba"
	named := Config{Keys: []Key{{ID: "a", alg: "HS256", public: []byte(secret)}}}

	tests := map[string]struct {
		config Config
		token  string
		detail string
	}{
		"expired":             {hmacOnly, hs256(but(good(), "exp", start.Add(-time.Second).Unix())), "expired at 2026-11-29T11:59:59Z"},
		"expires now":         {hmacOnly, hs256(but(good(), "exp", start.Unix())), "expired"},
		"no exp":              {hmacOnly, hs256(but(good(), "exp", nil)), "never expires"},
		"exp is a word":       {hmacOnly, hs256(but(good(), "exp", "tomorrow")), "not a JSON Web Token"},
		"exp beyond all time": {hmacOnly, hs256(but(good(), "exp", 1e300)), "expired"},
		"not yet":             {hmacOnly, hs256(but(good(), "nbf", start.Add(Leeway+time.Second).Unix())), "not valid yet"},
		"foreign secret":      {hmacOnly, sign(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), good()), "signature"},
		"foreign RSA key":     {rsaOnly, sign(t, jwt.SigningMethodRS256, p.otherRSA, good()), "signature"},
		"none":                {hmacOnly, sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good()), "algorithm"},
		"None":                {hmacOnly, segment(`{"alg":"None"}`) + "." + segment(`{"exp":9999999999}`) + ".", "algorithm"},
		"alg empty":           {hmacOnly, segment(`{"alg":""}`) + "." + segment(`{"exp":9999999999}`) + ".", "algorithm"},
		"HS512":               {hmacOnly, sign(t, jwt.SigningMethodHS512, []byte(secret), good()), "algorithm"},
		"RS512":               {rsaOnly, sign(t, jwt.SigningMethodRS512, p.rsa, good()), "algorithm"},
		"PS256":               {rsaOnly, sign(t, jwt.SigningMethodPS256, p.rsa, good()), "algorithm"},
		"public key as secret (PEM)": {
			rsaOnly, sign(t, jwt.SigningMethodHS256, publicPEM, good()), "No configured key fits",
		},
		"public key as secret (modulus)": {
			rsaOnly, sign(t, jwt.SigningMethodHS256, p.rsa.N.Bytes(), good()), "No configured key fits",
		},
		"ES256 on an RSA server": {rsaOnly, sign(t, jwt.SigningMethodES256, p.ec, good()), "No configured key fits"},
		"other key id":           {named, hs256(good(), "kid", "b"), "No configured key fits"},
		"critical header":        {hmacOnly, hs256(good(), "crit", "exp"), "critical"},
		"no issuer":              {issuer, hs256(good()), "claims"},
		"other issuer":           {issuer, hs256(but(good(), "iss", "https://evil.example")), "issuer"},
		"other audience":         {audience, hs256(but(good(), "aud", []string{"web", "mail"})), "audience"},
		"bad tenant":             {hmacOnly, hs256(but(good(), "tenant", "../acme")), "tenant is not a name"},
		"long tenant":            {hmacOnly, hs256(but(good(), "tenant", strings.Repeat("a", 81))), "tenant is not a name"},
		"scope is a list":        {hmacOnly, hs256(but(good(), "scope", []string{"admin:*:*"})), "not a JSON Web Token"},
		"two parts":              {hmacOnly, "a.b", "not a JSON Web Token"},
		"four parts":             {hmacOnly, hs256(good()) + ".x", "not a JSON Web Token"},
		"cut short":              {hmacOnly, hs256(good())[:60], "not a JSON Web Token"},
		"no signature":           {hmacOnly, hs256(good())[:strings.LastIndexByte(hs256(good()), '.')+1], "signature"},
		"payload changed":        {hmacOnly, changePayload(t, hs256(good())), "signature"},
		"far too long":           {hmacOnly, strings.Repeat("a", MaxTokenBytes+1), "longer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.config.Now = newClock().Now
			v := newVerifier(t, tt.config)
			for range 2 { // a refusal is not remembered as anything else
				got, err := v.Verify(t.Context(), tt.token)
				if err == nil {
					t.Fatalf("Verify(%s) = %+v, want a refusal", tt.token, got)
				}
				e := refusal(t, err)
				if e.Status != http.StatusUnauthorized || e.Code != "unauthenticated" || !strings.Contains(e.Detail, tt.detail) {
					t.Errorf("Verify(%s): got %d %s %q, want 401 unauthenticated … %q …", tt.token, e.Status, e.Code, e.Detail, tt.detail)
				}
				if got.Allows("queues", "read", "q") || got.Tenant != "" {
					t.Errorf("Verify(%s) = %+v, want nobody", tt.token, got)
				}
			}
		})
	}
}

func changePayload(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(payload), "orders", "ledger", 1)
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(changed))
	return strings.Join(parts, ".")
}

func TestVerifyAcceptsIssuerAudienceLeeway(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, Config{
		Keys: keysOf(t, []byte(secret)), Issuer: "https://id.example", Audience: "dabba", Now: newClock().Now,
	})
	c := but(but(good(), "iss", "https://id.example"), "aud", []string{"mail", "dabba"})
	c["nbf"] = start.Add(Leeway - time.Second).Unix()
	c["scope"] = "openid queues:send:* profile nonsense:send:x queues:dance:x queues:send"
	p, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), c))
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	if diff := cmp.Diff([]string{"queues:send:*"}, p.Scopes()); diff != "" {
		t.Errorf("words that are no scopes of ours must be passed over (-want +got):\n%s", diff)
	}
	if p.Tenant != DefaultTenant {
		t.Errorf("tenant = %q, want %q for a token without the claim", p.Tenant, DefaultTenant)
	}
}

func TestRememberedTokenExpires(t *testing.T) {
	t.Parallel()
	c := newClock()
	v := newVerifier(t, Config{Keys: keysOf(t, []byte(secret)), Now: c.Now})
	token := sign(t, jwt.SigningMethodHS256, []byte(secret), good())
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatalf("Verify: %v", err)
	}
	c.advance(time.Hour - time.Second)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("Verify a second before the end: %v", err)
	}
	c.advance(time.Second)
	if p, err := v.Verify(t.Context(), token); err == nil {
		t.Errorf("Verify at the end = %+v, want a refusal", p)
	}
}

func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, Config{Keys: keysOf(t, []byte(secret)), Now: newClock().Now})
	key := keysOf(t, []byte(secret))[0]
	for _, tenant := range []string{"acme", "globex", ""} {
		token, err := Issue(key, Grant{Subject: "same", Tenant: tenant, Scope: everything, TTL: time.Minute}, start)
		if err != nil {
			t.Fatalf("Issue: %v", err)
		}
		for range 2 { // examined, then remembered
			p, err := v.Verify(t.Context(), token)
			if err != nil {
				t.Fatalf("Verify: %v", err)
			}
			want := tenant
			if want == "" {
				want = DefaultTenant
			}
			if p.Tenant != want {
				t.Errorf("token of tenant %q: principal of tenant %q, want %q", tenant, p.Tenant, want)
			}
			if !p.Allows("queues", "manage", "anything") || !p.Allows("topics", "produce", "x") {
				t.Errorf("admin:*:* does not allow everything")
			}
		}
	}
}

func TestNewWithoutKeys(t *testing.T) {
	t.Parallel()
	if v, err := New(t.Context(), Config{Now: newClock().Now}); err == nil {
		t.Errorf("New without keys = %v, want an error: such a verifier would be a mistake", v)
	}
}

func BenchmarkVerifyRemembered(b *testing.B) {
	v := newVerifier(b, Config{Keys: keysOf(b, pemOf(b, &pair().rsa.PublicKey)), Now: newClock().Now})
	token := sign(b, jwt.SigningMethodRS256, pair().rsa, good())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyExamined(b *testing.B) {
	v := newVerifier(b, Config{Keys: keysOf(b, pemOf(b, &pair().rsa.PublicKey)), Now: newClock().Now})
	token := sign(b, jwt.SigningMethodRS256, pair().rsa, good())
	for b.Loop() {
		if _, err := v.examine(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
