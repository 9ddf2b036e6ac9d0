package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Grant is what a new token says.
type Grant struct {
	Subject string
	// Tenant is left out of the token when empty, which means [DefaultTenant].
	Tenant string
	// Scope is a space-separated list of scopes; each must be one that allows something.
	Scope            string
	Issuer, Audience string
	// TTL is how long the token is valid, at least a second.
	TTL time.Duration
}

// Issue signs a token that is valid from now on. The key must have its private half.
func Issue(k Key, g Grant, now time.Time) (string, error) {
	if !k.Signs() {
		return "", errors.New("this key can only verify: signing needs a private key or a shared secret")
	}
	if g.TTL < time.Second {
		return "", fmt.Errorf("a token lives at least a second, not %v", g.TTL)
	}
	if err := CheckScopes(g.Scope); err != nil {
		return "", err
	}
	if g.Tenant != "" {
		if err := CheckTenant(g.Tenant); err != nil {
			return "", err
		}
	}
	c := claims{Tenant: g.Tenant, Scope: g.Scope, RegisteredClaims: jwt.RegisteredClaims{
		Issuer:    g.Issuer,
		Subject:   g.Subject,
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(g.TTL)),
	}}
	if g.Audience != "" {
		c.Audience = jwt.ClaimStrings{g.Audience}
	}
	t := jwt.NewWithClaims(methods[k.alg], c)
	if k.ID != "" {
		t.Header["kid"] = k.ID
	}
	token, err := t.SignedString(k.private)
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return token, nil
}
