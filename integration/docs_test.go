package integration

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentIsServed: the program serves the document that its answers are compared with.
func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	c := start(t, filepath.Join(t.TempDir(), "data")).client()
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct{ OperationID string }
	}
	c.get("/openapi.json").want(http.StatusOK).into(&doc)
	if doc.OpenAPI != "3.1.0" || len(doc.Paths) < 8 {
		t.Fatalf("/openapi.json is OpenAPI %q with %d paths", doc.OpenAPI, len(doc.Paths))
	}
	if got := doc.Paths["/v1/queues/{q}/receive"]["post"].OperationID; got != "receive" {
		t.Errorf("the operation of receive is %q", got)
	}
}

var (
	// pasted is a block of commands in a page, and quotation what a shell takes as it is.
	pasted    = regexp.MustCompile("(?s)```(?:sh|bash|zsh)\n(.*?)```")
	quotation = regexp.MustCompile(`(?s)\\.|'[^']*'|"(?:\\.|[^"\\])*"|<<'?EOF'?.*?\nEOF\n`)
	// comment and pattern are what zsh does not take as bash does when a person pastes it: the one is a command there, the
	// other an error unless files match.
	comment = regexp.MustCompile(`(?m)(?:^|\s)#[^\n]*`)
	pattern = regexp.MustCompile(`[^\s$]*[?*\[][^\s\])]*`)
)

// TestCommandsCanBePasted looks at all commands that pages show: they mean the same in bash and in an interactive zsh.
func TestCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 4 {
		t.Fatalf("pages are %v, %v", pages, err)
	}
	blocks := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../deploy/kubernetes/README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range pasted.FindAllStringSubmatch(string(text), -1) {
			blocks++
			plain := quotation.ReplaceAllString(block[1], "q")
			for _, found := range append(comment.FindAllString(plain, -1), pattern.FindAllString(plain, -1)...) {
				t.Errorf("%s: zsh does not take %q in\n%s", page, found, block[1])
			}
		}
	}
	if blocks < 40 {
		t.Errorf("%d blocks were found only", blocks)
	}
}

var (
	// linked finds what a page or a style sheet loads.
	linked = regexp.MustCompile(`(?:\b(?:src|href|action)\s*=\s*["']?|url\(\s*["']?|@import\s+["'])([^"'\s)>]+)`)
	// absolute finds addresses of other hosts in a page's own script.
	absolute = regexp.MustCompile(`["'](?:https?:)?//[^"']+["']`)
)

// TestPagesNeedNoNetwork follows everything that the pages load: all of it comes from this server, and the policy
// forbids a browser to load anything else.
func TestPagesNeedNoNetwork(t *testing.T) {
	t.Parallel()
	srv := start(t, filepath.Join(t.TempDir(), "data"))
	c := srv.client()
	for _, page := range []string{"/", "/docs"} {
		a := c.get(page).want(http.StatusOK)
		if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
			t.Errorf("%s is %q", page, got)
		}
		policy := a.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") && !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("the policy of %s is %q, want nothing from elsewhere allowed", page, policy)
		}
		if strings.Contains(policy, "http:") || strings.Contains(policy, "https:") || strings.Contains(policy, "*") {
			t.Errorf("the policy of %s is %q, want no other host in it", page, policy)
		}
		for _, found := range absolute.FindAllString(string(a.body), -1) {
			// The name of SVG's namespace is no address that is loaded.
			if !strings.Contains(found, strings.TrimPrefix(srv.base, "http://")) && !strings.Contains(found, "//www.w3.org/2000/svg") {
				t.Errorf("%s refers to %s", page, found)
			}
		}
		follow(t, c, page, string(a.body), map[string]bool{page: true})
	}
	body := string(c.get("/docs").body)
	if !strings.Contains(body, "/openapi.json") {
		t.Error("/docs does not load /openapi.json")
	}
}

// follow gets all that a page loads, and what its style sheets load in turn.
func follow(t *testing.T, c *client, from, content string, seen map[string]bool) {
	t.Helper()
	for _, match := range linked.FindAllStringSubmatch(content, -1) {
		target := strings.TrimPrefix(match[1], c.base)
		switch {
		case strings.HasPrefix(target, "data:"), strings.HasPrefix(target, "#"):
			continue
		case strings.Contains(target, "//"):
			t.Errorf("%s loads %s from another host", from, target)
			continue
		case !strings.HasPrefix(target, "/"):
			target = path.Join(path.Dir(from), target)
		}
		if seen[target] {
			continue
		}
		seen[target] = true
		a := c.get(target)
		if a.status != http.StatusOK {
			t.Errorf("%s loads %s, which is %d", from, target, a.status)
		}
		if strings.HasPrefix(a.header.Get("Content-Type"), "text/css") {
			follow(t, c, target, string(a.body), seen)
		}
	}
}
