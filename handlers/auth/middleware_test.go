package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve runs one request through the middleware and says what came out.
func serve(t testing.TB, v *Verifier, authorization ...string) (p *Principal, status int, challenge string) {
	t.Helper()
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("refused with %T, want *auth.Error", err)
		}
		w.WriteHeader(e.Status)
	}
	h := Middleware(v, refuse)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got := From(r.Context())
		p = &got
	}))
	r := httptest.NewRequest(http.MethodGet, "/v1/queues", nil)
	if len(authorization) > 0 {
		r.Header["Authorization"] = authorization
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return p, w.Code, w.Header().Get("WWW-Authenticate")
}

func issued(t testing.TB, g Grant) string {
	t.Helper()
	token, err := Issue(keysOf(t, []byte(secret))[0], g, start)
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	return token
}

func TestMiddlewareAccepts(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, Config{Keys: keysOf(t, []byte(secret)), Now: newClock().Now})
	token := issued(t, Grant{Subject: "me", Tenant: "acme", TTL: time.Minute})
	for _, header := range []string{"Bearer " + token, "bearer " + token, "BEARER  " + token + " "} {
		p, status, _ := serve(t, v, header)
		if status != http.StatusOK || p == nil || p.Tenant != "acme" || p.Subject != "me" {
			t.Errorf("%.8s…: status %d, principal %+v; want me of acme", header, status, p)
		}
	}
}

func TestMiddlewareRefuses(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, Config{Keys: keysOf(t, []byte(secret)), Now: newClock().Now})
	token := issued(t, Grant{TTL: time.Minute})
	tests := map[string]struct {
		headers   []string
		challenge string
	}{
		"none":    {nil, `Bearer realm="dabba"`},
		"empty":   {[]string{""}, `Bearer realm="dabba"`},
		"basic":   {[]string{"Basic bWU6eW91"}, `Bearer realm="dabba"`},
		"no word": {[]string{"Bearer"}, `Bearer realm="dabba"`},
		"spaces":  {[]string{"Bearer   "}, `Bearer realm="dabba"`},
		"joined":  {[]string{"Bearer" + token}, `Bearer realm="dabba"`},
		"two":     {[]string{"Bearer " + token, "Bearer " + token}, `Bearer realm="dabba", error="invalid_token", error_description="There is more than one Authorization header: send one."`},
		"garbage": {[]string{`Bearer "\` + "\x01é"}, `Bearer realm="dabba", error="invalid_token", error_description="The token is not a JSON Web Token: get one with dabba token or from your identity provider."`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, status, challenge := serve(t, v, tt.headers...)
			if p != nil || status != http.StatusUnauthorized || challenge != tt.challenge {
				t.Errorf("got principal %+v, status %d, challenge %s; want none, 401, %s", p, status, challenge, tt.challenge)
			}
		})
	}
}

func TestMiddlewareWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, headers := range [][]string{nil, {"Bearer whatever"}} {
		p, status, _ := serve(t, nil, headers...)
		if status != http.StatusOK || p == nil || p.Tenant != "default" || p.Subject != "anonymous" || !p.Allows("queues", "manage", "x") {
			t.Errorf("headers %q: status %d, principal %+v; want anonymous", headers, status, p)
		}
	}
}

func TestMiddlewareWithAccessKeysOnly(t *testing.T) {
	t.Parallel()
	v := NoTokens()
	token := issued(t, Grant{Subject: "me", Scope: everything, TTL: time.Minute})
	for _, headers := range [][]string{nil, {"Bearer " + token}, {"AWS4-HMAC-SHA256 Credential=x"}} {
		p, status, challenge := serve(t, v, headers...)
		if p != nil || status != http.StatusUnauthorized || challenge != `Bearer realm="dabba"` {
			t.Errorf("headers %q: principal %+v, status %d, challenge %s; want none, 401", headers, p, status, challenge)
		}
	}
	_, err := v.Verify(t.Context(), token)
	if e := refusal(t, err); !strings.Contains(e.Detail, "--auth-keys") {
		t.Errorf("refused with %q, want it to say what to do", e.Detail)
	}
}

// FuzzAuthorization feeds the whole path from header to principal. Nothing that the key did not sign may get through.
func FuzzAuthorization(f *testing.F) {
	token := issued(f, Grant{Subject: "me", Scope: everything, TTL: time.Minute})
	parts := strings.Split(token, ".")
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + token, "bearer " + token, "Bearer " + parts[0] + "." + parts[1] + ".",
		"Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer a.b.c", "Bearer ..", "Basic Zm9vOmJhcg==",
		"Bearer eyJhbGciOiJIUzI1NiIsImNyaXQiOlsiYjY0Il19.e30.AA", "Bearer " + token + "=",
	} {
		f.Add(seed)
	}
	v := newVerifier(f, Config{Keys: keysOf(f, []byte(secret)), Now: newClock().Now})
	f.Fuzz(func(t *testing.T, header string) {
		p, status, challenge := serve(t, v, header)
		if p == nil {
			if status != http.StatusUnauthorized || challenge == "" || strings.ContainsAny(challenge, "\r\n") {
				t.Errorf("refused with status %d and challenge %q", status, challenge)
			}
			return
		}
		if !strings.Contains(header, token) {
			t.Errorf("header %q got through as %+v", header, p)
		}
	})
}

// FuzzParseKeys: whatever the file holds, keys come out with an algorithm or an error does.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(secret))
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}`))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`))
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`))
	f.Add(pemOf(f, &pair().ec.PublicKey))
	f.Add(privatePEM(f, pair().ed))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := ParseKeys(data)
		if err == nil && len(keys) == 0 {
			t.Error("neither a key nor an error")
		}
		for _, k := range keys {
			if methods[k.Algorithm()] == nil {
				t.Errorf("a key of algorithm %q", k.Algorithm())
			}
		}
	})
}
