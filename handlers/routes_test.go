package handlers_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/openapi/openapitest"
)

// pages are routes that are not calls of the native API.
var pages = []string{
	"GET /", "GET /docs", "GET /docs/*", "GET /openapi.json", "GET /metrics",
	// The SQS wire has a specification of its own.
	"POST /", "GET /{account:[0-9]+}/{queue}", "POST /{account:[0-9]+}/{queue}",
}

func TestRoutesAndDocumentAgree(t *testing.T) {
	t.Parallel()
	validator, err := openapitest.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	documented := validator.Operations()
	var routed []string
	err = chi.Walk(handlers.Routes(handlerstest.Start(t).Config), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if call := method + " " + path; method != http.MethodHead && !slices.Contains(pages, call) {
			routed = append(routed, call)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(routed)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, routed); diff != "" {
		t.Errorf("calls (-documented +routed):\n%s\nRun go generate ./openapi after changing annotations.", diff)
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/v2/queues").Refused(http.StatusNotFound, "not_found", "")
	srv.Post("/v1/queues/q", "").Refused(http.StatusMethodNotAllowed, "invalid_request", "")

	got := srv.Do("POST", "/v1/queues/q", "").Header.Values("Allow")
	if diff := cmp.Diff([]string{"GET, HEAD, PUT, PATCH, DELETE"}, got); diff != "" {
		t.Errorf("Allow (-want +got):\n%s", diff)
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	for _, path := range []string{"/", "/docs", "/openapi.json", "/healthz", "/readyz", "/metrics", "/v1/info", "/v1/queues", "/v1/queues/q"} {
		got, head := srv.Get(path).Want(http.StatusOK), srv.Do(http.MethodHead, path, "").Want(http.StatusOK)
		if len(head.Body) != 0 || head.Header.Get("Content-Type") != got.Header.Get("Content-Type") {
			t.Errorf("HEAD %s = %q with %d bytes, want %q and none", path, head.Header.Get("Content-Type"), len(head.Body), got.Header.Get("Content-Type"))
		}
	}
	srv.Do(http.MethodHead, "/v1/queues/none", "").Want(http.StatusNotFound)
	srv.Do(http.MethodHead, "/v1/queues/q/ack", "").Want(http.StatusMethodNotAllowed)
}

func TestGetOfWhatTheClientHasIs304(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	etag := srv.Put("/v1/queues/q", "").Want(http.StatusCreated).Header.Get("ETag")
	for _, seen := range []string{etag, `"x", W/` + etag, "*"} {
		got := srv.Get("/v1/queues/q", "If-None-Match", seen).Want(http.StatusNotModified)
		if got.Header.Get("ETag") != etag || len(got.Body) != 0 {
			t.Errorf("304 for %s has ETag %s and %d bytes, want %s and none", seen, got.Header.Get("ETag"), len(got.Body), etag)
		}
	}
	srv.Patch("/v1/queues/q", `{"delay":"1s"}`).Want(http.StatusOK)
	srv.Get("/v1/queues/q", "If-None-Match", etag).Want(http.StatusOK)
}

func TestAnswersEndInANewline(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	for _, answer := range []*handlerstest.Answer{
		srv.Get("/v1/info"), srv.Get("/v1/queues/none"), srv.Post("/v1/queues/q", ""),
		srv.Post("/v1/queues/q/messages", `{"body":"x"}`), srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"x"}]}`),
		srv.Post("/v1/queues/q/receive", ""), srv.Post("/v1/queues/q/ack", `{"receipts":["x"]}`),
	} {
		if !strings.HasSuffix(string(answer.Body), "}\n") {
			t.Errorf("answer %q has no newline at its end", answer.Body)
		}
	}
}

func TestPagesAreServedWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/").Want(http.StatusOK).Has("Dabba is running")
	srv.Get("/openapi.json").Want(http.StatusOK).Has(`"openapi": "3.1.0"`)
	srv.Get("/docs").Want(http.StatusOK).Has("/docs/swagger-ui-bundle.js")
	srv.Get("/docs/swagger-ui-bundle.js").Want(http.StatusOK)
	srv.Get("/docs/swagger-ui.css").Want(http.StatusOK)
	page := srv.Get("/docs").Want(http.StatusOK)
	for _, file := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllSubmatch(page.Body, -1) {
		srv.Get(string(file[1])).Want(http.StatusOK)
	}
	if got := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'self'") {
		t.Errorf("Content-Security-Policy of /docs = %q, want nothing from elsewhere allowed", got)
	}
	srv.Get("/docs/nothing").Refused(http.StatusNotFound, "not_found", "")
	srv.Get("/healthz").Want(http.StatusOK).Has("ok")
	srv.Get("/readyz").Want(http.StatusOK).Has("ready")
}
