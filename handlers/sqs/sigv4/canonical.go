package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// canonicalPaths are the forms in which a signer may have written the path down: as the rules say, and as it is sent.
func canonicalPaths(u *url.URL) []string {
	sent := u.EscapedPath()
	if sent == "" {
		sent = "/"
	}
	forms := []string{encode(normalize(sent), true)}
	if raw := encode(sent, true); raw != forms[0] {
		forms = append(forms, raw)
	}
	return forms
}

// normalize removes the empty, "." and ".." segments of a path.
func normalize(path string) string {
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
		}
	}
	normal := "/" + strings.Join(kept, "/")
	if len(kept) > 0 && strings.HasSuffix(path, "/") {
		normal += "/"
	}
	return normal
}

// canonicalQuery is the query without the signature itself, every name and value encoded in the one way, sorted.
func canonicalQuery(raw string) (string, error) {
	type param struct{ name, value string }
	var params []param
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return "", errQuery
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return "", errQuery
		}
		if name != signatureParam {
			params = append(params, param{encode(name, false), encode(value, false)})
		}
	}
	slices.SortFunc(params, func(a, b param) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(p.value)
	}
	return b.String(), nil
}

var errQuery = malformed("The query has a percent sign without two hexadecimal digits after it: encode it as %25.")

// canonicalHeaders are the signed headers, a line each. A header that the signature names and the request lacks is an
// error: something on the way must have removed it.
func canonicalHeaders(r *http.Request, names []string, body []byte) (string, error) {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		b.WriteByte(':')
		values := headerValues(r, name, body)
		if len(values) == 0 {
			return "", mismatch("The signed header '" + printable(name) + "' is not in the request: something between signer and server removed it.")
		}
		for i, v := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.Join(strings.Fields(v), " "))
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// headerValues also finds the three headers that are not, or not always, kept among the others.
func headerValues(r *http.Request, name string, body []byte) []string {
	switch name {
	case "host":
		return []string{r.Host}
	case "content-length":
		// Whether it was sent in chunks does not matter: this is its length.
		return []string{strconv.Itoa(len(body))}
	case "transfer-encoding":
		return r.TransferEncoding
	default:
		return r.Header.Values(name)
	}
}

const upperHex = "0123456789ABCDEF"

// encode percent-encodes everything but letters, digits, "-", ".", "_", "~" and, in a path, the slash.
func encode(s string, path bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		c := s[i]
		if isUnreserved(c) || (path && c == '/') {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// printable makes a text of the request fit for a message: short, without what XML or a terminal would stumble over.
func printable(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
