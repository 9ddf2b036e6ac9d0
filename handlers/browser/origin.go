package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ParseOrigin returns an origin as browsers write it: lower case, without the scheme's own port, without a path.
// [Any] stands for all. The origin "null" is refused: every page may give itself that one.
func ParseOrigin(s string) (string, error) {
	if s == Any {
		return s, nil
	}
	u, err := url.Parse(strings.TrimSuffix(s, "/"))
	if err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host, "*") ||
		u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf(
			"an origin is like https://app.example or http://localhost:3000, and * is all of them, not %q", s)
	}
	return originOf(u), nil
}

// originOf is the origin of a URL (RFC 6454, section 6.2).
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}

// foreign says whether a page of another site made the request.
func (g *Guard) foreign(r *http.Request) bool {
	for _, site := range r.Header[fetchSiteHeader] {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	for _, origin := range r.Header[originHeader] {
		if !g.owns(r, origin) {
			return true
		}
	}
	return false
}

// owns says whether the origin is the server's own. A page that came from the host that the request goes to is the
// server's, as long as that host is: which is checked without keys, and with keys a page needs these, too. The names
// of the loopback address are one and the same host, at the same port.
func (g *Guard) owns(r *http.Request, origin string) bool {
	if g.public != "" && origin == g.public {
		return true
	}
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok || host == "" || scheme != servedScheme(r) {
		return false
	}
	if strings.EqualFold(host, r.Host) || g.listening != "" && host == g.listening {
		return true
	}
	_, port := splitHost(host)
	_, asked := splitHost(r.Host)
	return port == asked && isLoopback(host) && isLoopback(r.Host)
}

// servedScheme is that of the URL which the client used. The header is that of a proxy; no page can send it without
// being allowed.
func servedScheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https"
	}
	return "http"
}

// allows says whether whoever runs the server lets the page call that made the request.
func (g *Guard) allows(r *http.Request) bool {
	origin := r.Header[originHeader]
	return g.anyOrigin || len(origin) == 1 && g.allowed[origin[0]]
}
