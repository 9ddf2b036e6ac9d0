package redis

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

func TestJudge(t *testing.T) {
	good := map[string]string{"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "appendfsync": "always"}
	for _, c := range []struct {
		name            string
		change          map[string]string
		promise, warned string // parts of what is said
		refused         string // part of the error
		kind            kind
	}{
		{name: "synced", promise: "synced to the disk"},
		{name: "every second", change: map[string]string{"appendfsync": "everysec"}, promise: "within two seconds"},
		{name: "never synced", change: map[string]string{"appendfsync": "no"}, promise: "operating system", warned: "appendfsync everysec"},
		{name: "hidden", change: map[string]string{"appendfsync": ""}, promise: "does not tell"},
		{name: "no file", change: map[string]string{"aof_enabled": "0"}, promise: "in the memory", warned: "appendonly yes"},
		{name: "a later version", change: map[string]string{"redis_version": "8.2.1"}, promise: "synced"},
		{name: "no replica", kind: sentinel, promise: "synced", warned: "Add one"},
		{name: "replicas", kind: cluster, change: map[string]string{"connected_slaves": "1", "min-replicas-to-write": "1"}, promise: "synced"},
		{name: "goes on alone", change: map[string]string{"connected_slaves": "2", "min-replicas-to-write": "0"}, promise: "synced", warned: "min-replicas-to-write 1"},
		{
			name: "too few replicas", kind: sentinel, promise: "synced", warned: "min-replicas-to-write (2). Bring them back",
			change: map[string]string{"connected_slaves": "2", "min-replicas-to-write": "2", "min_slaves_good_slaves": "1"},
		},
		{name: "an old version", change: map[string]string{"redis_version": "6.2.7"}, refused: "Redis 6.2.7"},
		{name: "eviction", change: map[string]string{"maxmemory_policy": "allkeys-lru"}, promise: "thrown away", refused: "allkeys-lru"},
	} {
		facts := maps.Clone(good)
		maps.Copy(facts, c.change)
		p, warnings, err := judge(facts, c.kind)
		promise, warning := p.text, strings.Join(warnings, " ")
		switch {
		case (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused):
			t.Errorf("%s: judge(%v) = %v, want an error with %q", c.name, facts, err, c.refused)
		case !strings.Contains(promise, c.promise) || (warning != "") != (c.warned != "") || !strings.Contains(warning, c.warned):
			t.Errorf("%s: judge(%v) = %q, %q, want them with %q, %q", c.name, facts, promise, warning, c.promise, c.warned)
		}
	}
}

func TestOpenChecksTheServer(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	if _, err := Open(t.Context(), Options{URL: s.url}); err == nil || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("Open on a server that evicts = %v, want an error that says what to set", err)
	}
	s.set(t, "maxmemory-policy", "noeviction")
	said := make(chan string, 10)
	o := Options{URL: s.url, Warning: func(w string) { said <- w }}
	if got := open(t, o).Info(); len(said) != 1 || !strings.Contains(got.Promise, "memory") {
		t.Errorf("Open on a server without a file: promise %q, %d warnings, want memory and one", got.Promise, len(said))
	}
	<-said
	s.set(t, "appendonly", "yes")
	s.set(t, "appendfsync", "always")
	if got := open(t, o).Info(); len(said) != 0 || !strings.Contains(got.Promise, "synced") {
		t.Errorf("Open on a server that syncs: promise %q, %d warnings, want synced and none", got.Promise, len(said))
	}
}

// What somebody changes in a server's settings is noticed and warned of, each time anew.
func TestSettingsAreWatched(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--appendonly", "yes", "--appendfsync", "always")
	said := make(chan string, 10)
	s := open(t, Options{URL: server.url, Silence: 4 * time.Second, Warning: func(w string) { said <- w }})
	for _, c := range []struct{ name, bad, good, warning, promise string }{
		{"appendfsync", "no", "always", "appendfsync everysec", "operating system"},
		{"maxmemory-policy", "allkeys-lru", "noeviction", "noeviction", "thrown away"},
		{"appendfsync", "no", "always", "appendfsync everysec", "operating system"},
	} {
		server.set(t, c.name, c.bad)
		select {
		case w := <-said:
			if got := s.Info().Promise; !strings.Contains(w, c.warning) || !strings.Contains(got, c.promise) {
				t.Errorf("with %s %s the warning is %q and the promise %q, want them with %q and %q", c.name, c.bad, w, got, c.warning, c.promise)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s %s is not noticed", c.name, c.bad)
		}
		server.set(t, c.name, c.good)
		redistest.Until(t, "the promise to be the old one", func() error {
			if got := s.Info().Promise; !strings.Contains(got, "appendfsync always") {
				return errors.New(got)
			}
			return nil
		})
	}
}

// The rights that docs/operating.md gives to a user are enough, and it is noticed if those are missing that scripts need only
// in the end.
func TestOpenChecksTheRights(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	user := func(name string, rights ...any) Options {
		t.Helper()
		args := append([]any{"acl", "setuser", name, "on", ">secret", "~dabba:*"}, rights...)
		if err := s.client.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
		return Options{URL: strings.Replace(s.url, "redis://", "redis://"+name+":secret@", 1)}
	}
	for name, rights := range map[string][]any{
		"elsewhere": {"&other:*", "+@all"},
		"mute":      {"&dabba:*", "+@all", "-spublish"},
		"deaf":      {"&dabba:*", "+@all", "-ssubscribe"},
	} {
		_, err := Open(t.Context(), user(name, rights...))
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "ACL") {
			t.Errorf("Open by a user with the rights %q = %v, want an error that says so", rights, err)
		}
	}
	own := open(t, user("enough", "&dabba:*", "+@all", "-@dangerous", "+info", "+config|get"))
	if err := own.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Error(err)
	}
	if _, err := own.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{{Payload: []byte("m")}}}); err != nil {
		t.Errorf("Send with the rights that are documented = %v, want nil", err)
	}
}

func TestOpenChecksTheFormat(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	o := Options{URL: url, Prefix: freshPrefix(t, url)}
	s := open(t, o)
	if err := s.client.Set(t.Context(), s.versionKey(), "2", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); !errors.Is(err, store.ErrVersion) {
		t.Errorf("Open of keys of another format = %v, want %v", err, store.ErrVersion)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(ownServer(t).url, "redis://")
	for _, c := range []struct {
		name string
		o    Options
		want error
	}{
		{"a URL of another kind", Options{URL: "http://127.0.0.1:1"}, nil},
		{"a prefix with a hash tag", Options{URL: "redis://127.0.0.1:1", Prefix: "a{b}"}, nil},
		{"a server that is not there", Options{URL: address(port)}, store.ErrUnavailable},
		{"a database that is not there", Options{URL: "redis://" + at + "/99"}, store.ErrUnavailable},
		{"a server that is no sentinel", Options{URL: "redis-sentinel://" + at + "/name"}, store.ErrUnavailable},
		{"a server that is in no cluster", Options{URL: "redis-cluster://" + at}, store.ErrUnavailable},
	} {
		_, err := Open(t.Context(), c.o)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("Open with %s = %v, want %v", c.name, err, c.want)
		}
	}
}
