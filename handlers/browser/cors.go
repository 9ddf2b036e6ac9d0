package browser

import (
	"net/http"

	"github.com/go-chi/cors"
)

// preflightAge is how many seconds a browser may remember the answer to a preflight: the most that Chrome does.
const preflightAge = 7200

// exposed are the headers of answers that a script of an allowed page may read. Browsers take the last one for all
// others; the names are for those that do not.
var exposed = []string{
	"Allow", "Date", "ETag", "Location", "Retry-After", "WWW-Authenticate", "X-Request-Id",
	"X-Amzn-Requestid", "X-Amzn-Query-Error",
	"Dabba-Id", "Dabba-Receipt", "Dabba-Receives", "Dabba-Omitted-Attributes", "*",
}

// share answers the preflights of allowed origins, and has every answer to them say that their scripts may read it.
// The headers are set before anything is answered, so errors have them, too.
func (g *Guard) share(next http.Handler) http.Handler {
	shared := cors.Handler(cors.Options{
		AllowedOrigins: g.Origins,
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"}, // those that the preflight asks for: attributes of messages are headers of any name
		ExposedHeaders: exposed,
		MaxAge:         preflightAge,
	})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.Header.Get("Access-Control-Request-Private-Network") == "true"
		if r.Method == http.MethodOptions && asks && g.allows(r) {
			// A page of the public internet asks whether it may reach into this network.
			w.Header().Set("Access-Control-Allow-Private-Network", "true")
		}
		shared.ServeHTTP(w, r)
	})
}
