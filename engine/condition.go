package engine

import (
	"strconv"

	"github.com/dabba-mq/dabba/store"
)

// Condition is what a queue, a topic or a set of offsets must be like for a change to be made. The zero Condition always
// holds. One that does not is a conflict on the field named after its HTTP header, and nothing is changed.
type Condition struct {
	// Match is the ETag it must have, or "*" if it must exist ("If-Match").
	Match string
	// Absent says that it must not exist yet ("If-None-Match").
	Absent bool
	// MaySend says whether the caller may send to another queue, nil for all queues. A change that names a new target for
	// dead letters needs it; a target that the configuration has already may stay. The error is returned as it is.
	MaySend func(queue string) error
	// MayRead says whether an error may name another queue, nil for all queues.
	MayRead func(queue string) bool
}

// check holds the condition against the revision of a thing, 0 for one that does not exist.
func (c Condition) check(thing string, present store.Revision) error {
	switch {
	case c.Absent && present != 0:
		return conflict("If-None-Match", "The "+thing+" exists already; leave out If-None-Match to change it.")
	case c.Match == "":
		return nil
	case present == 0:
		return conflict("If-Match", "The "+thing+" does not exist; send no If-Match to create it.")
	case c.Match != "*" && c.Match != etag(present):
		return conflict("If-Match", "The "+thing+" was changed since; read it again and repeat.")
	}
	return nil
}

// mayTarget says why a queue may not become a target; nil if it may, or there is none.
func (c Condition) mayTarget(queue string) error {
	if c.MaySend == nil || queue == "" {
		return nil
	}
	return c.MaySend(queue)
}

func etag(r store.Revision) string { return strconv.FormatUint(uint64(r), 10) }
