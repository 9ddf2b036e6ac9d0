package redis

import (
	"slices"
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text           string
		kind           kind
		hosts          string
		user, password string
		db             int
		master         string
		tls            bool
		serverName     string
	}{
		{text: "redis://h", kind: single, hosts: "h:6379"},
		{text: "redis://u:p%2Fw@h:1/3", kind: single, hosts: "h:1", user: "u", password: "p/w", db: 3},
		{text: "rediss://h:1", kind: single, hosts: "h:1", tls: true, serverName: "h"},
		{text: "redis://[::1]:1", kind: single, hosts: "[::1]:1"},
		{text: "redis-sentinel://u:p@a,b:2,[::1]/main", kind: sentinel, hosts: "a:26379 b:2 [::1]:26379", user: "u", password: "p", master: "main"},
		{text: "redis-sentinel://a/main/4?read_timeout=2s", kind: sentinel, hosts: "a:26379", master: "main", db: 4},
		{text: "rediss-sentinel://a/main", kind: sentinel, hosts: "a:26379", master: "main", tls: true},
		{text: "redis-cluster://:p@a:1,b:2,c", kind: cluster, hosts: "a:1 b:2 c:6379", password: "p"},
		{text: "rediss-cluster://a:1", kind: cluster, hosts: "a:1", tls: true},
	} {
		got, err := parseEndpoint(c.text)
		if err != nil {
			t.Errorf("parseEndpoint(%q) = %v, want nil", c.text, err)
			continue
		}
		if got.kind != c.kind || !slices.Equal(got.hosts, strings.Fields(c.hosts)) || got.master != c.master {
			t.Errorf("parseEndpoint(%q) = kind %d, hosts %q, master %q", c.text, got.kind, got.hosts, got.master)
		}
		if o := got.each; o.Username != c.user || o.Password != c.password || o.DB != c.db || (o.TLSConfig != nil) != c.tls {
			t.Errorf("parseEndpoint(%q) = user %q, password %q, database %d, TLS %v", c.text, o.Username, o.Password, o.DB, o.TLSConfig != nil)
		} else if c.tls && o.TLSConfig.ServerName != c.serverName {
			t.Errorf("parseEndpoint(%q) expects a certificate of %q, want %q", c.text, o.TLSConfig.ServerName, c.serverName)
		}
	}
	got, err := parseEndpoint("redis-sentinel://a/main?sentinel_username=u&sentinel_password=p")
	if err != nil || got.sentinelUsername != "u" || got.sentinelPassword != "p" {
		t.Errorf("parseEndpoint of a user of the sentinels = %+v, %v", got, err)
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"http://h":                            "begins with",
		"secret":                              "begins with",
		"redis://u:secret@a,b":                "redis-cluster://",
		"redis-sentinel://u:secret@a":         "name that the sentinels have",
		"redis-cluster://u:secret@a/1":        "database 0",
		"redis://u:sec/ret@h":                 "%2F",
		"redis://u:secret@h/notanumber":       "database",
		"redis://u:12/secret@h":               "database",
		"redis://u:secret@h:1?no_such_thing=": "no_such_thing",
	} {
		_, err := parseEndpoint(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec/ret") {
			t.Errorf("parseEndpoint(%q) = %v, want an error that speaks of %q and not of the password", text, err, says)
		}
	}
}
