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
	page := get(t, "queues.example:8080")
	if want := "curl -X PUT http://queues.example:8080/v1/queues/hello"; !strings.Contains(page, want) {
		t.Errorf("the start page has no line %q", want)
	}
}

func TestStartPageEscapesTheHost(t *testing.T) {
	t.Parallel()
	if page := get(t, `"><script>alert(1)</script>`); strings.Contains(page, "<script>") {
		t.Error("the host of the request got into the page unescaped")
	}
}

func TestStartPageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	page := get(t, "localhost:8080")
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], "data:") {
			t.Errorf("the start page refers to %q", link[1])
		}
	}
	for _, want := range []string{`href="/docs"`, `href="/openapi.json"`, "There is no console yet", `lang="en"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the start page has no %q", want)
		}
	}
}

func get(t *testing.T, host string) string {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = host
	web.Start().ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Fatalf("GET / = %d, want 200", rec.Code)
	}
	return rec.Body.String()
}
