package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/google/go-cmp/cmp"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	k := pair()
	set, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{
		jwkOf(t, "rsa-1", k.rsa, true), jwkOf(t, "ec-1", &k.ec.PublicKey, false), jwkOf(t, "mac-1", []byte(secret), true),
	}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := json.Marshal(jwkOf(t, "ed-1", k.ed, true))
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		ID, Alg string
		Signs   bool
	}
	tests := map[string]struct {
		data []byte
		want []key
	}{
		"secret":                    {[]byte(secret), []key{{"", "HS256", true}}},
		"secret, CRLF":              {[]byte(secret + "\r\n"), []key{{"", "HS256", true}}},
		"binary, starts with {":     {append([]byte{'{', 0xff, 0xfe}, make([]byte, 40)...), []key{{"", "HS256", true}}},
		"JWK set":                   {set, []key{{"rsa-1", "RS256", true}, {"ec-1", "ES256", false}, {"mac-1", "HS256", true}}},
		"JWK":                       {one, []key{{"ed-1", "EdDSA", true}}},
		"PEM public after a remark": {append([]byte("the key of May\n"), pemOf(t, &k.ec.PublicKey)...), []key{{"", "ES256", false}}},
		"PEM PKCS #1":               {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k.rsa)}), []key{{"", "RS256", true}}},
		"PEM PKCS #8":               {privatePEM(t, k.ed), []key{{"", "EdDSA", true}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []key
			for _, k := range keysOf(t, tt.data) {
				got = append(got, key{k.ID, k.Algorithm(), k.Signs()})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseKeys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()
	k := pair()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	wrongAlg := jwkOf(t, "a", &k.rsa.PublicKey, false)
	wrongAlg.ALG = "PS256"
	enc := jwkOf(t, "a", &k.rsa.PublicKey, false)
	enc.USE = jwkset.UseEnc
	marshal := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	tests := map[string]struct {
		data []byte
		want string
	}{
		"empty":                {nil, "at least 32 bytes, this one has 0"},
		"31 bytes and newline": {[]byte(secret[:31] + "\n"), "this one has 31"},
		"short JWK secret":     {[]byte(`{"kty":"oct","k":"c2hvcnQ"}`), "at least 32 bytes"},
		"broken JSON":          {[]byte(`{"keys":[{"kty":"RSA"`), "not a JWK set"},
		"no keys":              {[]byte(`{"keys":[]}`), "holds no key"},
		"not a JWK":            {[]byte(`{"hello":"world, this is longer than 32 bytes"}`), "key 1"},
		"JWK of another alg":   {marshal(wrongAlg), `its alg is "PS256"`},
		"JWK for encryption":   {marshal(enc), "encryption"},
		"P-384":                {pemOf(t, &p384.PublicKey), "P-256"},
		"RSA 1024":             {pemOf(t, smallRSA(t)), "at least 2048 bits"},
		"certificate":          {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "PEM block 1 (CERTIFICATE)"},
		"PEM cut off":          {pemOf(t, &k.rsa.PublicKey)[:100], "no complete PEM block"},
		"second PEM cut off":   {append(pemOf(t, k.ed.Public()), pemOf(t, &k.rsa.PublicKey)[:100]...), "not PEM follow"},
		"PEM with garbage":     {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("garbage")}), "PEM block 1"},
		"public DER":           {der, "public key"},
		"public PKCS #1 DER":   {x509.MarshalPKCS1PublicKey(&k.rsa.PublicKey), "public key"},
		"public SSH":           {[]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH7 me@host\n"), "public key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := ParseKeys(tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseKeys = %d keys, error %v; want an error with %q", len(keys), err, tt.want)
			}
		})
	}
}

func smallRSA(t *testing.T) *rsa.PublicKey {
	t.Helper()
	n := new(big.Int).Rsh(pair().rsa.N, 1024)
	n.SetBit(n, 0, 1)
	return &rsa.PublicKey{N: n, E: pair().rsa.E}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	k := pair()
	tests := map[string]struct {
		data []byte
		g    Grant
		want string
	}{
		"public key":   {pemOf(t, &k.rsa.PublicKey), Grant{TTL: time.Hour}, "only verify"},
		"no life":      {[]byte(secret), Grant{}, "at least a second"},
		"bad scope":    {[]byte(secret), Grant{TTL: time.Hour, Scope: "queues:send:a queues:sned:b"}, `"queues:sned:b"`},
		"bad resource": {[]byte(secret), Grant{TTL: time.Hour, Scope: "queue:send:a"}, "queues, topics or admin"},
		"two parts":    {[]byte(secret), Grant{TTL: time.Hour, Scope: "queues:send"}, "name pattern"},
		"bad tenant":   {[]byte(secret), Grant{TTL: time.Hour, Tenant: "a b"}, "tenant"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, err := Issue(keysOf(t, tt.data)[0], tt.g, start)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Issue = %q, error %v; want an error with %q", token, err, tt.want)
			}
		})
	}
	for name, private := range map[string]any{"RS256": k.rsa, "ES256": k.ec, "EdDSA": k.ed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := keysOf(t, privatePEM(t, private))[0]
			key.ID = "k1"
			token, err := Issue(key, Grant{Subject: "me", Issuer: "i", Audience: "a", TTL: time.Minute}, start)
			if err != nil {
				t.Fatalf("Issue: %v", err)
			}
			v := newVerifier(t, Config{Keys: []Key{key}, Issuer: "i", Audience: "a", Now: newClock().Now})
			p, err := v.Verify(t.Context(), token)
			if err != nil || p.Subject != "me" {
				t.Errorf("Verify = %+v, %v; want subject me", p, err)
			}
		})
	}
}
