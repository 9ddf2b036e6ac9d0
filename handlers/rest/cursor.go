package rest

import (
	"encoding/base64"
	"fmt"
)

// How many entries a list shows at a time.
const (
	defaultPage = 100
	maxPage     = 1000
)

// cursorVersion starts every cursor, so that its form may change.
const cursorVersion = 1

// encodeCursor makes a place in a list opaque.
func encodeCursor(after string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorVersion}, after...))
}

// decodeCursor is the place a cursor names; no cursor is the start.
func decodeCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) == 0 || b[0] != cursorVersion {
		return "", invalid("cursor", "This is not a cursor of this list; use the one from the page before, or none.")
	}
	return string(b[1:]), nil
}

// page is what the parameters limit and cursor say: how many entries to show, and after which place.
func (p parameters) page() (limit int, after string, err error) {
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
	after, err = decodeCursor(p["cursor"])
	return limit, after, err
}
