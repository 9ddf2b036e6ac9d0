package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
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
		"binary, starts with {":     {append([]byte{'{', 0xff, 0xfe}, secret...), []key{{"", "HS256", true}}},
		"32 bytes in base64":        {[]byte(base64.StdEncoding.EncodeToString([]byte(secret)) + "\n"), []key{{"", "HS256", true}}},
		"64 bytes in two lines":     {[]byte("R7vXnJ0m4zHq2tYw8sKdLf5cAeUoPbGi1xTjMrVaZy6NQhWkOlSuEpDgFC3BI9+/\nabcd1234EFGHijkl5678MNOP\n"), []key{{"", "HS256", true}}},
		"hexadecimal":               {[]byte("3082010a0e4f7a525f0cd8e193a46c0e1c8f7b210e4f7a525f0c8d1e93a46c0e"), []key{{"", "HS256", true}}},
		"a sentence":                {[]byte("the quick brown fox jumps over the lazy dog"), []key{{"", "HS256", true}}},
		"begins like a list":        {[]byte("[x7#kQ!mZ0pL^vT9@wR2&yU5*bN8(cD3)"), []key{{"", "HS256", true}}},
		"begins with a quote":       {[]byte(`"x7#kQ!mZ0pL^vT9@wR2&yU5*bN8(cD3)`), []key{{"", "HS256", true}}},
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
		"empty":                {nil, "it is empty: make a secret"},
		"31 bytes and newline": {[]byte(secret[:31] + "\n"), "this one has 31"},
		"short JWK secret":     {[]byte(`{"kty":"oct","k":"c2hvcnQ"}`), "at least 32 bytes"},
		"broken JSON":          {[]byte(`{"keys":[{"kty":"RSA"`), "not a JWK set"},
		"no keys":              {[]byte(`{"keys":[]}`), "holds no key"},
		"not a JWK":            {[]byte(`{"hello":"world, this is longer than 32 bytes"}`), "key 1"},
		"JWK of another alg":   {marshal(wrongAlg), `its alg is "PS256"`},
		"JWK for encryption":   {marshal(enc), "encryption"},
		"P-384":                {pemOf(t, &p384.PublicKey), "P-256"},
		"RSA 1024":             {pemOf(t, smallRSA(t)), "at least 2048 bits"},
		"certificate":          {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "openssl x509 -pubkey"},
		"encrypted private":    {pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}), "decrypt it"},
		"SSH private":          {pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: der}), "ssh-keygen"},
		"PEM cut off":          {pemOf(t, &k.rsa.PublicKey)[:100], "no complete PEM block"},
		"second PEM cut off":   {append(pemOf(t, k.ed.Public()), pemOf(t, &k.rsa.PublicKey)[:100]...), "not PEM follow"},
		"PEM with garbage":     {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("garbage")}), "PEM block 1"},
		"public DER":           {der, "public key"},
		"public PKCS #1 DER":   {x509.MarshalPKCS1PublicKey(&k.rsa.PublicKey), "public key"},
		"public SSH":           {[]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH7 me@host\n"), "SSH key"},
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

// TestNoSecretByMistake has what people put into a key file that is no secret: others know it, or can guess it.
func TestNoSecretByMistake(t *testing.T) {
	t.Parallel()
	k := pair()
	must := func(der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	public := must(x509.MarshalPKIXPublicKey(&k.rsa.PublicKey))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: start.Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, &k.ec.PublicKey, k.ec))
	jwk := must(json.Marshal(jwkOf(t, "a", &k.rsa.PublicKey, false)))
	pemFile := pemOf(t, &k.ec.PublicKey)
	b64 := func(raw []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(raw)) }
	wide := func(text []byte, order binary.AppendByteOrder) []byte {
		var out []byte
		for _, r := range "\ufeff" + string(text) {
			out = order.AppendUint16(out, uint16(r))
		}
		return out
	}
	ssh := "AAAAC3NzaC1lZDI1NTE5AAAAIH7p5YDpR8l0Y6eX3cRkq1n0ZJw4m2v5b8s9t0u1v2w3"
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"32 zero bytes":            {make([]byte, 32), "1 different bytes"},
		"one character":            {bytes.Repeat([]byte("k"), 64), "1 different bytes"},
		"40 newlines":              {bytes.Repeat([]byte("\n"), 40), "white space"},
		"all kinds of white space": {bytes.Repeat([]byte(" \t\r\n\v\f\u00a0"), 10), "white space"},
		"few characters":           {[]byte("0101101011010101101001010110101001011010"), "2 different bytes"},
		"zero bytes in base64":     {b64(make([]byte, 32)), "2 different bytes"},
		"a word again and again":   {[]byte("changemechangemechangemechangeme"), "repeats the same 8 bytes"},
		"zero bytes in a JWK":      {[]byte(`{"kty":"oct","k":"` + strings.Repeat("A", 43) + `"}`), "1 different bytes"},
		"a public key in a JWK":    {[]byte(`{"kty":"oct","k":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`), "a public key in DER"},
		"public":                   {b64(public), "a public key in base64"},
		"PEM without its lines":    {between(pemOf(t, &k.rsa.PublicKey)), "a public key in base64"},
		"the same, CRLF":           {bytes.ReplaceAll(between(pemFile), []byte("\n"), []byte("\r\n")), "a public key in base64"},
		"public, URL alphabet":     {[]byte(base64.RawURLEncoding.EncodeToString(public)), "a public key in base64"},
		"public, hexadecimal":      {[]byte(hex.EncodeToString(public)), "a public key in base64 or hexadecimal"},
		"public PKCS #1":           {b64(x509.MarshalPKCS1PublicKey(&k.rsa.PublicKey)), "a public key in base64"},
		"public, other curve":      {b64(must(x509.MarshalPKIXPublicKey(p521(t)))), "a public key in base64"},
		"private PKCS #8":          {b64(must(x509.MarshalPKCS8PrivateKey(k.ed))), "a private key in base64"},
		"private PKCS #8 DER":      {must(x509.MarshalPKCS8PrivateKey(k.rsa)), "a private key in DER"},
		"private PKCS #1 DER":      {x509.MarshalPKCS1PrivateKey(k.rsa), "a private key in DER"},
		"private SEC 1 DER":        {must(x509.MarshalECPrivateKey(k.ec)), "a private key in DER"},
		"certificate DER":          {certificate, "a certificate in DER"},
		"certificate DER, newline": {append(bytes.Clone(certificate), '\n'), "a certificate in DER"},
		"certificate":              {b64(certificate), "a certificate in base64"},
		"DER of something":         {append([]byte{0x30, 46, 0x04, 44}, secret+"0123456789ab"...), "a key or a certificate in DER"},
		"PEM encoded once more":    {b64(pemFile), "encoded once more"},
		"JWK encoded once more":    {b64(jwk), "encoded once more"},
		"SSH with options":         {[]byte(`from="10.0.0.1" ssh-ed25519 ` + ssh + " me@host"), "SSH"},
		"SSH known host":           {[]byte("host.example ecdsa-sha2-nistp256 " + ssh), "SSH"},
		"SSH hardware key":         {[]byte("sk-ssh-ed25519@openssh.com " + ssh), "SSH"},
		"SSH without its name":     {[]byte(ssh + "\n"), "an SSH key in base64"},
		"SSH of RFC 4716":          {[]byte("---- BEGIN SSH2 PUBLIC KEY ----\n" + ssh + "\n---- END SSH2 PUBLIC KEY ----\n"), "SSH"},
		"key as openssl prints it": {[]byte("Public-Key: (2048 bit)\nModulus:\n    00:c3:5e\nExponent: 65537 (0x10001)\n"), "without -text"},
		"list of JWKs":             {[]byte("[" + string(jwk) + "]"), "not a JWK set"},
		"list of JWKs, cut off":    {[]byte("[" + string(jwk)), "not a JWK set"},
		"secret in quotes":         {[]byte(`"` + secret + `"` + "\n"), "not a JWK set"},
		"JSON of something":        {[]byte(`{"error":"not found, and this is longer than 32 bytes"}`), "key 1"},
		"HTML":                     {[]byte("<!DOCTYPE html>\n<html><body>404 page not found</body></html>"), "HTML"},
		"XML":                      {[]byte("\n<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"), "HTML"},
		"token":                    {[]byte("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.mvp1Y4Jz0w-7hQ0d3y5y"), "a token"},
		"UTF-8 with a mark":        {[]byte("\ufeff" + secret), "byte order mark"},
		"JWK with a mark":          {append([]byte("\ufeff"), jwk...), "byte order mark"},
		"PEM with a mark":          {append([]byte("\ufeff"), pemFile...), "byte order mark"},
		"UTF-16":                   {wide([]byte(secret), binary.LittleEndian), "byte order mark"},
		"PEM in UTF-16":            {wide(pemFile, binary.BigEndian), "byte order mark"},
		"UTF-16 without a mark":    {wide([]byte(secret), binary.LittleEndian)[2:], "byte order mark"},
		"nothing but a newline":    {[]byte("\n"), "at least 32 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := ParseKeys(tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseKeys = %d keys, error %v; want an error with %q", len(keys), err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats the secret: %v", err)
			}
		})
	}
}

// between is what is between the lines that begin and end a PEM block.
func between(block []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(block), []byte("\n"))
	return bytes.Join(lines[1:len(lines)-1], []byte("\n"))
}

func p521(t *testing.T) *ecdsa.PublicKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &key.PublicKey
}

// TestRandomSecretsAreTaken: none of the rules against mistakes refuses what a machine has drawn.
func TestRandomSecretsAreTaken(t *testing.T) {
	t.Parallel()
	for range 3000 {
		raw := make([]byte, minSecretBytes+1) // of which one may be the newline that is ignored
		if _, err := rand.Read(raw); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{raw, []byte(base64.StdEncoding.EncodeToString(raw)), []byte(base64.RawURLEncoding.EncodeToString(raw)), []byte(hex.EncodeToString(raw))} {
			if _, err := ParseKeys(data); err != nil {
				t.Fatalf("ParseKeys(%q): %v", data, err)
			}
		}
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
