package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

const (
	// ackTime is how long replicas that keep up may take.
	ackTime = time.Second
	// ackTimeShort is how long those may take of which it is known that there are too few.
	ackTimeShort = 100 * time.Millisecond
)

// awaited is the command that waits for copies, and how its answer is read.
type awaited struct {
	cmd   *redis.Cmd
	local int // copies beside those that it counts
}

// copies is how many there are. It is the leader alone when that is not known.
func (a *awaited) copies() int {
	switch v := a.cmd.Val().(type) {
	case int64: // WAIT
		return a.local + int(v)
	case []any: // WAITAOF
		if len(v) == 2 {
			local, _ := v[0].(int64)
			replicas, _ := v[1].(int64)
			return int(min(local, 1) + replicas)
		}
	}
	return a.local
}

// await adds what waits for the copies of all calls before it on the same connection. It asks for as many as there are
// replicas that keep up, so that one that does not costs nothing, and at least for as many as the calls need.
func (v *server) await(ctx context.Context, p redis.Pipeliner, calls []*call) {
	keepUp := int(v.replicas.Load())
	need, patience := keepUp, ackTime
	for _, c := range calls {
		need = max(need, c.acks.Min-1)
	}
	if need > keepUp {
		patience = ackTimeShort
	}
	w := &awaited{local: 1}
	if t := v.promise.Load(); t != nil && t.aof && v.hasWaitAOF.Load() {
		w.cmd = redis.NewCmd(ctx, "waitaof", 1, need, patience.Milliseconds())
	} else {
		w.cmd = redis.NewCmd(ctx, "wait", need, patience.Milliseconds())
	}
	_ = p.Process(ctx, w.cmd)
	for _, c := range calls {
		c.awaited = w
	}
}

// enough is nil if there were as many copies as a call needs, else [store.ErrUnknown]: the change is made, whatever kept the
// copies from being counted.
func (c *call) enough() error {
	if !c.acks.All || c.awaited == nil {
		return nil
	}
	if err := c.awaited.cmd.Err(); err != nil {
		return fmt.Errorf("%w: the change is made, but its copies could not be counted (may the user run WAIT and WAITAOF?): %w",
			store.ErrUnknown, err)
	}
	if have, need := c.awaited.copies(), max(c.acks.Min, 1); have < need {
		return fmt.Errorf("%w: %d of %d copies were made in time; the change is made, and lost if its leader is", store.ErrUnknown, have, need)
	}
	return nil
}
