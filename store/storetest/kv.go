package storetest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

var kvCases = []testCase{
	{"gives what was put", kvPut},
	{"compares before it sets", kvCompareAndSet},
	{"compares before it deletes", kvDelete},
	{"never uses a revision twice", kvRevisions},
	{"starts a deleted key again above all it had", kvReborn},
	{"orders keys bytewise", kvOrder},
	{"lists by prefix", kvPrefix},
	{"lists by the page", kvPages},
	{"keeps values of any size", kvSizes},
	{"does not hold on to the caller's bytes", kvCopies},
	{"is apart from queues", kvApart},
}

func (f *fixture) put(key string, value []byte, prev store.Revision) store.Revision {
	f.Helper()
	r, err := f.store.Put(f.Context(), key, value, prev)
	if err != nil {
		f.Fatalf("Put(%q, %d bytes, %d) = %v, want nil", key, len(value), prev, err)
	}
	if r == 0 || r == store.AnyRevision {
		f.Fatalf("Put(%q, %d bytes, %d): got revision %d, want a positive one", key, len(value), prev, r)
	}
	return r
}

func (f *fixture) wantPair(key string, want string, revision store.Revision) {
	f.Helper()
	p, err := f.store.Get(f.Context(), key)
	f.wantError(fmt.Sprintf("Get(%q)", key), err, nil)
	f.equal(fmt.Sprintf("Get(%q)", key), p, store.Pair{Key: key, Value: []byte(want), Revision: revision})
}

func (f *fixture) wantAbsent(key string) {
	f.Helper()
	_, err := f.store.Get(f.Context(), key)
	f.wantError(fmt.Sprintf("Get(%q)", key), err, store.ErrNotFound)
}

func (f *fixture) list(prefix, after string, limit int) []store.Pair {
	f.Helper()
	list, err := f.store.List(f.Context(), prefix, after, limit)
	f.wantError(fmt.Sprintf("List(%q, %q, %d)", prefix, after, limit), err, nil)
	return list
}

func keys(list []store.Pair) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Key
	}
	return names
}

func kvPut(f *fixture) {
	f.wantAbsent("k")
	r := f.put("k", []byte("one"), 0)
	f.wantPair("k", "one", r)
	r = f.put("k", []byte("two"), r)
	f.wantPair("k", "two", r)
	r = f.put("k", nil, store.AnyRevision)
	f.wantPair("k", "", r)
	f.wantAbsent("k2")
	f.wantAbsent("")
}

func kvCompareAndSet(f *fixture) {
	first := f.put("k", []byte("one"), 0)
	second := f.put("k", []byte("two"), first)
	for _, prev := range []store.Revision{0, first, second + 1, second + 1000} {
		_, err := f.store.Put(f.Context(), "k", []byte("wrong"), prev)
		f.wantError(fmt.Sprintf("Put(present key, prev %d)", prev), err, store.ErrConflict)
	}
	f.wantPair("k", "two", second)
	for _, prev := range []store.Revision{1, first, second} {
		_, err := f.store.Put(f.Context(), "absent", []byte("wrong"), prev)
		f.wantError(fmt.Sprintf("Put(absent key, prev %d)", prev), err, store.ErrConflict)
	}
	f.wantAbsent("absent")
	f.put("absent", []byte("now"), store.AnyRevision)
}

func kvDelete(f *fixture) {
	first := f.put("k", []byte("one"), 0)
	second := f.put("k", []byte("two"), first)
	for _, prev := range []store.Revision{0, first, second + 1} {
		f.wantError(fmt.Sprintf("Delete(present key, prev %d)", prev), f.store.Delete(f.Context(), "k", prev), store.ErrConflict)
	}
	f.wantPair("k", "two", second)
	f.wantError("Delete(present key)", f.store.Delete(f.Context(), "k", second), nil)
	f.wantAbsent("k")
	f.wantError("Delete(absent key, its last revision)", f.store.Delete(f.Context(), "k", second), store.ErrConflict)
	f.wantError("Delete(absent key, any)", f.store.Delete(f.Context(), "k", store.AnyRevision), nil)
	f.put("k", []byte("three"), 0)
	f.wantError("Delete(present key, any)", f.store.Delete(f.Context(), "k", store.AnyRevision), nil)
	f.wantAbsent("k")
}

