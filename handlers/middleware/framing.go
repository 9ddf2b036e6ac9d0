package middleware

import "net/http"

// closing is shared by all answers that have it.
var closing = []string{"close"}

// isAmbiguous says whether a server in front of this one may have taken the request's length differently, so that
// what it took for the body would be a request here (RFC 9112, section 11.2). The connection then ends with the
// answer, as section 6.1 wants it of requests with both Transfer-Encoding and Content-Length, and of those of
// HTTP/1.0 with Transfer-Encoding. net/http takes away one of the two before anybody sees it, so all chunked
// requests count, and all of HTTP/1.0.
func isAmbiguous(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }
