package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

const (
	minSecretBytes = 32
	minRSABits     = 2048
)

// methods are the signing methods this package accepts, by the name that a token's header uses.
var methods = map[string]jwt.SigningMethod{
	"HS256": jwt.SigningMethodHS256,
	"RS256": jwt.SigningMethodRS256,
	"ES256": jwt.SigningMethodES256,
	"EdDSA": jwt.SigningMethodEdDSA,
}

var algorithms = []string{"HS256", "RS256", "ES256", "EdDSA"}

// Key verifies tokens and, when its private half is known, signs them. It works with one algorithm only, the one
// that its type dictates.
type Key struct {
	// ID is the key's "kid"; empty for a key that has none, which is then tried on every token of its algorithm.
	ID string

	alg     string
	public  any
	private any
}

// Algorithm is HS256, RS256, ES256 or EdDSA.
func (k Key) Algorithm() string { return k.alg }

// Signs says whether the key can sign tokens.
func (k Key) Signs() bool { return k.private != nil }

// newKey ties a key, of any type the standard library's parsers return, to its algorithm.
func newKey(id string, material any) (Key, error) {
	k := Key{ID: id}
	switch m := material.(type) {
	case []byte:
		k.public, k.private = m, m
	case *rsa.PrivateKey:
		k.public, k.private = &m.PublicKey, m
	case *ecdsa.PrivateKey:
		k.public, k.private = &m.PublicKey, m
	case ed25519.PrivateKey:
		k.public, k.private = m.Public(), m
	default:
		k.public = m
	}
	var err error
	k.alg, err = algorithmOf(k.public)
	return k, err
}

// algorithmOf is the one algorithm for which a verification key may be used.
func algorithmOf(public any) (string, error) {
	switch p := public.(type) {
	case []byte:
		if err := checkSecret(p); err != nil {
			return "", err
		}
		return "HS256", nil
	case *rsa.PublicKey:
		if p.N.BitLen() < minRSABits {
			return "", fmt.Errorf("an RSA key has at least %d bits, this one has %d", minRSABits, p.N.BitLen())
		}
		return "RS256", nil
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return "", errors.New("an elliptic key is on the curve P-256, this one is not")
		}
		return "ES256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	default:
		return "", fmt.Errorf("keys are a shared secret, RSA, elliptic P-256 or Ed25519, this one is a %T", public)
	}
}
