package segment

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

var typeNames = map[uint8]string{
	typeConfigured: "configured",
	typeDropped:    "dropped",
	typeSent:       "sent",
	typeClaimed:    "claimed",
	typeSettled:    "settled",
	typeSwept:      "swept",
	typeMoved:      "moved",
	typeChanged:    "changed",
	typeRestarted:  "restarted",
	typeKept:       "kept",
}

func generation(id store.QueueID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(id))
}

// describe says what a record did.
func describe(lsn journal.LSN, pos journal.Position, size uint32, r record.Record) RecordInfo {
	name, ok := typeNames[r.Type]
	if !ok {
		name = fmt.Sprintf("type %d", r.Type)
	}
	what, err := story(r)
	if err != nil {
		what = err.Error()
	}
	return RecordInfo{
		File: pos.File, Offset: pos.Offset, LSN: uint64(lsn), Size: size, Type: name, Queue: generation(store.QueueID(r.Object)), What: what,
	}
}

func story(r record.Record) (string, error) {
	switch r.Type {
	case typeConfigured:
		ev, err := model.DecodeConfigured(r.Payload)
		return fmt.Sprintf("created %v, settings %+v", ev.Created, ev.Settings), err
	case typeSent, typeMoved:
		b, err := decodeBatch(r)
		if err != nil {
			return "", err
		}
		from := ""
		if r.Type == typeMoved {
			from = fmt.Sprintf(" from queue %x", b.Source)
		}
		return fmt.Sprintf("%d messages from %d on, %d bytes%s", b.Len(), b.First, b.Bytes(), from), nil
	case typeClaimed:
		ev, err := model.DecodeClaimed(r.Payload)
		return fmt.Sprintf("token %d until %v for %q: leased %v, died %v, expired %v",
			ev.Token, model.Time(ev.Deadline), ev.Consumer, ev.Seqs, ev.Died, ev.Expired), err
	case typeSettled:
		ev, err := model.DecodeSettled(r.Payload)
		return fmt.Sprintf("%+v", ev.Changes), err
	case typeSwept:
		ev, err := model.DecodeSwept(r.Payload)
		return fmt.Sprintf("expired %v", ev.Expired), err
	case typeChanged:
		ev, err := model.DecodeChanged(r.Payload)
		return fmt.Sprintf("key %q, revision %d, deleted %v, %d bytes", ev.Pair.Key, ev.Pair.Revision, ev.Deleted, len(ev.Pair.Value)), err
	case typeKept:
		k, err := model.DecodeKept(r.Payload)
		return fmt.Sprintf("message %d of %d bytes", k.Seq, k.Size), err
	}
	return "", nil
}
