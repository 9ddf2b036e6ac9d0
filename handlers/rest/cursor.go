package rest

import "encoding/base64"

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
