package sqs

import (
	"net/http"
	"strings"

	"github.com/dabba-mq/dabba/handlers/exchange"
)

// Speaks says whether a request is of a client of this wire, as far as its headers and its URL show that.
func Speaks(r *http.Request) bool {
	return r.Header[targetHeader] != nil || labelOf(r) == amazonLabel || Asks(r) ||
		strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") || r.URL.Query().Has("X-Amz-Signature")
}

// Targets says whether a request names an operation in the header that only clients of this wire send.
func Targets(r *http.Request) bool { return r.Header[targetHeader] != nil }

// Elsewhere serves requests at paths that no route has. Clients come with the URLs of other servers, so all of them are
// URLs of queues; next has the requests that are not of this wire.
func (a *API) Elsewhere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost && r.Method != http.MethodGet:
			a.otherwise(w, r, methodNotAllowed.is("Use POST, or GET for a request of the Query protocol."), next)
		case Speaks(r):
			a.serve(w, r, nil)
		case mayHaveAction(r):
			a.serve(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Misled answers a client of this wire at a path of the native API, in its own protocol; next has all other requests. The
// body of a form may be read then.
func (a *API) Misled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := unknownPath.is("This path is of the native API; send requests of SQS to / or to the URL of a queue.")
		// Nobody has said who they are yet, so a large body is not read to find out what it is.
		if Speaks(r) || !mayHaveAction(r) || !isSmall(r) {
			a.otherwise(w, r, f, next)
			return
		}
		body, err := a.Exchange.Read(w, r, exchange.Usual)
		if err != nil {
			a.Refuse(w, r, unread(err))
			return
		}
		p := newProtocol(r, body.Bytes)
		action := p.operation()
		body.Release()
		if action == "" {
			next.ServeHTTP(w, r)
			return
		}
		a.refuse(w, r, p, f)
	})
}

// mayHaveAction says whether the body of a request may be parameters of the Query protocol.
func mayHaveAction(r *http.Request) bool {
	return r.Method == http.MethodPost && (labelOf(r) == formLabel || r.Header.Get("Content-Type") == "")
}

// otherwise answers a fault to a client of this wire; next has all other requests.
func (a *API) otherwise(w http.ResponseWriter, r *http.Request, f *fault, next http.Handler) {
	if !Speaks(r) {
		next.ServeHTTP(w, r)
		return
	}
	if f.kind == methodNotAllowed {
		w.Header().Set("Allow", "GET, POST")
	}
	a.Refuse(w, r, f)
}

// Refuse answers a request that was refused before it was read, in its protocol: with an error of the engine or of
// authentication.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.refuse(w, r, newProtocol(r, nil), err)
}

// Failed answers a request whose handler panicked. What it had done by then is not known.
func (a *API) Failed(w http.ResponseWriter, r *http.Request) {
	a.Refuse(w, r, internalFailure.is("The server failed while handling this request. Its log has the details under this request id."))
}
