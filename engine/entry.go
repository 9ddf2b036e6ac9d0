package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// entry is what the store is to know of the message: all but what it says.
func (m *Message) entry(c *QueueConfig) store.Entry {
	var out store.Entry
	out.Delay, out.NotBefore = m.delay(c)
	// A delay that is the queue's must not change the order, one of the message's own is meant to.
	out.InOrder = c.FIFO && m.Delay == nil && m.DeliverAt == nil
	out.Group = m.Group
	out.Priority = uint8(m.Priority)
	if m.TTL != nil {
		out.TTL = *m.TTL
	}
	out.Dedup = m.dedupKey(&c.Dedup)
	return out
}

// delay is how long the message is kept back and until when. A message with a time of its own is not subject to the
// queue's delay.
func (m *Message) delay(c *QueueConfig) (d time.Duration, notBefore time.Time) {
	if m.DeliverAt != nil && m.DeliverAt.After(time.Unix(0, 0)) {
		notBefore = *m.DeliverAt
	}
	switch {
	case m.Delay != nil:
		d = *m.Delay
	case m.DeliverAt == nil:
		d = c.Delay
	}
	return d, notBefore
}

// dedupKey is zero for a message that is nobody's duplicate.
func (m *Message) dedupKey(d *Dedup) store.DedupKey {
	id := m.DedupID
	if id == "" {
		if !d.ContentBased {
			return store.DedupKey{}
		}
		id = contentID(m.Body)
	}
	b := make([]byte, 0, 2*MaxIDBytes+16)
	b = appendString(b, string(d.Scope))
	if d.Scope == ScopeGroup {
		b = appendString(b, m.Group)
	}
	sum := sha256.Sum256(appendString(b, id))
	return store.DedupKey(sum[:16])
}

// contentID is the deduplication id of a message that is told apart by its content: the SHA-256 of its body in
// hexadecimal, as SQS has it. Attributes are no part of it.
func contentID(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
