package browser

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Any, in [Settings], allows every origin or every host.
const Any = "*"

// The headers that are looked at, in canonical form, so that they may index a header map.
const (
	originHeader        = "Origin"
	fetchSiteHeader     = "Sec-Fetch-Site"
	fetchModeHeader     = "Sec-Fetch-Mode"
	authorizationHeader = "Authorization"
)

// Settings are where a server is reached, and what it lets in besides.
type Settings struct {
	// Address is what the server listens on. The zero value stands for the loopback address.
	Address netip.AddrPort
	// PublicURL is how clients reach the server; empty if whoever runs it has not said so.
	PublicURL string
	// Origins are those of the foreign pages that may call, see [ParseOrigin]; [Any] stands for all.
	Origins []string
	// Hosts are further names of the server, see [ParseHost]; [Any] stands for all.
	Hosts []string
	// Keyless says that whoever reaches the server may do everything: then the Host of a request is checked, too.
	Keyless bool
	// Page says that a request is for a page that shows nothing of what is stored and changes nothing: links on other
	// sites may lead to it. It is asked for a GET only. Nil stands for none.
	Page func(r *http.Request) bool
	// Foreign answers the requests of foreign pages, Misdirected those with a foreign Host.
	Foreign, Misdirected http.Handler
}

// Guard refuses what foreign web pages make browsers send. It is safe for concurrent use.
//
// A request is foreign if its Origin is not the server's own, or if its Sec-Fetch-Site is neither same-origin nor
// none. It is refused unless it is the GET of a page, or its origin is allowed: then its answers say so (CORS),
// errors included, and preflights are answered. Without keys a request is also refused if its Host is not the
// server's.
type Guard struct {
	Settings
	// public is the origin of PublicURL; empty without one.
	public string
	// listening is host:port of an Address that is neither loopback nor unspecified; else empty.
	listening string
	allowed   map[string]bool
	anyOrigin bool
	hosts     map[string]bool
	// usual are hosts that are always served.
	usual   map[string]bool
	anyHost bool
}

// New returns a guard. The settings must have both handlers.
func New(s Settings) *Guard {
	g := &Guard{Settings: s, allowed: map[string]bool{}, hosts: map[string]bool{}, usual: usualHosts(s.Address)}
	if u, err := url.Parse(s.PublicURL); err == nil && u.Host != "" {
		g.public = originOf(u)
		g.hosts[strings.ToLower(u.Hostname())] = true
	}
	if ip := s.Address.Addr(); ip.IsValid() && !ip.Unmap().IsLoopback() && !ip.IsUnspecified() {
		at := netip.AddrPortFrom(ip.Unmap().WithZone(""), s.Address.Port())
		g.listening = strings.TrimSuffix(at.String(), ":80")
	}
	for _, origin := range s.Origins {
		g.anyOrigin = g.anyOrigin || origin == Any
		g.allowed[origin] = true
	}
	for _, host := range s.Hosts {
		g.anyHost = g.anyHost || host == Any
		g.hosts[host] = true
	}
	return g
}

// Wrap lets next have the requests that are not refused.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	if g.Keyless && !g.anyHost {
		next = g.checkHost(next)
	}
	if len(g.Origins) > 0 {
		next = g.share(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.foreign(r) && !g.allows(r) && !g.isPage(r) {
			w.Header()["Vary"] = []string{originHeader}
			g.Foreign.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.serves(r.Host) {
			g.Misdirected.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) isPage(r *http.Request) bool {
	return r.Method == http.MethodGet && g.Page != nil && g.Page(r)
}

// Hidden says that a GET could be what a foreign page made a browser send although nothing in it shows that: it must
// change nothing. Browsers send no fetch metadata to addresses that they do not trust, and an image has no Origin. A
// page may also redirect whoever typed its address, which still counts as typed. What an Authorization header
// vouches for is no page's.
func (g *Guard) Hidden(r *http.Request) bool {
	if !g.Keyless || r.Header.Get(authorizationHeader) != "" {
		return false
	}
	if r.Header.Get(fetchModeHeader) == "navigate" {
		return true
	}
	ip := g.Address.Addr()
	return ip.IsValid() && !ip.Unmap().IsLoopback() || r.Host != "" && !isLoopback(r.Host)
}
