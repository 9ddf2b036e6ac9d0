package engine

import (
	"fmt"
	"strings"
)

// MaxShards bounds QueueConfig.Shards.
const MaxShards = 64

// validateShards says what does not go with shards: what needs one place that sees all messages.
func (c *QueueConfig) validateShards() *Error {
	if c.Shards < 1 || c.Shards > MaxShards {
		return invalid("shards", fmt.Sprintf("Give a number from 1, for none, to %d.", MaxShards))
	}
	if c.Shards == 1 {
		return nil
	}
	l := &c.Limits
	var not []string
	for _, rule := range []struct {
		set  bool
		name string
	}{
		{c.FIFO, "fifo"},
		{c.Fair, "fair"},
		{c.Priorities > 1, "priorities"},
		{l.MaxMessages > 0, "limits.max_messages"},
		{l.MaxBytes > 0, "limits.max_bytes"},
		{l.MaxInFlight > 0, "limits.max_in_flight"},
		{l.Rate > 0, "limits.rate"},
		{l.PerGroupInFlight > 0, "limits.per_group_in_flight"},
		{l.PerGroupRate > 0, "limits.per_group_rate"},
	} {
		if rule.set {
			not = append(not, rule.name)
		}
	}
	if not == nil {
		return nil
	}
	return invalid("shards", "A queue with shards keeps no order and no bounds over all of them; leave out "+
		strings.Join(not, " and ")+", or set shards to 1.")
}

// validSpread refuses more shards than the store can have. It is looked at only when a configuration is set.
func (e *Engine) validSpread(shards uint32) *Error {
	info := e.store.Info()
	if most := max(info.Shards, 1); shards > most {
		if most > 1 {
			return invalid("shards", fmt.Sprintf("This store can spread a queue over %d shards at most.", most))
		}
		return invalid("shards", "This store ("+info.Name+") keeps each queue in one place and cannot spread it; "+
			"set shards to 1, or run the server on Redis.")
	}
	return nil
}

// sameShards refuses another number of shards than the queue was created with.
func (c *QueueConfig) sameShards(present *QueueConfig) *Error {
	if c.Shards == present.Shards {
		return nil
	}
	return conflict("shards", fmt.Sprintf("The number of shards is fixed when a queue is created; this one has shards: %d. "+
		"Create another queue and move the messages.", present.Shards))
}