func kvRevisions(f *fixture) {
	seen := make(map[store.Revision]string)
	last := make(map[string]store.Revision)
	for i := range 100 {
		key := fmt.Sprint("key", i%7)
		if i%5 == 4 {
			f.wantError("Delete", f.store.Delete(f.Context(), key, store.AnyRevision), nil)
			continue
		}
		r := f.put(key, fmt.Append(nil, i), store.AnyRevision)
		if other, used := seen[r]; used {
			f.Fatalf("Put(%q): got revision %d, which was given to %q before", key, r, other)
		}
		if r <= last[key] {
			f.Fatalf("Put(%q): got revision %d, want above %d", key, r, last[key])
		}
		seen[r], last[key] = key, r
	}
}

// Else a writer who still holds the old revision would overwrite what another created since.
func kvReborn(f *fixture) {
	old := f.put("k", []byte("one"), 0)
	for range 3 {
		f.wantError("Delete", f.store.Delete(f.Context(), "k", store.AnyRevision), nil)
		r := f.put("k", []byte("again"), 0)
		if r <= old {
			f.Fatalf("Put of a deleted key: got revision %d, want above %d", r, old)
		}
		_, err := f.store.Put(f.Context(), "k", []byte("wrong"), old)
		f.wantError("Put at a revision of an earlier life", err, store.ErrConflict)
		old = r
	}
}

func kvOrder(f *fixture) {
	want := []string{"\x00", "\x00\x00", "\x01", "A", "a", "a\x00", "a\x00b", "a\xff", "aa", "ab", "b", "\x80", "é", "\xff", "\xff\xff"}
	for i := range want {
		f.put(want[(i*7)%len(want)], []byte("v"), 0)
	}
	slices.Sort(want)
	f.equal("List of all", keys(f.list("", "", 100)), want)
}

func kvPrefix(f *fixture) {
	for _, key := range []string{"a", "a/", "a/1", "a/2", "a/2/x", "a0", "b/1", "\xff", "\xff\xff", "\xff\xff1"} {
		f.put(key, []byte(key), 0)
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"a/", "", 100, []string{"a/", "a/1", "a/2", "a/2/x"}},
		{"a/", "a/", 100, []string{"a/1", "a/2", "a/2/x"}},
		{"a/", "a/1", 1, []string{"a/2"}},
		{"a/", "a/2/x", 100, nil},
		{"a/", "b", 100, nil},
		{"a/", "A", 2, []string{"a/", "a/1"}},
		{"c", "", 100, nil},
		{"\xff\xff", "", 100, []string{"\xff\xff", "\xff\xff1"}},
		{"", "b/1", 100, []string{"\xff", "\xff\xff", "\xff\xff1"}},
	} {
		list := f.list(c.prefix, c.after, c.limit)
		f.equal(fmt.Sprintf("List(%q, %q, %d)", c.prefix, c.after, c.limit), keys(list), c.want)
		for _, p := range list {
			f.wantPair(p.Key, string(p.Value), p.Revision)
		}
	}
}

func kvPages(f *fixture) {
	var want, got []string
	for i := range 57 {
		key := fmt.Sprintf("p/%03d", i)
		f.put(key, nil, 0)
		want = append(want, key)
	}
	f.put("q", nil, 0)
	after := ""
	for range 20 {
		page := f.list("p/", after, 10)
		if len(page) == 0 {
			break
		}
		got = append(got, keys(page)...)
		after = page[len(page)-1].Key
	}
	f.equal("List in pages of 10", got, want)
}

func kvSizes(f *fixture) {
	for _, size := range []int{0, 1, 4096, 1 << 20} {
		value := bytes.Repeat([]byte{0xA5}, size)
		r := f.put(fmt.Sprint(size), value, 0)
		p, err := f.store.Get(f.Context(), fmt.Sprint(size))
		f.wantError("Get", err, nil)
		if !bytes.Equal(p.Value, value) || p.Revision != r {
			f.Errorf("Get of a value of %d bytes: got %d bytes at revision %d, want the same at %d", size, len(p.Value), p.Revision, r)
		}
	}
}

func kvCopies(f *fixture) {
	value := []byte("value")
	r := f.put("k", value, 0)
	copy(value, "XXXXX")
	f.wantPair("k", "value", r)
	p, err := f.store.Get(f.Context(), "k")
	f.wantError("Get", err, nil)
	copy(p.Value, "YYYYY")
	copy(f.list("", "", 1)[0].Value, "ZZZZZ")
	f.wantPair("k", "value", r)
}

func kvApart(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.equal("List of all with one queue and no key", keys(f.list("", "", 10)), []string{})
	f.put("k", []byte("v"), 0)
	f.drop(q)
	f.equal("List of all after a drop", keys(f.list("", "", 10)), []string{"k"})
}
