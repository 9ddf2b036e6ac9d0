package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Types of records. The payloads are those of package model.
const (
	typeConfigured uint8 = iota + 1
	typeDropped          // no payload
	typeSent
	typeClaimed
	typeSettled
	typeSwept
	typeMoved // the object is the target
	typeChanged
	typeRestarted // of all queues
	typeKept
	typePurged
	typeClock   // what the clocks showed; of no queue
	typeStepped // the wall clock was set
)

// Records have the version of package model; the one before it is read, too.
const (
	payloadVersion       = 3
	oldestPayloadVersion = 2
)

// room returns a buffer that starts with room for a record's header.
func room(size int) []byte {
	return make([]byte, record.HeaderSize, record.HeaderSize+size)
}

// chargeRecord takes memory for a record whose payload has this size. One that is larger than a batch is in the committer's
// buffer as a whole, too.
func chargeRecord(ctx context.Context, size int) error {
	if size > record.MaxBatch {
		size *= 2
	}
	return memlimit.Charge(ctx, int64(size))
}

// seal completes a record whose payload follows the room for its header.
func seal(b []byte, typ uint8, object store.QueueID) []byte {
	record.Seal(b, typ, payloadVersion, uint64(object))
	return b
}

// holds returns the sequences of the messages a record carries, as first and number; none for most types.
func holds(r record.Record) (first store.Seq, n int, err error) {
	switch r.Type {
	case typeSent, typeMoved:
		b, err := decodeBatch(r)
		return b.First, b.Len(), err
	case typeKept:
		k, err := model.DecodeKept(r.Payload)
		return k.Seq, 1, err
	}
	return 0, 0, nil
}

func decodeBatch(r record.Record) (model.Batch, error) {
	return model.DecodeBatch(r.Payload, store.QueueID(r.Object))
}

// message returns one of the messages that a record carries.
func message(r record.Record, seq store.Seq) (model.Stored, error) {
	if r.Type == typeKept {
		k, err := model.DecodeKept(r.Payload)
		return k.Stored, err
	}
	b, err := decodeBatch(r)
	if err != nil {
		return model.Stored{}, err
	}
	return b.Message(seq)
}

// checkVersion refuses payloads of another version.
func checkVersion(r record.Record) error {
	if r.Version < oldestPayloadVersion || r.Version > payloadVersion {
		return fmt.Errorf("record type %d has payload version %d, this program reads %d to %d: %w",
			r.Type, r.Version, oldestPayloadVersion, payloadVersion, store.ErrVersion)
	}
	return nil
}
