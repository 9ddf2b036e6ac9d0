package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	accessSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	oneKey       = `{"keys":[{"access_key_id":"AKIDEXAMPLE","secret_access_key":"` + accessSecret + `","tenant":"acme","scope":"queues:send:orders queues:read:*"}]}`
)

func TestParseAccessKeys(t *testing.T) {
	t.Parallel()
	a, err := ParseAccessKeys([]byte(`{"keys":[
		{"access_key_id":"AKIDEXAMPLE","secret_access_key":"` + accessSecret + `","tenant":"acme","scope":"queues:send:orders"},
		{"access_key_id":"all.of_it-1","secret_access_key":"0123456789abcdef","scope":"admin:*:*"}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	secret, p, ok := a.Find("AKIDEXAMPLE")
	if !ok || secret != accessSecret || p.Tenant != "acme" || p.Subject != "AKIDEXAMPLE" || !p.Expires.IsZero() {
		t.Errorf("Find = %q, %+v, %v", secret, p, ok)
	}
	if !p.Allows("queues", "send", "orders") || p.Allows("queues", "send", "other") || p.Allows("queues", "receive", "orders") {
		t.Errorf("scopes %v of the first key do not do what they say", p.Scopes())
	}
	if _, p, ok := a.Find("all.of_it-1"); !ok || p.Tenant != DefaultTenant || !p.Allows("topics", "manage", "x") {
		t.Errorf("the key without a tenant is of %+v, %v", p, ok)
	}
	for _, id := range []string{"", "akidexample", "AKIDEXAMPLE "} {
		if secret, p, ok := a.Find(id); ok || secret != "" || p != nil {
			t.Errorf("Find(%q) = %q, %v, %v; want nobody", id, secret, p, ok)
		}
	}
	for _, none := range []*AccessKeys{nil, new(AccessKeys)} {
		if _, _, ok := none.Find("AKIDEXAMPLE"); ok || none.Len() != 0 {
			t.Error("no access keys at all, and one is found")
		}
	}
}

func TestParseAccessKeysRefuses(t *testing.T) {
	t.Parallel()
	with := func(field, value string) string {
		fields := map[string]string{"access_key_id": `"AKIDEXAMPLE"`, "secret_access_key": `"` + accessSecret + `"`, "tenant": `"acme"`, "scope": `"admin:*:*"`}
		fields[field] = value
		s := ""
		for name, v := range fields {
			if v != "" {
				s += fmt.Sprintf(",\n%q:%s", name, v)
			}
		}
		return `{"keys":[{` + s[1:] + `}]}`
	}
	tests := map[string]struct{ data, want string }{
		"empty file":       {"", "line 1: it is not valid JSON"},
		"broken":           {"{\n\"keys\":\n[,]}", "line 3: it is not valid JSON"},
		"a raw secret":     {accessSecret, "line 1: it is not valid JSON"},
		"more after it":    {oneKey + oneKey, "it is not valid JSON"},
		"a list":           {"[]", "it is a JSON object with the field keys"},
		"no keys":          {"{}", "there is no key"},
		"null":             {"null", "there is no key"},
		"empty list":       {`{"keys":[]}`, "there is no key"},
		"keys is a text":   {`{"keys":"x"}`, "keys is a list"},
		"a key is a text":  {`{"keys":["x"]}`, "keys is a list"},
		"unknown at top":   {`{"key":[]}`, `unknown field "key": there is keys`},
		"keys twice":       {`{"keys":[],"keys":[]}`, `the field "keys" is given twice`},
		"unknown field":    {with("Scope", `"x"`), `unknown field "Scope": there is access_key_id, secret_access_key, tenant and scope`},
		"secret as a name": {`{"keys":[{"` + accessSecret + `":"AKIDEXAMPLE"}]}`, "line 1: unknown field: there is access_key_id"},
		"number":           {with("access_key_id", "12345678"), `the field "access_key_id" is a text`},
		"no id":            {with("access_key_id", ""), "key 1: access_key_id is 3 to 128"},
		"short id":         {with("access_key_id", `"ab"`), "key 1: access_key_id is 3 to 128"},
		"id with slash":    {with("access_key_id", `"abc/def"`), "key 1: access_key_id is 3 to 128"},
		"id and newline":   {with("access_key_id", `"abcdef\n"`), "key 1: access_key_id is 3 to 128"},
		"long id":          {with("access_key_id", `"`+strings.Repeat("a", 129)+`"`), "key 1: access_key_id is 3 to 128"},
		"no secret":        {with("secret_access_key", ""), "secret_access_key of AKIDEXAMPLE has 16 to 256 characters, this one has 0"},
		"short secret":     {with("secret_access_key", `"0123456789abcde"`), "this one has 15"},
		"long secret":      {with("secret_access_key", `"`+strings.Repeat("s", 257)+`"`), "this one has 257"},
		"secret and space": {with("secret_access_key", `"`+accessSecret+` "`), "has spaces"},
		"tenant":           {with("tenant", `"acme/eu-west-1"`), "AKIDEXAMPLE: tenant is not a name"},
		"no scope":         {with("scope", ""), "AKIDEXAMPLE has no scope"},
		"blank scope":      {with("scope", `" "`), "AKIDEXAMPLE has no scope"},
		"bad scope":        {with("scope", `"queues:send:x queues:sned:y"`), `AKIDEXAMPLE: scope "queues:sned:y"`},
		"id twice": {
			strings.Replace(oneKey, "]}", ","+strings.TrimSuffix(strings.TrimPrefix(oneKey, `{"keys":[`), "]}")+"]}", 1),
			"key 2: there is an access_key_id AKIDEXAMPLE already",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseAccessKeys([]byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("ParseAccessKeys of\n%s\n= %v, want an error with %q", tt.data, err, tt.want)
			}
			if strings.Contains(err.Error(), accessSecret) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestLoadAccessKeysWantsAPrivateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, []byte(oneKey), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o660, 0o700 | 0o001} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadAccessKeys(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: %v, want an error that says chmod 600", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if a, err := LoadAccessKeys(path); err != nil || a.Len() != 1 {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := LoadAccessKeys(path + "x"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an absent file: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", maxKeyFile)+oneKey), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAccessKeys(path); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Errorf("an endless file: %v", err)
	}
}

func TestReloadReplacesAllOrNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	write := func(data string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(oneKey)
	a, err := LoadAccessKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(oneKey, "}]", `},{"access_key_id":"x"}]`, 1))
	if err := a.Reload(); err == nil || !strings.Contains(err.Error(), path+": key 2: access_key_id") {
		t.Errorf("Reload of a wrong file = %v, want an error that names file and key", err)
	}
	if secret, _, ok := a.Find("AKIDEXAMPLE"); !ok || secret != accessSecret {
		t.Error("after a reload that failed the old key is gone")
	}

	// Whoever looks meanwhile finds either the old key or the new one.
	write(strings.Replace(oneKey, "AKIDEXAMPLE", "AKIDANOTHER", 1))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				_, _, before := a.Find("AKIDEXAMPLE")
				_, _, after := a.Find("AKIDANOTHER")
				if !before && !after {
					t.Error("neither the old key nor the new one")
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	err = a.Reload()
	close(done)
	readers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := a.Find("AKIDEXAMPLE"); ok {
		t.Error("a key that is no longer in the file is still good")
	}
	if _, p, ok := a.Find("AKIDANOTHER"); !ok || p.Subject != "AKIDANOTHER" {
		t.Error("the new key is not there")
	}
}

// FuzzParseAccessKeys: what is read can be found, may do something, and no error shows a secret.
func FuzzParseAccessKeys(f *testing.F) {
	f.Add([]byte(oneKey))
	f.Add([]byte(`{"keys":[{"access_key_id":1}]}`))
	f.Add([]byte(`{"keys":null,"x":"` + accessSecret + `"}`))
	f.Add([]byte(`{"keys":[{"secret_access_key":["` + accessSecret + `"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAccessKeys(data)
		if err != nil {
			if strings.Contains(err.Error(), accessSecret) {
				t.Errorf("the error shows the secret: %v", err)
			}
			return
		}
		for id := range a.all() {
			secret, p, ok := a.Find(id)
			if !ok || len(secret) < minAccessSecret || p.Subject != id || CheckTenant(p.Tenant) != nil || len(p.scopes) == 0 {
				t.Errorf("key %q is %+v", id, p)
			}
		}
		if a.Len() == 0 {
			t.Error("neither a key nor an error")
		}
	})
}

func TestCheckTenant(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "acme", "A_b-9", strings.Repeat("x", 80)} {
		if err := CheckTenant(name); err != nil {
			t.Errorf("CheckTenant(%q) = %v", name, err)
		}
	}
	// The slash above all: what follows it in the name of a namespace is a region.
	for _, name := range []string{"", "/", "acme/eu-west-1", "acme/", "a b", "a.b", "acme\n", "é", "a\x00", strings.Repeat("x", 81)} {
		if err := CheckTenant(name); err == nil {
			t.Errorf("CheckTenant(%q) = nil", name)
		}
	}
}
