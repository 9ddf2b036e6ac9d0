// Package openapi holds the OpenAPI 3.1 document of the native API, embedded, and its browsable page.
//
// The document is generated from the annotations above the handlers in handlers/rest: run go generate ./openapi after
// changing them. The generator is a module of its own, so that what it needs does not become a dependency of the
// server.
package openapi

import (
	"bytes"
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

//go:generate go -C generate run . -api ../../handlers -out ../openapi.json

//go:embed openapi.json
var document []byte

// Bytes is the document. The caller may change its copy.
func Bytes() []byte { return bytes.Clone(document) }

// Document serves the document.
func Document() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A client generator in a browser, on another site, may read it: there is nothing secret in it.
		w.Header().Set("Access-Control-Allow-Origin", "*")
		http.ServeContent(w, r, "openapi.json", time.Time{}, bytes.NewReader(document))
	})
}

// policy keeps the page from talking to anybody but this server.
const policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

// files are what the page consists of.
var files = []string{
	"/docs", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui-standalone-preset.js",
	"/docs/favicon-16x16.png", "/docs/favicon-32x32.png",
}

// Docs serves the page that shows the document, and under /docs/ the files of that page, none of which is loaded from
// elsewhere. What is not among them is left to notFound.
func Docs(notFound http.Handler) http.Handler {
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title:       "Dabba API",
		SwaggerJSON: "/openapi.json",
		BasePath:    "/docs/",
		SettingsUI: map[string]string{
			"validatorUrl":         "null", // the badge would come from the network
			"persistAuthorization": "true",
			"tryItOutEnabled":      "true",
		},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(files, strings.TrimSuffix(r.URL.Path, "/")) {
			notFound.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		page.ServeHTTP(w, r)
	})
}
