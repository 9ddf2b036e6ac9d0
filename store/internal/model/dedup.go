package model

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// dedup remembers, for a while, under which key a message was accepted. Keys are kept by the time they were added, in
// buckets of an eighth of the window, so that forgetting them is dropping a bucket and no key needs a place in a second
// order. What is remembered is relative to the bucket: about 40 bytes a key, where nothing in it is a pointer.
type dedup struct {
	buckets []bucket
}

type bucket struct {
	slot, width int64 // which stretch of time this is
	closed      bool  // nothing is added any more
	start       Millis
	base        store.Seq
	ends        Millis // of the last one
	keys        map[store.DedupKey]offset
}

// reach is how far below the first thing in a bucket the numbers begin that are written relative to it.
const reach = 1 << 31

// offset is an acceptance relative to its bucket.
type offset struct{ seq, ends uint32 }

// acceptance is the message that was accepted, and until when that is remembered.
type acceptance struct {
	seq  store.Seq
	ends Millis
}

func (b *bucket) acceptance(o offset) acceptance {
	return acceptance{b.base + store.Seq(o.seq), b.start + Millis(o.ends)}
}

// holds says whether an acceptance can be written relative to the bucket.
func (b *bucket) holds(f acceptance) bool {
	return f.seq >= b.base && f.seq-b.base <= math.MaxUint32 && f.ends >= b.start && f.ends-b.start <= math.MaxUint32
}

func (b *bucket) add(key store.DedupKey, f acceptance) {
	b.keys[key] = offset{uint32(f.seq - b.base), uint32(f.ends - b.start)}
	b.ends = max(b.ends, f.ends)
}

func (r *dedup) find(key store.DedupKey, now Millis) (store.Seq, bool) {
	for i := len(r.buckets) - 1; i >= 0; i-- {
		b := &r.buckets[i]
		if o, ok := b.keys[key]; ok {
			if f := b.acceptance(o); f.ends > now {
				return f.seq, true
			}
		}
	}
	return 0, false
}

func (r *dedup) add(now Millis, key store.DedupKey, seq store.Seq, window Millis) {
	width := max(int64(window)/8, 1)
	ends := now + window
	r.put(key, acceptance{seq, ends}, bucket{slot: int64(now) / width, width: width, start: ends - reach, base: seq})
}

// put adds to the bucket of that stretch of time.
func (r *dedup) put(key store.DedupKey, f acceptance, like bucket) {
	for i := len(r.buckets) - 1; i >= 0; i-- {
		if b := &r.buckets[i]; b.slot == like.slot && b.width == like.width && b.closed == like.closed && b.holds(f) {
			b.add(key, f)
			return
		}
	}
	like.keys = make(map[store.DedupKey]offset)
	like.add(key, f)
	r.buckets = append(r.buckets, like)
}

// expire drops the buckets in which all has ended.
func (r *dedup) expire(now Millis) {
	if len(r.buckets) == 0 {
		return
	}
	r.buckets = slices.DeleteFunc(r.buckets, func(b bucket) bool { return b.ends <= now })
	if len(r.buckets) == 0 {
		r.buckets = nil
	}
}

// freeze copies what may change: keys are only added to open buckets of the present. A small one is copied, a large one
// closed instead, so that the queue is not held up and there are few more buckets to look into.
func (r *dedup) freeze(now Millis) dedup {
	const small = 10_000
	for i := range r.buckets {
		if b := &r.buckets[i]; len(b.keys) > small {
			b.closed = true
		}
	}
	f := dedup{slices.Clone(r.buckets)}
	for i := range f.buckets {
		if b := &f.buckets[i]; !b.closed && b.slot == int64(now)/b.width {
			b.keys = maps.Clone(b.keys)
		}
	}
	return f
}

// restore adds what a snapshot remembered, to buckets that nothing else is added to later.
func (r *dedup) restore(key store.DedupKey, f acceptance) {
	r.put(key, f, bucket{closed: true, base: f.seq - min(f.seq, reach), start: f.ends - reach})
}

// list returns what is remembered past now, by key.
func (r *dedup) list(now Millis) (keys []store.DedupKey, list []acceptance) {
	all := make(map[store.DedupKey]acceptance)
	for _, b := range r.buckets {
		for key, o := range b.keys {
			f := b.acceptance(o)
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
		list = append(list, all[key])
	}
	return keys, list
}
