package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MaxTokenBytes bounds what is looked at; a longer token is refused unread.
	MaxTokenBytes = 8 << 10
	// Leeway is how far another machine's clock may be ahead when it issues a token ("nbf"). The end of a token
	// ("exp") is taken as it stands.
	Leeway = 5 * time.Second
	// cachedTokens is how many verified tokens are remembered at least; at most twice as many are.
	cachedTokens = 4096
)

// Config says which tokens are good. At least one of Keys and JWKSURL is set.
type Config struct {
	// Keys verify tokens, in addition to those of JWKSURL.
	Keys []Key
	// JWKSURL is where an identity provider publishes its keys. They are fetched at start, every 15 minutes, and when
	// a token names a key that is not known yet, at most once in 10 seconds.
	JWKSURL string
	// Issuer and Audience must match the token's "iss" and be among its "aud", unless empty.
	Issuer, Audience string
	// Now is the wall clock.
	Now func() time.Time
	// FetchFailed is told when the keys could not be fetched; the ones known before stay in use. May be nil.
	FetchFailed func(error)
}

// Verifier turns bearer tokens into principals. Safe for concurrent use.
type Verifier struct {
	// refusal is why no token is good; nil for a verifier with keys.
	refusal *Error

	keys   []Key
	remote *remote
	parser *jwt.Parser
	now    func() time.Time
	cache  cache
}

// claims are what is read of a token.
type claims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tenant,omitempty"`
	Scope  string `json:"scope,omitempty"`
}

// New prepares a verifier. The context ends the refreshing of JWKSURL; New itself waits at most a few seconds for the
// first fetch and goes on without those keys if it fails (tokens then get a 503 until it succeeds).
func New(ctx context.Context, c Config) (*Verifier, error) {
	if len(c.Keys) == 0 && c.JWKSURL == "" {
		return nil, errors.New("no key to verify tokens with: give a key file or a JWKS URL")
	}
	v := &Verifier{keys: slices.Clone(c.Keys), parser: newParser(c), now: c.Now}
	if c.JWKSURL != "" {
		var err error
		if v.remote, err = fetch(ctx, c.JWKSURL, c.FetchFailed); err != nil {
			return nil, fmt.Errorf("fetch keys: %w", err)
		}
	}
	return v, nil
}

// NoTokens returns a verifier for a server that has access keys only: it refuses every request, with a token or without
// one, and says how tokens could be made. Without any verifier everyone might do everything.
func NoTokens() *Verifier { return &Verifier{refusal: noTokens()} }

func newParser(c Config) *jwt.Parser {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(c.Now),
		jwt.WithStrictDecoding(),
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	if c.Audience != "" {
		options = append(options, jwt.WithAudience(c.Audience))
	}
	return jwt.NewParser(options...)
}

// Verify returns the principal of a token, or an [*Error] with status 401, or 503 while the keys cannot be fetched.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, error) {
	p, err := v.verify(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	return *p, nil
}

// verify returns a principal that is shared and must not be changed.
func (v *Verifier) verify(ctx context.Context, token string) (*Principal, *Error) {
	if v.refusal != nil {
		return nil, v.refusal
	}
	if len(token) > MaxTokenBytes {
		return nil, badToken(fmt.Sprintf("The token is longer than %d bytes.", MaxTokenBytes))
	}
	// The generation is read before the keys are: should they rotate meanwhile, the entry is stored as outdated.
	generation := v.remote.generation()
	hash := hashToken(token)
	if p := v.cache.find(hash, generation, v.now()); p != nil {
		return p, nil
	}
	p, err := v.examine(ctx, token)
	if err != nil {
		return nil, err
	}
	v.cache.add(hash, generation, p)
	return p, nil
}

// examine does the work: signature, dates, issuer, audience, tenant, scopes.
func (v *Verifier) examine(ctx context.Context, token string) (*Principal, *Error) {
	var c claims
	t, err := v.parser.ParseWithClaims(token, &c, v.candidates(ctx))
	if err != nil {
		return nil, v.explain(t, &c, err)
	}
	if !v.now().Before(c.ExpiresAt.Time) {
		return nil, expired(c.ExpiresAt.Time)
	}
	if c.Tenant == "" {
		c.Tenant = DefaultTenant
	}
	if err := CheckTenant(c.Tenant); err != nil {
		return nil, badToken("The token's " + err.Error() + ".")
	}
	list := parseScopes(c.Scope)
	return &Principal{
		Tenant:  c.Tenant,
		Subject: c.Subject,
		Expires: c.ExpiresAt.Time,
		scopes:  list,
		all:     list.everything(),
	}, nil
}

var tenantName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// CheckTenant returns an error if the name cannot be a tenant's.
func CheckTenant(name string) error {
	if !tenantName.MatchString(name) {
		return errors.New("tenant is not a name: 1 to 80 letters, digits, _ and -")
	}
	return nil
}

var (
	errCritical = errors.New(`it has a "crit" header`)
	errNoKey    = errors.New("no configured key fits it")
)

// candidates chooses the keys that a token may be verified with: those whose own algorithm is the one its header
// names and whose id, if both have one, is the same.
func (v *Verifier) candidates(ctx context.Context) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok {
			return nil, errCritical // RFC 7515, section 4.1.11: extensions not understood must be refused
		}
		kid, _ := t.Header["kid"].(string)
		var set jwt.VerificationKeySet
		named := false
		for _, k := range v.keys {
			if k.alg != t.Method.Alg() || (k.ID != "" && kid != "" && k.ID != kid) {
				continue
			}
			set.Keys = append(set.Keys, k.public)
			named = named || (kid != "" && k.ID == kid)
		}
		if v.remote != nil && !named {
			more, err := v.remote.candidates(ctx, t)
			if err != nil && len(set.Keys) == 0 {
				return nil, err
			}
			set.Keys = append(set.Keys, more...)
		}
		if len(set.Keys) == 0 {
			return nil, errNoKey
		}
		return set, nil
	}
}

// explain turns the parser's error into words for the token's owner. What an unverified token says is not repeated,
// except its dates, which are numbers.
func (v *Verifier) explain(t *jwt.Token, c *claims, err error) *Error {
	switch {
	case errors.Is(err, errUnavailable):
		return keysUnavailable()
	case errors.Is(err, jwt.ErrTokenMalformed):
		return badToken("The token is not a JSON Web Token: get one with dabba token or from your identity provider.")
	case errors.Is(err, errCritical):
		return badToken("The token has critical headers, which are not understood here.")
	case t == nil || t.Method == nil || methods[t.Method.Alg()] == nil:
		return badToken("The token's algorithm is not accepted: sign it with HS256, RS256, ES256 or EdDSA.")
	case errors.Is(err, errNoKey):
		return badToken("No configured key fits the token's algorithm and key id: was it issued for this server?")
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
		return badToken("The token's signature does not match any configured key: was it issued for this server?")
	case c.ExpiresAt == nil:
		return badToken(`The token never expires: issue one with an "exp" claim.`)
	case errors.Is(err, jwt.ErrTokenExpired):
		return expired(c.ExpiresAt.Time)
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return badToken("The token is not valid yet: check the clocks of both machines.")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return badToken("The token's issuer is not the one this server accepts.")
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return badToken("The token is meant for another audience than this server.")
	default:
		return badToken("The token's claims are not valid.")
	}
}

func expired(at time.Time) *Error {
	return badToken("The token expired at " + at.UTC().Format(time.RFC3339) + ": get a new one.")
}
