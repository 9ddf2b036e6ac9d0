package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/web"
)

func TestStartPageShowsTheAddressItWasReachedBy(t *testing.T) {
	t.Parallel()
	page := get(t, "queues.example:8080", false)
	for _, want := range []string{
		"curl -X PUT http://queues.example:8080/v1/queues/hello",
		"the endpoint <code>http://queues.example:8080</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the start page has no %q", want)
		}
	}
}

func TestStartPageEscapesTheHost(t *testing.T) {
	t.Parallel()
	if page := get(t, `"><script>alert(1)</script>`, false); strings.Contains(page, "<script>") {
		t.Error("the host of the request got into the page unescaped")
	}
}

func TestStartPageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	page := get(t, "localhost:8080", true)
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], "data:") {
			t.Errorf("the start page refers to %q", link[1])
		}
	}
	for _, want := range []string{`href="/docs"`, `href="/openapi.json"`, "There is no console yet", "/redrive", "/v1/topics", `lang="en"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the start page has no %q", want)
		}
	}
}

func TestStartPageShowsTokensOnlyIfTheServerAsksForThem(t *testing.T) {
	t.Parallel()
	for _, tokens := range []bool{false, true} {
		page := get(t, "localhost:8080", tokens)
		if got := strings.Contains(page, "Authorization: Bearer"); got != tokens {
			t.Errorf("start page of a server that asks for tokens (%v) shows one: %v", tokens, got)
		}
		for line := range strings.Lines(page[strings.Index(page, "<pre"):strings.Index(page, "</pre>")]) {
			if shown := line[strings.LastIndex(line, ">")+1:]; len(shown) > 80 {
				t.Errorf("this line does not fit on the page: %s", shown)
			}
		}
	}
}

func get(t *testing.T, host string, tokens bool) string {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = host
	web.Start(tokens).ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Fatalf("GET / = %d, want 200", rec.Code)
	}
	return rec.Body.String()
}
