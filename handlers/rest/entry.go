package rest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// fault is why an entry of a batch cannot be read. A batch is judged entry by entry: as long as the JSON is sound and
// its fields are known and of the right type, a value that means nothing ("soon" for a delay) is the affair of its entry
// alone.
type fault struct {
	refused *engine.Error
	// sent is the entry as it was sent.
	sent []byte
}

// faulty is an entry that can be wrong without the whole request being so.
type faulty interface{ blame(fault) }

func (m *NewMessage) blame(f fault) { m.fault = f }
func (n *NackItem) blame(f fault)   { n.fault = f }
func (x *ExtendItem) blame(f fault) { x.fault = f }

// readEntry reads the next entry of a list.
func readEntry[T any](dec *jsontext.Decoder, into *T) error {
	entry, ok := any(into).(faulty)
	if !ok {
		return json.UnmarshalDecode(dec, into)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	err = json.Unmarshal(raw, into, dec.Options())
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	moved := *semantic
	moved.ByteOffset += dec.InputOffset() - int64(len(raw))
	moved.JSONPointer = dec.StackPointer() + semantic.JSONPointer
	if !ofValue(&moved) {
		return &moved
	}
	field := jsonwire.FieldName(moved.JSONPointer)
	*into = *new(T)
	entry.blame(fault{
		refused: invalid(field, fmt.Sprintf("The field %q %s.", field, reason(&moved))),
		sent:    bytes.Clone(raw),
	})
	return nil
}

// ofValue says whether an error is about a value whose type in JSON is right.
func ofValue(err *json.SemanticError) bool {
	if own, ok := errors.AsType[*valueError](err.Err); ok {
		return own.value
	}
	switch err.GoType {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[[]byte]():
		return err.JSONKind == '"'
	}
	return false
}
