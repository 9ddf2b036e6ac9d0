package model

import "github.com/dabba-mq/dabba/store"

// onceTable remembers idempotency keys until their windows end. It is apart from the messages: what happens to those
// does not change it.
type onceTable struct {
	seen map[onceKey]onceEntry
	// ending holds the keys in the order they were added; with the equal windows that callers use, also the order in
	// which they end.
	ending []onceKey
}

type onceKey [16]byte

type onceEntry struct {
	fingerprint [16]byte
	first       store.Seq
	at, ends    Millis
	count       uint32
	note        string
	fates       string // as encodeFates writes them; empty when all were accepted
}

func (t *onceTable) find(key onceKey, now Millis) (onceEntry, bool) {
	e, ok := t.seen[key]
	return e, ok && e.ends > now
}

func (t *onceTable) add(ev Sent) {
	t.restore(ev.Once.Key, onceEntry{
		fingerprint: ev.Once.Fingerprint, first: ev.First, at: ev.At, ends: after(ev.At, ev.Once.Window),
		count: uint32(len(ev.Entries)), note: string(ev.Once.Note), fates: ev.Fates,
	})
}

func (t *onceTable) restore(key onceKey, e onceEntry) {
	if t.seen == nil {
		t.seen = make(map[onceKey]onceEntry)
	}
	if _, again := t.seen[key]; !again {
		t.ending = append(t.ending, key)
	}
	t.seen[key] = e
}

// expire forgets keys whose window has ended, oldest first.
func (t *onceTable) expire(now Millis) {
	for len(t.ending) > 0 && t.seen[t.ending[0]].ends <= now {
		delete(t.seen, t.ending[0])
		t.ending = t.ending[1:]
	}
	if len(t.ending) == 0 {
		t.seen, t.ending = nil, nil
	}
}
