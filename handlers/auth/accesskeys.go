package auth

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// minAccessSecret keeps a secret from being guessed with one signed request at hand; those of AWS have 40 characters.
	minAccessSecret = 16
	maxAccessSecret = 256
)

// AccessKeys are those who sign requests on the SQS wire, by the id of their access key. Safe for concurrent use.
type AccessKeys struct {
	path string
	keys atomic.Pointer[map[string]accessKey]
}

type accessKey struct {
	secret    string
	principal *Principal
}

// accessKeyEntry is one key in the file.
type accessKeyEntry struct {
	ID     string `json:"access_key_id"`
	Secret string `json:"secret_access_key"`
	Tenant string `json:"tenant"`
	Scope  string `json:"scope"`
}

// ParseAccessKeys reads access keys from JSON:
//
//	{"keys": [{"access_key_id": "…", "secret_access_key": "…", "tenant": "…", "scope": "…"}]}
//
// The tenant may be left out and is then [DefaultTenant]; the scope is like a token's. What is wrong is an error that
// says in which key, and never what the secret is.
func ParseAccessKeys(data []byte) (*AccessKeys, error) {
	keys, err := parseAccessKeys(data)
	if err != nil {
		return nil, err
	}
	a := new(AccessKeys)
	a.keys.Store(&keys)
	return a, nil
}

// LoadAccessKeys reads access keys from a file that is for its owner alone, as one with private keys is: see [LoadKeys].
func LoadAccessKeys(path string) (*AccessKeys, error) {
	a := &AccessKeys{path: path}
	if err := a.Reload(); err != nil {
		return nil, err
	}
	return a, nil
}

// Reload reads the file again that the keys were loaded from. All keys are replaced at once, or with an error none.
func (a *AccessKeys) Reload() error {
	data, err := readOwned(a.path)
	if err != nil {
		return fmt.Errorf("access keys: %w", err)
	}
	keys, err := parseAccessKeys(data)
	if err != nil {
		return fmt.Errorf("access keys in %s: %w", a.path, err)
	}
	a.keys.Store(&keys)
	return nil
}

// Find returns the secret of an access key and who uses it: a principal without an end, whose subject is the id. It is
// shared and must not be changed. A nil AccessKeys has no keys.
func (a *AccessKeys) Find(id string) (secret string, p *Principal, ok bool) {
	k, ok := a.all()[id]
	return k.secret, k.principal, ok
}

// Len is the number of keys.
func (a *AccessKeys) Len() int { return len(a.all()) }

func (a *AccessKeys) all() map[string]accessKey {
	if a == nil {
		return nil
	}
	if keys := a.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

func parseAccessKeys(data []byte) (map[string]accessKey, error) {
	var file struct {
		Keys []accessKeyEntry `json:"keys"`
	}
	if err := json.Unmarshal(data, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, explainJSON(data, err)
	}
	if len(file.Keys) == 0 {
		return nil, errors.New(`there is no key: it is JSON like {"keys": [{"access_key_id": "…", "secret_access_key": "…", "scope": "queues:send:*"}]}`)
	}
	keys := make(map[string]accessKey, len(file.Keys))
	for i, e := range file.Keys {
		k, err := e.key()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if _, twice := keys[e.ID]; twice {
			return nil, fmt.Errorf("key %d: there is an access_key_id %s already", i+1, e.ID)
		}
		keys[e.ID] = k
	}
	return keys, nil
}

var (
	accessKeyID     = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,128}$`)
	accessKeySecret = regexp.MustCompile(`^[!-~]*$`)
)

func (e accessKeyEntry) key() (accessKey, error) {
	if !accessKeyID.MatchString(e.ID) {
		return accessKey{}, errors.New("access_key_id is 3 to 128 letters, digits, _, - and . (AKIAIOSFODNN7EXAMPLE)")
	}
	if n := len(e.Secret); n < minAccessSecret || n > maxAccessSecret {
		return accessKey{}, fmt.Errorf("secret_access_key of %s has %d to %d characters, this one has %d: openssl rand -base64 30 makes one",
			e.ID, minAccessSecret, maxAccessSecret, n)
	}
	if !accessKeySecret.MatchString(e.Secret) {
		return accessKey{}, fmt.Errorf("secret_access_key of %s has spaces or characters that are not ASCII", e.ID)
	}
	if e.Tenant == "" {
		e.Tenant = DefaultTenant
	}
	if err := CheckTenant(e.Tenant); err != nil {
		return accessKey{}, fmt.Errorf("%s: %w", e.ID, err)
	}
	if strings.TrimSpace(e.Scope) == "" {
		return accessKey{}, fmt.Errorf("%s has no scope, so it may do nothing: give one, like queues:send:orders, or admin:*:* for everything", e.ID)
	}
	if err := CheckScopes(e.Scope); err != nil {
		return accessKey{}, fmt.Errorf("%s: %w", e.ID, err)
	}
	list := parseScopes(e.Scope)
	return accessKey{e.Secret, &Principal{Tenant: e.Tenant, Subject: e.ID, scopes: list, all: list.everything()}}, nil
}

// explainJSON says what is wrong with the file and in which line, in words of its own: the parser's may quote a value,
// and values are secrets.
func explainJSON(data []byte, err error) error {
	line := func(offset int64) int { return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")) }
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("line %d: the field%s is given twice", line(e.ByteOffset), fieldName(e.JSONPointer))
		}
		return fmt.Errorf("line %d: it is not valid JSON", line(e.ByteOffset))
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return errors.New("it cannot be read as JSON")
	case errors.Is(e.Err, json.ErrUnknownName):
		known := "access_key_id, secret_access_key, tenant and scope"
		if e.GoType != reflect.TypeFor[accessKeyEntry]() {
			known = "keys"
		}
		return fmt.Errorf("line %d: unknown field%s: there is %s", line(e.ByteOffset), fieldName(e.JSONPointer), known)
	case e.JSONPointer == "":
		return fmt.Errorf("line %d: it is a JSON object with the field keys, not a %s", line(e.ByteOffset), e.JSONKind)
	case e.GoType != nil && e.GoType.Kind() == reflect.String:
		return fmt.Errorf("line %d: the field%s is a text, not a %s", line(e.ByteOffset), fieldName(e.JSONPointer), e.JSONKind)
	default:
		return fmt.Errorf(`line %d: keys is a list of {"access_key_id", "secret_access_key", "tenant", "scope"}, not a %s`, line(e.ByteOffset), e.JSONKind)
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z_]{1,24}$`)

// fieldName is the name in quotes after a space, or nothing if it is none that a person would have thought of: in a file
// that is all wrong a secret may stand where a name belongs.
func fieldName(at jsontext.Pointer) string {
	if name := at.LastToken(); plainName.MatchString(name) {
		return fmt.Sprintf(" %q", name)
	}
	return ""
}
