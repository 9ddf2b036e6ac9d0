package browser_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/browser"
	"github.com/dabba-mq/dabba/handlers/middleware"
)

// The answers of a guarded server in these tests, as statuses.
const (
	served     = http.StatusNoContent
	foreign    = http.StatusForbidden
	misdirect  = http.StatusMisdirectedRequest
	preflights = http.StatusOK
)

func answering(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

func guard(s browser.Settings) *browser.Guard {
	s.Foreign, s.Misdirected = answering(foreign), answering(misdirect)
	s.Page = func(r *http.Request) bool { return r.URL.Path == "/docs" }
	return browser.New(s)
}

// request is one to a host, which may be empty; headers are name and value in turn.
func request(method, host, path string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func answer(g *browser.Guard, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	g.Wrap(answering(served)).ServeHTTP(rec, r)
	return rec
}

var (
	loopback = netip.MustParseAddrPort("127.0.0.1:8080")
	every    = netip.MustParseAddrPort("0.0.0.0:8080")
	lan      = netip.MustParseAddrPort("192.0.2.7:8080")
)

func TestOriginsThatAreForeign(t *testing.T) {
	t.Parallel()
	type headers = []string
	origin := func(o string) headers { return headers{"Origin", o} }
	tests := []struct {
		name     string
		settings browser.Settings
		host     string
		headers  headers
		want     int
	}{
		{"no browser", browser.Settings{}, "127.0.0.1:8080", nil, served},
		{"its own page", browser.Settings{}, "127.0.0.1:8080", origin("http://127.0.0.1:8080"), served},
		{"its own page, by fetch metadata", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "same-origin"}, served},
		{"a typed address", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "none"}, served},
		{"its page under another name", browser.Settings{}, "127.0.0.1:8080", origin("http://localhost:8080"), served},
		{"its page over IPv6", browser.Settings{}, "localhost:8080", origin("http://[::1]:8080"), served},
		{"a port that leads to it", browser.Settings{}, "localhost:9999", origin("http://localhost:9999"), served},
		{"over HTTP/1.0 without Host", browser.Settings{}, "", nil, served},

		{"another site", browser.Settings{}, "127.0.0.1:8080", origin("https://evil.example"), foreign},
		{"null", browser.Settings{}, "127.0.0.1:8080", origin("null"), foreign},
		{"empty", browser.Settings{}, "127.0.0.1:8080", origin(""), foreign},
		{"another port", browser.Settings{}, "127.0.0.1:8080", origin("http://127.0.0.1:3000"), foreign},
		{"another scheme", browser.Settings{}, "127.0.0.1:8080", origin("https://127.0.0.1:8080"), foreign},
		{"another port under another name", browser.Settings{}, "127.0.0.1:8080", origin("http://localhost:3000"), foreign},
		{"a name that begins alike", browser.Settings{}, "127.0.0.1:8080", origin("http://127.0.0.1:8080.evil.example"), foreign},
		{"a name that ends alike", browser.Settings{}, "localhost:8080", origin("http://evil-localhost:8080"), foreign},
		{"a user that looks like a name", browser.Settings{}, "localhost:8080", origin("http://localhost:8080@evil.example"), foreign},
		{"an extension", browser.Settings{}, "localhost:8080", origin("chrome-extension://abc"), foreign},
		{"two origins", browser.Settings{}, "127.0.0.1:8080", headers{"Origin", "http://127.0.0.1:8080", "Origin", "https://evil.example"}, foreign},
		{"cross-site", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "cross-site"}, foreign},
		{"same-site is another site", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "same-site"}, foreign},
		{"a value of the future", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "galactic"}, foreign},
		{"two values", browser.Settings{}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"}, foreign},
		{"own origin, but cross-site", browser.Settings{}, "127.0.0.1:8080", headers{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "cross-site"}, foreign},
		{"foreign origin, but same-origin", browser.Settings{}, "127.0.0.1:8080", headers{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"}, foreign},
		{"Host is absent", browser.Settings{}, "", origin("http://"), foreign},

		{"the public URL", browser.Settings{PublicURL: "https://Queues.example:443"}, "127.0.0.1:8080", origin("https://queues.example"), served},
		{"the public URL over HTTP", browser.Settings{PublicURL: "https://queues.example"}, "127.0.0.1:8080", origin("http://queues.example"), foreign},
		{"the host it is asked for", browser.Settings{}, "queues.example", origin("http://queues.example"), served},
		{"the same behind TLS", browser.Settings{}, "queues.example", headers{"Origin", "https://queues.example", "X-Forwarded-Proto", "https"}, served},
		{"the same without TLS", browser.Settings{}, "queues.example", headers{"Origin", "http://queues.example", "X-Forwarded-Proto", "https"}, foreign},
		{"loopback of a visitor", browser.Settings{Address: every}, "queues.example:8080", origin("http://localhost:8080"), foreign},
		{"its address", browser.Settings{Address: lan}, "localhost:8080", origin("http://192.0.2.7:8080"), served},
		{"another address", browser.Settings{Address: lan}, "192.0.2.7:8080", origin("http://192.0.2.8:8080"), foreign},

		{"allowed", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", origin("https://app.example"), served},
		{"allowed, and cross-site", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", headers{"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site"}, served},
		{"another than the allowed", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", origin("https://app.example.evil"), foreign},
		{"part of the allowed", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", origin("https://app.exampl"), foreign},
		{"the allowed over HTTP", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", origin("http://app.example"), foreign},
		{"an image on a page, whose origin is not shown", browser.Settings{Origins: []string{"https://app.example"}}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "cross-site"}, foreign},
		{"all are allowed", browser.Settings{Origins: []string{"*"}}, "127.0.0.1:8080", origin("null"), served},
		{"all are allowed, also images", browser.Settings{Origins: []string{"*"}}, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "cross-site"}, served},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := guard(tt.settings)
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
				if got := answer(g, request(method, tt.host, "/v1/queues", tt.headers...)).Code; got != tt.want {
					t.Errorf("%s with %q to %q = %d, want %d", method, tt.headers, tt.host, got, tt.want)
				}
			}
			if got := answer(g, request("GET", tt.host, "/docs", tt.headers...)).Code; got != served {
				t.Errorf("GET of a page with %q = %d, want %d", tt.headers, got, served)
			}
			for _, method := range []string{"HEAD", "POST"} {
				if got := answer(g, request(method, tt.host, "/docs", tt.headers...)).Code; got != tt.want {
					t.Errorf("%s of a page with %q = %d, want %d", method, tt.headers, got, tt.want)
				}
			}
		})
	}
}

func TestHostsThatAreServedWithoutKeys(t *testing.T) {
	t.Parallel()
	hosts := []string{
		"", "localhost", "localhost:8080", "LOCALHOST:9", "127.0.0.1", "127.0.0.1:8080", "127.3.2.1:80", "[::1]", "[::1]:8080",
		"192.0.2.7:8080", "192.0.2.8", "[2001:db8::1]:8080", "0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080", "169.254.169.254",
		"queues.example", "QUEUES.example:443", "other.lan", "other.lan:8080", "other.lan:81",
		"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "127.1", "2130706433", "0x7f.1",
		"localhost@evil.example", "evil.example@localhost", ":8080", "[]:8080", "[::1", "-", "localhost:8080:8080",
	}
	local := []string{
		"", "localhost", "localhost:8080", "LOCALHOST:9", "127.0.0.1", "127.0.0.1:8080", "127.3.2.1:80", "[::1]", "[::1]:8080",
	}
	addresses := []string{"192.0.2.7:8080", "192.0.2.8", "[2001:db8::1]:8080", "0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080", "169.254.169.254"}
	tests := []struct {
		name     string
		settings browser.Settings
		more     []string // than local
	}{
		{"on an address not known", browser.Settings{}, nil},
		{"on the loopback address", browser.Settings{Address: loopback}, nil},
		{"on the other loopback address", browser.Settings{Address: netip.MustParseAddrPort("[::1]:8080")}, nil},
		{"on an address of the network", browser.Settings{Address: lan}, []string{"192.0.2.7:8080"}},
		{"on all addresses", browser.Settings{Address: every}, addresses},
		{"on all addresses of IPv6", browser.Settings{Address: netip.MustParseAddrPort("[::]:8080")}, addresses},
		{"with a public URL", browser.Settings{PublicURL: "https://queues.example/sqs"}, []string{"queues.example", "QUEUES.example:443"}},
		{"with a name", browser.Settings{Hosts: []string{"other.lan"}}, []string{"other.lan", "other.lan:8080", "other.lan:81"}},
		{"with a name at a port", browser.Settings{Hosts: []string{"other.lan:8080"}}, []string{"other.lan:8080"}},
		{"with an address", browser.Settings{Hosts: []string{"192.0.2.8"}}, []string{"192.0.2.8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.settings.Keyless = true
			keyless := guard(tt.settings)
			tt.settings.Hosts = []string{browser.Any}
			anyHost := guard(tt.settings)
			tt.settings.Hosts, tt.settings.Keyless = nil, false
			keyed := guard(tt.settings)
			for _, host := range hosts {
				want := misdirect
				if slices.Contains(local, host) || slices.Contains(tt.more, host) {
					want = served
				}
				r := request("POST", host, "/v1/queues")
				if got := answer(keyless, r).Code; got != want {
					t.Errorf("Host %q = %d, want %d", host, got, want)
				}
				if got := answer(keyless, request("GET", host, "/docs")).Code; got != want {
					t.Errorf("a page at Host %q = %d, want %d", host, got, want)
				}
				if got := answer(anyHost, r).Code; got != served {
					t.Errorf("Host %q where all are allowed = %d, want %d", host, got, served)
				}
				if got := answer(keyed, r).Code; got != served {
					t.Errorf("Host %q with keys = %d, want %d", host, got, served)
				}
			}
		})
	}
}

// A page at evil.example whose name now resolves to the server is of the same origin as what it asks for.
func TestReboundPagesAreMisdirected(t *testing.T) {
	t.Parallel()
	g := guard(browser.Settings{Keyless: true, Address: loopback})
	r := request("POST", "evil.example:8080", "/v1/queues/q/purge", "Origin", "http://evil.example:8080", "Sec-Fetch-Site", "same-origin")
	if got := answer(g, r).Code; got != misdirect {
		t.Errorf("a rebound page got %d, want %d", got, misdirect)
	}
}

func TestGetsThatAPageCouldHide(t *testing.T) {
	t.Parallel()
	type headers = []string
	tests := []struct {
		name    string
		keyless bool
		address netip.AddrPort
		host    string
		headers headers
		want    bool
	}{
		{"loopback", true, loopback, "127.0.0.1:8080", nil, false},
		{"loopback by name", true, loopback, "localhost:8080", nil, false},
		{"loopback without Host", true, loopback, "", nil, false},
		{"address not known", true, netip.AddrPort{}, "localhost:8080", nil, false},
		{"a proxy in front of loopback", true, loopback, "queues.lan", nil, true},
		{"all addresses", true, every, "127.0.0.1:8080", nil, true},
		{"all addresses, signed", true, every, "127.0.0.1:8080", headers{"Authorization", "AWS4-HMAC-SHA256 …"}, false},
		{"an address of the network", true, lan, "192.0.2.7:8080", nil, true},
		{"an address of the network, with keys", false, lan, "192.0.2.7:8080", nil, false},
		{"a redirect of a typed address", true, loopback, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, true},
		{"a script of its own page", true, loopback, "127.0.0.1:8080", headers{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, false},
	}
	for _, tt := range tests {
		g := guard(browser.Settings{Keyless: tt.keyless, Address: tt.address})
		if got := g.Hidden(request("GET", tt.host, "/?Action=DeleteQueue", tt.headers...)); got != tt.want {
			t.Errorf("%s: hidden = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPreflightsOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	ask := []string{
		"Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "amz-sdk-invocation-id,amz-sdk-request,authorization,content-type,x-amz-date,x-amz-target,x-amz-user-agent,dabba-attr-a,if-match,idempotency-key",
		"Access-Control-Request-Private-Network", "true",
	}
	for _, tt := range []struct{ allowed, origin, want string }{
		{"https://app.example", "https://app.example", "https://app.example"},
		{"*", "https://app.example", "*"},
		{"*", "null", "*"},
	} {
		rec := answer(guard(browser.Settings{Keyless: true, Origins: []string{tt.allowed}}), request("OPTIONS", "127.0.0.1:8080", "/", append(ask, "Origin", tt.origin)...))
		if rec.Code != preflights {
			t.Errorf("preflight = %d, want %d", rec.Code, preflights)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":          tt.want,
			"Access-Control-Allow-Methods":         "POST",
			"Access-Control-Allow-Headers":         "Amz-Sdk-Invocation-Id, Amz-Sdk-Request, Authorization, Content-Type, X-Amz-Date, X-Amz-Target, X-Amz-User-Agent, Dabba-Attr-A, If-Match, Idempotency-Key",
			"Access-Control-Max-Age":               "7200",
			"Access-Control-Allow-Private-Network": "true",
		} {
			if got := rec.Header().Get(name); got != want {
				t.Errorf("preflight of %s with %s allowed has %s: %q, want %q", tt.origin, tt.allowed, name, got, want)
			}
		}
	}
	for _, g := range []*browser.Guard{guard(browser.Settings{}), guard(browser.Settings{Origins: []string{"https://app.example"}})} {
		rec := answer(g, request("OPTIONS", "127.0.0.1:8080", "/", append(ask, "Origin", "https://evil.example")...))
		if rec.Code != foreign || rec.Header().Get("Access-Control-Allow-Origin") != "" || rec.Header().Get("Access-Control-Allow-Private-Network") != "" {
			t.Errorf("preflight of a foreign page = %d with %v, want %d and nothing allowed", rec.Code, rec.Header(), foreign)
		}
	}
}

func TestPanicsMayBeReadByAllowedPages(t *testing.T) {
	t.Parallel()
	observer := middleware.Observer{Log: slog.New(slog.DiscardHandler), IDs: middleware.NewIDs(strings.NewReader("random")), Now: time.Now}
	h := observer.Wrap(guard(browser.Settings{Origins: []string{"https://app.example"}}).Wrap(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, request("GET", "localhost", "/v1/queues", "Origin", "https://app.example"))
	if got := rec.Header().Get("Access-Control-Allow-Origin"); rec.Code != http.StatusInternalServerError || got != "https://app.example" {
		t.Errorf("a panic = %d for %q, want %d for the page", rec.Code, got, http.StatusInternalServerError)
	}
}

func TestOrdinaryRequestsCostNothing(t *testing.T) {
	h := guard(browser.Settings{Keyless: true, Address: every}).Wrap(answering(served))
	rec := httptest.NewRecorder()
	for _, host := range []string{"127.0.0.1:8080", "localhost:8080", "192.0.2.7:8080", "[::1]:8080"} {
		r := request("POST", host, "/v1/queues/q/messages")
		if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(rec, r) }); n != 0 {
			t.Errorf("a request to %s allocates %v times, want 0", host, n)
		}
	}
}

func TestParseOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://app.example": "https://app.example", "HTTPS://App.Example:443/": "https://app.example", "http://a:80": "http://a",
		"http://localhost:3000": "http://localhost:3000", "http://[::1]:3000": "http://[::1]:3000", "chrome-extension://abc": "chrome-extension://abc", "*": "*",
		"": "", "null": "", "app.example": "", "https://app.example/path": "", "https://*.example": "", "https://me@app.example": "", "https://a?b": "", "localhost:3000": "",
	} {
		got, err := browser.ParseOrigin(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("ParseOrigin(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestParseHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Queues.lan": "queues.lan", "queues.lan:8080": "queues.lan:8080", "192.0.2.7": "192.0.2.7", "[2001:db8::1]:80": "[2001:db8::1]:80",
		"2001:db8::1": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "*": "*", "dabba": "dabba",
		"": "", "http://queues.lan": "", "queues.lan:": "", "queues.lan:http": "", "queues.lan/x": "", "*.lan": "", ":8080": "",
	} {
		got, err := browser.ParseHost(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("ParseHost(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}
