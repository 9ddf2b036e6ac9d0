package redis

import (
	"slices"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// scripts are the names of all, chunks left out.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := sources.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".lua")
		if strings.HasPrefix(source(name), "#!lua") {
			names = append(names, name)
		}
	}
	return names
}

// A server refuses to load what does not compile.
func TestScriptsLoad(t *testing.T) {
	t.Parallel()
	s := open(t, Options{URL: serverURL(t), Prefix: freshPrefix(t, serverURL(t))})
	names := scripts(t)
	for _, name := range names {
		sc := newScript(name)
		sum, err := s.client.ScriptLoad(t.Context(), sc.text).Result()
		if err != nil || sum != sc.sum {
			t.Errorf("script %s loads as %q, %v; want %q", name, sum, err, sc.sum)
		}
	}
	if len(names) < 20 {
		t.Errorf("found %d scripts only: %q", len(names), names)
	}
}

// Who reads a script need not look for its keys elsewhere, and each chunk has its purpose.
func TestScriptsAreDescribed(t *testing.T) {
	for _, name := range scripts(t) {
		text := source(name)
		for _, word := range []string{"-- KEYS: ", " ARGV: ", " Returns "} {
			if !strings.Contains(text, word) && !strings.Contains(text, "see the chunk") && !strings.Contains(text, "are in the chunk") {
				t.Errorf("script %s does not say %q", name, word)
			}
		}
	}
}

func TestScriptsIncludeChunksOnce(t *testing.T) {
	sc := newScript("log_sweep")
	for _, part := range []string{"local function openLog(", "local function queueTime(", "local function factsOf("} {
		if n := strings.Count(sc.text, part); n != 1 {
			t.Errorf("script %s has %q %d times, want once", sc.name, part, n)
		}
	}
	if strings.Contains(sc.text, includeMark) {
		t.Errorf("script %s still includes something:\n%s", sc.name, sc.text)
	}
	if newScript("log_bounds").reads == false || sc.reads {
		t.Error("a script that changes nothing is not told from one that does")
	}
	defer func() {
		if recover() == nil {
			t.Error("newScript of a chunk did not panic")
		}
	}()
	newScript("log")
}

// A server that was restarted has no scripts, and is sent them again.
func TestScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	s := open(t, Options{URL: own.url})
	for range 2 {
		if _, err := s.Put(t.Context(), "k", []byte("v"), store.AnyRevision); err != nil {
			t.Fatalf("Put = %v, want nil", err)
		}
		if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A reply that is not as expected is an error, never a panic or a made-up value.
func TestReplies(t *testing.T) {
	sc := &script{name: "test"}
	for name, read := range map[string]func(*reply){
		"too short":           func(r *reply) { r.int(); r.text(); r.list(); r.int() },
		"a text for a list":   func(r *reply) { r.int(); r.list() },
		"a list for a text":   func(r *reply) { r.int(); r.text(); r.text() },
		"a text for a number": func(r *reply) { r.int(); r.int() },
		"inside a list":       func(r *reply) { r.int(); r.text(); r.list().text() },
	} {
		r := newReply(sc, []any{int64(1), "a", []any{int64(2)}})
		read(r)
		if err := r.done(); err == nil || !strings.Contains(err.Error(), "script test") {
			t.Errorf("%s: got error %v, want one that names the script", name, err)
		}
	}
	r := newReply(sc, []any{int64(1), "12", nil, []any{"x", "y"}, "z"})
	got := []any{r.int(), r.int()}
	text, ok := r.maybe()
	list := r.list()
	got = append(got, text, ok, list.text(), list.text(), list.more(), r.text(), r.more(), r.done())
	want := []any{int64(1), int64(12), "", false, "x", "y", false, "z", false, error(nil)}
	if !slices.Equal(got, want) {
		t.Errorf("reply: got %v, want %v", got, want)
	}
}
