package auth

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

const (
	// minDifferent is how many different bytes a secret has at least. Of 32 random digits there are fewer once in ten million.
	minDifferent = 6
	// minPeriod: what repeats a shorter part again and again is no longer than that part for somebody who guesses.
	minPeriod = 9
)

var errNewSecret = errors.New("make a secret with: head -c 48 /dev/urandom | base64")

// checkSecret says why bytes are not taken for a shared secret: everybody may know them, or guess them, or they are something
// else that was put there by mistake. nil if nothing speaks against them.
func checkSecret(data []byte) error {
	if err := checkWhatItIs(data); err != nil {
		return err
	}
	switch {
	case len(data) < minSecretBytes:
		return fmt.Errorf("a shared secret has at least %d bytes, this one has %d: %w", minSecretBytes, len(data), errNewSecret)
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("there is nothing but white space: %w", errNewSecret)
	}
	seen := make(map[byte]bool)
	for _, b := range data {
		seen[b] = true
	}
	if len(seen) < minDifferent {
		return fmt.Errorf("a shared secret is random, this one has only %d different bytes: %w", len(seen), errNewSecret)
	}
	if n := period(data); n < minPeriod {
		return fmt.Errorf("a shared secret is random, this one repeats the same %d bytes: %w", n, errNewSecret)
	}
	return nil
}

// period is the length of the part that data repeats; that of data if it repeats none.
func period(data []byte) int {
	n := 1
	for n < len(data) && !bytes.Equal(data[n:], data[:len(data)-n]) {
		n++
	}
	return n
}

// checkWhatItIs recognizes what is no shared secret: keys in formats that are not read here, and texts of other kinds.
func checkWhatItIs(data []byte) error {
	switch {
	case hasMark(data):
		return errors.New("this text begins with a byte order mark or is in UTF-16: save it as UTF-8 without one")
	case sshKey.Match(data):
		return errors.New("this is an SSH key: convert a public one to PEM with ssh-keygen -e -m PKCS8 -f FILE")
	case printedKey.Match(data):
		return errors.New("this is a key as openssl prints it for people: give its PEM form, without -text")
	case token.Match(bytes.TrimSpace(data)):
		return errors.New("this is a token, not a key: give the key that verifies it")
	case isMarkup(data):
		return errors.New("this is an HTML or XML page, not a key: fetch the key itself; if an address serves it, --jwks-url may be what you need")
	case isOtherJSON(data):
		return errors.New(`this is JSON, but not a JWK set, which is an object: {"keys": [{"kty": …}]}`)
	}
	if what := binaryKey(data); what != "" {
		return fmt.Errorf("this is %s in DER: convert it to PEM (openssl pkey -inform DER; -pubin for a public one; "+
			"openssl x509 -inform DER -pubkey -noout for a certificate)", what)
	}
	return checkEncoded(data)
}

// checkEncoded recognizes the same in base64 or hexadecimal, as PEM has it between its lines.
func checkEncoded(data []byte) error {
	text := bytes.Join(bytes.Fields(data), nil)
	for _, decode := range []func([]byte) ([]byte, error){unbase64, unhex} {
		raw, err := decode(text)
		if err != nil {
			continue
		}
		what := binaryKey(raw)
		switch {
		case what != "":
		case bytes.Contains(raw, []byte("-----BEGIN ")), isJSON(raw), isOtherJSON(raw):
			return errors.New("this is a key file that was encoded once more: decode it (base64 -d) and give what comes out")
		case sshKey.Match(raw):
			what = "an SSH key"
		}
		if what != "" {
			return fmt.Errorf("this is %s in base64 or hexadecimal, and no secret: give it as PEM, with BEGIN and END lines; "+
				"once it is decoded (base64 -d) openssl pkey -inform DER makes that (-pubin for a public key)", what)
		}
	}
	return nil
}

