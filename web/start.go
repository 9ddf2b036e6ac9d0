package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
)

//go:embed start.html
var startPage string

var startTemplate = template.Must(template.New("start.html").Parse(startPage))

// start is what the page is made of.
type start struct {
	URL    string
	Tokens bool
}

// policy lets the page do nothing but show its own styles.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Start serves the start page. Its examples use the address the browser came by, and a token if the server asks for one.
func Start(tokens bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		var page bytes.Buffer
		if err := startTemplate.Execute(&page, start{scheme + "://" + r.Host, tokens}); err != nil {
			panic("web: the start page does not render: " + err.Error())
		}
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Length", strconv.Itoa(page.Len()))
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(page.Bytes())
	})
}
