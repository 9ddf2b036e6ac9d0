package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

// KV is the state of the key-value part. Like [Queue] it is not safe for concurrent use.
type KV struct {
	revision store.Revision // the last one given out
	keys     []string       // sorted
	pairs    map[string]store.Pair
}

// NewKV returns an empty one.
func NewKV() *KV { return &KV{pairs: make(map[string]store.Pair)} }

// Changed is a put or a delete that took place.
type Changed struct {
	Pair    store.Pair
	Deleted bool
}

// Get returns the pair, or store.ErrNotFound.
func (kv *KV) Get(key string) (store.Pair, error) {
	p, ok := kv.pairs[key]
	if !ok {
		return store.Pair{}, fmt.Errorf("get %q: %w", key, store.ErrNotFound)
	}
	return p, nil
}

// Put stores a value under the condition of [store.KV].
func (kv *KV) Put(key string, value []byte, prev store.Revision) (Changed, error) {
	if have := kv.pairs[key].Revision; prev != store.AnyRevision && prev != have {
		return Changed{}, fmt.Errorf("put %q at revision %d, have %d: %w", key, prev, have, store.ErrConflict)
	}
	ev := Changed{Pair: store.Pair{Key: key, Value: slices.Clone(value), Revision: kv.revision + 1}}
	kv.Apply(ev)
	return ev, nil
}

// Delete removes a key under the same condition. It returns false when there was nothing to remove.
func (kv *KV) Delete(key string, prev store.Revision) (Changed, bool, error) {
	have, ok := kv.pairs[key]
	switch {
	case prev != store.AnyRevision && prev != have.Revision:
		return Changed{}, false, fmt.Errorf("delete %q at revision %d, have %d: %w", key, prev, have.Revision, store.ErrConflict)
	case !ok:
		return Changed{}, false, nil
	}
	ev := Changed{Pair: store.Pair{Key: key, Revision: kv.revision + 1}, Deleted: true}
	kv.Apply(ev)
	return ev, true, nil
}

// Apply repeats a Put or Delete.
func (kv *KV) Apply(ev Changed) {
	at, found := slices.BinarySearch(kv.keys, ev.Pair.Key)
	switch {
	case ev.Deleted && found:
		kv.keys = slices.Delete(kv.keys, at, at+1)
		delete(kv.pairs, ev.Pair.Key)
	case !ev.Deleted:
		if !found {
			kv.keys = slices.Insert(kv.keys, at, ev.Pair.Key)
		}
		kv.pairs[ev.Pair.Key] = ev.Pair
	}
	kv.revision = ev.Pair.Revision
}

// List returns up to limit pairs in order whose key has the prefix and is greater than after.
func (kv *KV) List(prefix, after string, limit int) []store.Pair {
	at, found := slices.BinarySearch(kv.keys, max(prefix, after))
	if found && after >= prefix {
		at++
	}
	var list []store.Pair
	for _, key := range kv.keys[at:] {
		if len(list) == limit || !strings.HasPrefix(key, prefix) {
			break
		}
		list = append(list, kv.pairs[key])
	}
	return list
}

// Encode appends the event: revision u64 | deleted u8 | key text | value blob.
func (ev Changed) Encode(b []byte) []byte {
	w := writer{b}
	w.u64(uint64(ev.Pair.Revision))
	w.flag(ev.Deleted)
	w.text(ev.Pair.Key)
	w.blob(ev.Pair.Value)
	return w.b
}

// DecodeChanged reads what Encode wrote.
func DecodeChanged(b []byte) (Changed, error) {
	r := reader{b: b}
	ev := r.changed()
	return ev, r.done("key-value change")
}

func (r *reader) changed() Changed {
	var ev Changed
	ev.Pair.Revision = store.Revision(r.u64())
	ev.Deleted = r.flag()
	ev.Pair.Key = r.text()
	ev.Pair.Value = slices.Clone(r.blob())
	return ev
}

// Snapshot appends the whole state: revision u64 | n u32 | n changes in order of keys.
func (kv *KV) Snapshot(b []byte) []byte {
	w := writer{b}
	w.u64(uint64(kv.revision))
	w.count(len(kv.keys))
	for _, key := range kv.keys {
		w.raw(Changed{Pair: kv.pairs[key]}.Encode(nil))
	}
	return w.b
}

// RestoreKV reads what Snapshot wrote.
func RestoreKV(b []byte) (*KV, error) {
	r := reader{b: b}
	kv := NewKV()
	revision := store.Revision(r.u64())
	for range r.count(17) {
		kv.Apply(r.changed())
	}
	kv.revision = revision
	return kv, r.done("key-value state")
}
