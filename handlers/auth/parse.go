package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/MicahParks/jwkset"
)

// ParseKeys reads the keys of a file or an environment variable. It understands a JWK set or a single JWK (JSON),
// PEM blocks with public or private keys, and anything else as one raw secret of at least 32 bytes, one newline at
// its end ignored. What looks like a key in another encoding, like another kind of text, or as if anybody could guess it
// is refused rather than taken for a secret; the error says what it is taken for and what to do.
func ParseKeys(data []byte) ([]Key, error) {
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("there is no key in it, it is empty: %w", errNewSecret)
	case hasMark(data): // JSON and PEM with it would be read as something else
		return nil, checkWhatItIs(data)
	case isJSON(data):
		return parseJWKs(data)
	case bytes.Contains(data, []byte("-----BEGIN ")):
		return parsePEM(data)
	}
	secret := bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	k, err := newKey("", bytes.Clone(secret))
	if err != nil {
		return nil, err
	}
	return []Key{k}, nil
}

// isJSON also claims broken JSON, for an error instead of a secret that is no secret. Random bytes that happen to
// start with a brace are not UTF-8.
func isJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && utf8.Valid(data)
}

func parseJWKs(data []byte) ([]Key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("not a JWK set: %w", err)
	}
	if set.Keys == nil {
		set.Keys = []json.RawMessage{data}
	}
	var keys []Key
	for i, raw := range set.Keys {
		k, err := parseJWK(raw)
		if err != nil {
			return nil, fmt.Errorf("key %d of the JWK set: %w", i+1, err)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("the JWK set holds no key")
	}
	return keys, nil
}

func parseJWK(raw json.RawMessage) (Key, error) {
	jwk, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{Private: true}, jwkset.JWKValidateOptions{})
	if err != nil {
		return Key{}, err
	}
	m := jwk.Marshal()
	k, err := newKey(m.KID, jwk.Key())
	if err != nil {
		return Key{}, err
	}
	if m.USE == jwkset.UseEnc {
		return Key{}, errors.New("it is for encryption, not for signatures")
	}
	if m.ALG != "" && m.ALG.String() != k.alg {
		return Key{}, fmt.Errorf("its alg is %q, but keys of its kind are used with %s here", m.ALG, k.alg)
	}
	return k, nil
}

func parsePEM(data []byte) ([]Key, error) {
	var keys []Key
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		material, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d (%s): %w", len(keys)+1, block.Type, err)
		}
		k, err := newKey("", material)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d (%s): %w", len(keys)+1, block.Type, err)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is a PEM header but no complete PEM block")
	}
	if rest := bytes.TrimSpace(data); len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes that are not PEM follow the last PEM block", len(rest))
	}
	return keys, nil
}

func parseBlock(b *pem.Block) (any, error) {
	switch b.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(b.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(b.Bytes)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(b.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(b.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(b.Bytes)
	case "CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE":
		return nil, errors.New("a certificate is not read here: take its public key out with openssl x509 -pubkey -noout")
	case "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("it is encrypted: decrypt it with openssl pkey, and keep the result in a file of mode 0600")
	case "OPENSSH PRIVATE KEY":
		return nil, errors.New("it is in the format of SSH: convert a copy of it with ssh-keygen -p -m PKCS8 -f COPY")
	default:
		return nil, errors.New("only PUBLIC KEY and PRIVATE KEY blocks are read here")
	}
}
