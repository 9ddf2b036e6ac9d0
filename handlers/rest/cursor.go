package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// How many entries a list shows at a time.
const (
	defaultPage = 100
	maxPage     = 1000
)

// cursorVersion starts every cursor, so that its form may change. Then come a sum of what the list is of, and the place.
const (
	cursorVersion = 2
	cursorSum     = 4
)

// encodeCursor makes a place in a list opaque. It is good for this list with these parameters only.
func (p parameters) encodeCursor(r *http.Request, after string) string {
	b := append([]byte{cursorVersion}, p.sum(r)...)
	return base64.RawURLEncoding.EncodeToString(append(b, after...))
}

// decodeCursor is the place a cursor names; no cursor is the start.
func (p parameters) decodeCursor(r *http.Request) (string, error) {
	cursor := p["cursor"]
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < 1+cursorSum || b[0] != cursorVersion {
		return "", invalid("cursor", "This is not a cursor of this list; use the one from the page before, or none.")
	}
	if !bytes.Equal(b[1:1+cursorSum], p.sum(r)) {
		return "", invalid("cursor", "This cursor is of another list, or of this one with another prefix or filter; use it with those, or begin without one.")
	}
	return string(b[1+cursorSum:]), nil
}

// sum distinguishes lists: by their path, and by all parameters but those that say which page.
func (p parameters) sum(r *http.Request) []byte {
	h := sha256.New()
	_, _ = io.WriteString(h, r.URL.Path) // a hash takes everything
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if name != "cursor" && name != "limit" {
			fmt.Fprintf(h, "\x00%q=%q", name, p[name])
		}
	}
	return h.Sum(nil)[:cursorSum]
}

// page is what the parameters limit and cursor say: how many entries to show, and after which place.
func (p parameters) page(r *http.Request) (limit int, after string, err error) {
	n, err := p.number("limit")
	switch {
	case err != nil:
		return 0, "", err
	case n == nil:
		limit = defaultPage
	case *n < 1 || *n > maxPage:
		return 0, "", invalid("limit", fmt.Sprintf("Give a number from 1 to %d.", maxPage))
	default:
		limit = *n
	}
	after, err = p.decodeCursor(r)
	return limit, after, err
}
