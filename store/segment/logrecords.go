package segment

import (
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Types of records about logs; their object is the log's generation.
const (
	typeLogConfigured uint8 = iota + 64
	typeLogDropped          // no payload
	typeAppended
	typeTrimmed
)

// sealLog is seal for a record about a log.
func sealLog(b []byte, typ uint8, object store.LogID) []byte {
	record.Seal(b, typ, payloadVersion, uint64(object))
	return b
}

func decodeLogBatch(r record.Record) (model.LogBatch, error) {
	return model.DecodeLogBatch(r.Payload, store.LogID(r.Object))
}
