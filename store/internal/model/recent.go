package model

import (
	"bytes"
	"maps"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// recent remembers, for a while, under which key a message was accepted. Keys are kept by the time they were added, in
// buckets of an eighth of the window, so that forgetting them is dropping a bucket and no key needs a place in a second
// order: about 40 bytes each.
type recent struct {
	buckets []bucket // by rising end
}

type bucket struct {
	slot, width int64 // which stretch of time this is
	ends        Millis
	keys        map[store.DedupKey]first
}

// first is the message that was accepted, and until when that is remembered.
type first struct {
	seq  store.Seq
	ends Millis
}

func (r *recent) find(key store.DedupKey, now Millis) (store.Seq, bool) {
	for i := len(r.buckets) - 1; i >= 0; i-- {
		if f, ok := r.buckets[i].keys[key]; ok && f.ends > now {
			return f.seq, true
		}
	}
	return 0, false
}

func (r *recent) add(now Millis, key store.DedupKey, seq store.Seq, window Millis) {
	width := max(int64(window)/8, 1)
	slot := int64(now) / width
	f := first{seq, now + window}
	for i := range r.buckets {
		if b := &r.buckets[i]; b.slot == slot && b.width == width {
			b.keys[key] = f
			b.ends = max(b.ends, f.ends)
			return
		}
	}
	r.buckets = append(r.buckets, bucket{slot, width, f.ends, map[store.DedupKey]first{key: f}})
}

// expire drops the buckets in which all has ended.
func (r *recent) expire(now Millis) {
	if len(r.buckets) == 0 {
		return
	}
	r.buckets = slices.DeleteFunc(r.buckets, func(b bucket) bool { return b.ends <= now })
	if len(r.buckets) == 0 {
		r.buckets = nil
	}
}

// freeze copies what may change: keys are only added to buckets of the present.
func (r *recent) freeze(now Millis) recent {
	f := recent{slices.Clone(r.buckets)}
	for i := range f.buckets {
		if b := &f.buckets[i]; b.width == 0 || b.slot == int64(now)/b.width {
			b.keys = maps.Clone(b.keys)
		}
	}
	return f
}

// restore adds what a snapshot remembered to a bucket that nothing is added to later.
func (r *recent) restore(key store.DedupKey, f first) {
	if len(r.buckets) == 0 {
		r.buckets = []bucket{{keys: make(map[store.DedupKey]first)}}
	}
	b := &r.buckets[0]
	b.keys[key] = f
	b.ends = max(b.ends, f.ends)
}

// list returns what is remembered past now, by key.
func (r *recent) list(now Millis) (keys []store.DedupKey, firsts []first) {
	all := make(map[store.DedupKey]first)
	for _, b := range r.buckets {
		for key, f := range b.keys {
			if f.ends > now && f.ends > all[key].ends {
				all[key] = f
			}
		}
	}
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b store.DedupKey) int { return bytes.Compare(a[:], b[:]) })
	for _, key := range keys {
		firsts = append(firsts, all[key])
	}
	return keys, firsts
}
