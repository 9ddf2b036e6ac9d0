package engine

import (
	"fmt"
	"strings"
	"time"
)

// The rules below are about what makes a queue more than a plain one, and about what cannot be had together.

// minRate is a delivery in eleven days.
const minRate = 1e-6

func (c *QueueConfig) validateFIFO(ref Ref) *Error {
	named := strings.HasSuffix(ref.Name, FIFOSuffix)
	switch {
	case c.FIFO && !named:
		return invalid("fifo", "The name of a FIFO queue ends in "+FIFOSuffix+"; name it "+ref.Name+FIFOSuffix+", or leave fifo out.")
	case named && !c.FIFO:
		return invalid("fifo", "Only the names of FIFO queues end in "+FIFOSuffix+"; set fifo to true, or choose another name.")
	case c.FIFO && c.Fair:
		return invalid("fair", "The groups of a FIFO queue take turns anyway; leave fair out.")
	case c.GroupLock != GroupLockWhole && c.GroupLock != GroupLockTail:
		return invalid("group_lock", "Give whole or tail.")
	}
	return nil
}

func (d *Dedup) validate() *Error {
	if d.Scope != ScopeQueue && d.Scope != ScopeGroup {
		return invalid("dedup.scope", "Give queue or group.")
	}
	return validDuration("dedup.window", d.Window, time.Millisecond, MaxDedupWindow)
}

func (c *QueueConfig) validatePriorities() *Error {
	const field, none = "priorities", "leave it out, or set it to 1"
	switch {
	case c.Priorities != 1 && c.Priorities != MaxPriority+1:
		return invalid(field, fmt.Sprintf("Give 1 for none, or %d for priorities from 0 to %d.", MaxPriority+1, MaxPriority))
	case c.Priorities == 1:
	case c.FIFO:
		return invalid(field, "A FIFO queue keeps the order of each group, so it has no priorities; "+none+".")
	case c.Fair:
		return invalid(field, "A fair queue serves its groups in turn, so it has no priorities; "+none+", or leave fair out.")
	case c.Limits.PerGroupInFlight > 0 || c.Limits.PerGroupRate > 0:
		return invalid(field, "A queue with limits for each group serves its groups in turn, so it has no priorities; "+none+", or leave those limits out.")
	}
	return validDuration("ageing", c.Ageing, 0, MaxDuration)
}

func (c *QueueConfig) validateAck() *Error {
	if c.Ack != AckExplicit && c.Ack != AckOnReceive {
		return invalid("ack", "Give explicit or on_receive.")
	}
	return nil
}

func (l *Limits) validate() *Error {
	switch l.Overflow {
	case OverflowReject, OverflowBlock, OverflowDropOldest, OverflowDropNewest, OverflowSample:
	default:
		return invalid("limits.overflow", "Give reject, block, drop_oldest, drop_newest or sample.")
	}
	return firstError(
		validBound("limits.max_messages", l.MaxMessages),
		validBound("limits.max_bytes", l.MaxBytes),
		validRate("limits.rate", l.Rate),
		validRate("limits.per_group_rate", l.PerGroupRate),
	)
}

func validBound(field string, n int64) *Error {
	if n < 0 {
		return invalid(field, "Give a number from 1, or leave it out for no bound.")
	}
	return nil
}

// validRate is written so that NaN is refused, too.
func validRate(field string, rate float64) *Error {
	if rate == 0 || rate >= minRate && rate <= MaxRate {
		return nil
	}
	return invalid(field, fmt.Sprintf("Give a number of deliveries a second above 0, up to %d, or leave it out for no bound.", MaxRate))
}
