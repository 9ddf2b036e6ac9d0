package auth

import (
	"net/http"
	"strings"
)

// Error is a refusal, ready to be written as a problem document.
type Error struct {
	// Status is 401 (no valid token), 403 (a scope is missing) or 503 (the keys cannot be fetched at the moment).
	Status int
	// Code is the API's word for it: unauthenticated, forbidden or unavailable.
	Code string
	// Detail says to a person what was wrong and what to do next. It never contains the token.
	Detail string
	// Scope is the missing scope of a 403.
	Scope string

	// attempted says that a token was sent: RFC 6750 wants an error code in the challenge only then.
	attempted bool
}

func (e *Error) Error() string { return e.Detail }

// Challenge is the value of the WWW-Authenticate header that belongs to the refusal (RFC 6750, section 3), or "".
func (e *Error) Challenge() string {
	switch {
	case e.Status == http.StatusForbidden:
		return `Bearer realm="dabba", error="insufficient_scope", scope="` + quotable(e.Scope) + `"`
	case e.Status != http.StatusUnauthorized:
		return ""
	case e.attempted:
		return `Bearer realm="dabba", error="invalid_token", error_description="` + quotable(e.Detail) + `"`
	default:
		return `Bearer realm="dabba"`
	}
}

// quotable leaves only what may stand in a quoted challenge value (RFC 6750, section 3).
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\' || r < ' ' || r > '~':
			return -1
		default:
			return r
		}
	}, s)
}

func missingToken() *Error {
	return &Error{
		Status: http.StatusUnauthorized,
		Code:   "unauthenticated",
		Detail: `This needs a token: send "Authorization: Bearer <token>".`,
	}
}

func badToken(detail string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "unauthenticated", Detail: detail, attempted: true}
}

func noTokens() *Error {
	return &Error{
		Status: http.StatusUnauthorized,
		Code:   "unauthenticated",
		Detail: "This needs a token, and the server was started with access keys only, which sign requests of the SQS wire: " +
			"give it --auth-keys or --jwks-url, too.",
	}
}

func keysUnavailable() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable,
		Code:   "unavailable",
		Detail: "The keys that verify tokens could not be fetched yet; try again shortly.",
	}
}
