package auth

import (
	"net/http"
	"strings"
)

// Middleware puts the [Principal] of each request into its context, for [From]. Requests without a valid token never
// reach the handler: refuse gets an [*Error] to write, with the WWW-Authenticate header already set. A nil verifier
// means that no keys are configured: every request is then [Anonymous], whatever token it carries.
func Middleware(v *Verifier, refuse func(w http.ResponseWriter, r *http.Request, err error)) func(http.Handler) http.Handler {
	anonymous := Anonymous()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := &anonymous
			if v != nil {
				var err *Error
				if p, err = v.request(r); err != nil {
					if c := err.Challenge(); c != "" {
						w.Header().Set("WWW-Authenticate", c)
					}
					refuse(w, r, err)
					return
				}
			}
			next.ServeHTTP(w, r.WithContext(with(r.Context(), p)))
		})
	}
}

// Request returns the principal of a request's bearer token, which is shared: do not change it. The error is an [*Error].
func (v *Verifier) Request(r *http.Request) (*Principal, error) {
	p, err := v.request(r)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (v *Verifier) request(r *http.Request) (*Principal, *Error) {
	token, err := bearer(r.Header)
	if err != nil && v.refusal == nil {
		return nil, err
	}
	return v.verify(r.Context(), token)
}

// bearer cuts the token out of the Authorization header (RFC 6750, section 2.1).
func bearer(h http.Header) (string, *Error) {
	values := h["Authorization"]
	switch len(values) {
	case 0:
		return "", missingToken()
	case 1:
	default:
		return "", badToken("There is more than one Authorization header: send one.")
	}
	kind, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(kind, "Bearer") {
		return "", missingToken()
	}
	token = strings.Trim(token, " ")
	if token == "" {
		return "", missingToken()
	}
	return token, nil
}
