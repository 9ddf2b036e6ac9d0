package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// queueKeys are the last letters of the keys of a queue, in the order of KEYS in lua/queue.lua.
var queueKeys = []string{
	"c", "s", "t", "v", "a", "r", "l", "d", "x", "z", "g", "n", "w", "y", "o", "p", "u", "e", "m", "f", "h", "j", "i", "k", "b",
}

// queueKinds are the types of these, see kindsOf.
const queueKinds = "hshhzzzzzzhzzzhzhzhzlhzzz"

// tickMillis is the resolution of a message's age.
const tickMillis = int64(store.Tick / time.Millisecond)

// lastSeq is above every sequence and exact as a double: what is above it stands for the same nothing.
const lastSeq = store.Seq(1) << 53

// queueCall says what goes before the arguments of every script of a queue: which queue, and the revision of the settings
// that the call was made for, empty for any.
type queueCall struct {
	id       store.QueueID
	revision string
	acks     store.Acks
	// record says that the record of the tag is among the keys.
	record bool
}

// Statuses in the reply of a queue's script, after the time.
const (
	// again: a bounded part was done of what had to come first.
	again = 0
	done  = 1
	// unfinished: a change of settings has left something to do.
	unfinished = 2
	// sharded: the queue has shards, of which the caller does not know.
	sharded = 3
)

var queueWork = newRepeatable("queue_work")

// queue runs a script of a queue until it has carried the call out: each try does a bounded part of what time has made due.
// What it returns begins after the status.
func (s part) queue(ctx context.Context, sc *script, c queueCall, args ...any) (*reply, int64, error) {
	keys, name := s.keysOf(c.id), s.name(c.id)
	if c.record {
		keys = append(keys, s.fenceKey(s.tagOf(keys[0])))
	}
	args = append([]any{name, c.revision}, args...)
	for {
		r, now, err := s.timedAcked(ctx, sc, keys, c.acks, args...)
		if err != nil {
			return nil, 0, fmt.Errorf("%s %d: %w", sc.name, c.id, err)
		}
		switch status := r.int(); status {
		case done:
			r.commit = r.int()
			return r, now, nil
		case again:
		case unfinished:
			if _, _, err := s.timed(ctx, queueWork, keys, name, ""); err != nil {
				return nil, 0, fmt.Errorf("%s %d: %w", sc.name, c.id, err)
			}
		case sharded:
			return nil, 0, &shardedError{uint32(r.int())}
		default:
			return nil, 0, fmt.Errorf("%w: script %s returned status %d", store.ErrCorrupt, sc.name, status)
		}
	}
}

// revised is a call for the settings of a revision.
func revised(id store.QueueID, revision uint64) queueCall {
	return queueCall{id: id, revision: decimal(revision)}
}

// newLook is a script that only carries out what time has made due and looks: it may be lost or repeated without harm.
func newLook(name string) *script {
	sc := newScript(name)
	sc.reads = true
	return sc
}

// uint reads a number of 64 bits, which scripts keep as text.
func (r *reply) uint() uint64 {
	t := r.text()
	n, err := strconv.ParseUint(t, 10, 64)
	if err != nil {
		r.fail("a number", t)
	}
	return n
}

// acked is the same call, waiting for copies.
func (c queueCall) acked(acks store.Acks) queueCall {
	c.acks = acks
	return c
}

// flag is how scripts are told yes or no.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// exact is a sequence as scripts can count.
func exact(seq store.Seq) uint64 { return uint64(min(seq, lastSeq)) }

// keyText is a key for what is remembered, empty if it is zero.
func keyText(key [16]byte) string {
	if key == ([16]byte{}) {
		return ""
	}
	return string(key[:])
}

// wallMillis is a time in milliseconds, rounded up; 0 if it is zero.
func wallMillis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	ms := at.UnixMilli()
	if at.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}

// tickTime is when a tick begins, for people; zero for tick 0, which stands for never.
func tickTime(tick int64) time.Time {
	if tick == 0 {
		return time.Time{}
	}
	return instantOf(tick * tickMillis)
}

// momentOf is an instant that may be 0 for none.
func momentOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return instantOf(ms)
}