// unbase64 takes both alphabets, with padding or without it.
func unbase64(text []byte) ([]byte, error) {
	text = bytes.TrimRight(text, "=")
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("-"), []byte("+")), []byte("_"), []byte("/"))
	return base64.RawStdEncoding.AppendDecode(nil, text)
}

// unhex takes digits with colons between bytes, too.
func unhex(text []byte) ([]byte, error) {
	return hex.AppendDecode(nil, bytes.ReplaceAll(text, []byte(":"), nil))
}

var (
	// sshKey is a public key as in authorized_keys or known_hosts, or as RFC 4716 has it, or a private key of PuTTY.
	sshKey = regexp.MustCompile(`(^|\s)(ssh-[a-z0-9-]+|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9@.-]+)\s+AAAA|^-{4} BEGIN |^PuTTY-User-Key-File-`)
	// printedKey is what openssl prints with -text.
	printedKey = regexp.MustCompile(`(?m)(Public|Private)-Key: |^\s*Public Key Algorithm: `)
	// token is a JSON Web Token: its header is an object in base64.
	token = regexp.MustCompile(`^ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`)
	// markup is how a page begins.
	markup = regexp.MustCompile(`^<[!?A-Za-z]`)
	// list is how a list begins in JSON, and quoted how a text does.
	list   = regexp.MustCompile(`^\[\s*[\]{"\[]`)
	quoted = regexp.MustCompile(`^"`)
)

func isMarkup(data []byte) bool { return utf8.Valid(data) && markup.Match(bytes.TrimSpace(data)) }

// isOtherJSON is for what [isJSON] does not claim. A list may also be broken; a text in quotes may be a secret that happens to
// begin with one, unless it ends with one, too.
func isOtherJSON(data []byte) bool {
	text := bytes.TrimSpace(data)
	return utf8.Valid(text) && (list.Match(text) || quoted.Match(text) && json.Valid(text))
}

// hasMark recognizes texts that editors on Windows save.
func hasMark(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return utf8.Valid(data)
	}
	zeros := [2]int{}
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	half := len(data) / 2
	// Of a text of few letters that are not ASCII, in one byte order or the other, every second byte is 0.
	return half > 1 && (zeros[0] == 0) != (zeros[1] == 0) && max(zeros[0], zeros[1]) > half*3/4
}

// binaryKey names what a key or a certificate in DER is, or an SSH key as it is on the wire; empty for anything else.
func binaryKey(data []byte) string {
	for _, kind := range sshKinds {
		if bytes.HasPrefix(data, append([]byte{0, 0, 0}, kind...)) {
			return "an SSH key"
		}
	}
	if what := keyInDER(data); what != "" {
		return what
	}
	// A newline or two at the end of binary data are an editor's.
	if cut := bytes.TrimRight(data, "\r\n"); len(cut) < len(data) {
		if what := keyInDER(cut); what != "" {
			return what
		}
	}
	if isDER(data) {
		return "a key or a certificate"
	}
	return ""
}

// sshKinds are how the binary form of an SSH key begins, after the first three bytes of a length.
var sshKinds = [][]byte{[]byte("\x07ssh-"), []byte("\x0bssh-"), []byte("\x13ecdsa-"), []byte("\x1ask-ssh-"), []byte("\x22sk-ecdsa-")}

// isDER says whether data is one ASN.1 sequence, as all keys and certificates are.
func isDER(data []byte) bool {
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(data, &outer)
	if err != nil || len(rest) > 0 || outer.Class != asn1.ClassUniversal || outer.Tag != asn1.TagSequence || !outer.IsCompound {
		return false
	}
	for parts := outer.Bytes; len(parts) > 0; {
		var part asn1.RawValue
		if parts, err = asn1.Unmarshal(parts, &part); err != nil {
			return false
		}
	}
	return len(outer.Bytes) > 0
}

// keyInDER tries the standard library's parsers.
func keyInDER(data []byte) string {
	i := slices.IndexFunc(derKinds, func(k derKind) bool { return k.is(data) })
	if i < 0 {
		return ""
	}
	return derKinds[i].name
}
