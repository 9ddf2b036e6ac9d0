package rest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// bounded are the lists and maps of requests. Without a bound, 16 MiB of empty entries would become hundreds of
// megabytes before the engine could count them.
var bounded = json.WithUnmarshalers(json.JoinUnmarshalers(
	boundedList[string](),
	boundedList[NewMessage](),
	boundedList[NackItem](),
	boundedList[ExtendItem](),
	boundedList[NewRecord](),
	json.UnmarshalFromFunc(boundedMap),
	json.UnmarshalFromFunc(offsets),
))

// boundedList reads a list of at most [engine.MaxBatch] entries; null is none.
func boundedList[T any]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]T) error {
		if dec.PeekKind() != '[' {
			return errors.ErrUnsupported
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		*list = []T{}
		for dec.PeekKind() != ']' {
			if len(*list) == engine.MaxBatch {
				return tooMany(dec)
			}
			var entry T
			if err := readEntry(dec, &entry); err != nil {
				return err
			}
			*list = append(*list, entry)
		}
		_, err := dec.ReadToken()
		return err
	})
}

// boundedMap reads an object of at most [engine.MaxBatch] members into what m has already; null is none.
func boundedMap(dec *jsontext.Decoder, m *map[string]string) error {
	if dec.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if *m == nil {
		*m = map[string]string{}
	}
	for n := 0; dec.PeekKind() != '}'; n++ {
		if n == engine.MaxBatch {
			return tooMany(dec)
		}
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key, value := name.String(), ""
		if err := json.UnmarshalDecode(dec, &value); err != nil {
			return err
		}
		(*m)[key] = value
	}
	_, err := dec.ReadToken()
	return err
}

// offsets reads offsets by partition. A partition whose offset is null is refused: taken for 0 it would have a reader begin
// anew. Null instead of all of them is none.
func offsets(dec *jsontext.Decoder, m *map[uint32]uint64) error {
	var found map[uint32]*uint64
	if err := json.UnmarshalDecode(dec, &found); err != nil {
		return err
	}
	*m = nil
	for p, offset := range found {
		if offset == nil {
			return &json.SemanticError{
				ByteOffset:  dec.InputOffset(),
				JSONPointer: dec.StackPointer().AppendToken(strconv.FormatUint(uint64(p), 10)),
				Err:         &valueError{reason: "must be a whole number, 0 or more"},
			}
		}
		if *m == nil {
			*m = make(map[uint32]uint64, len(found))
		}
		(*m)[p] = *offset
	}
	return nil
}

// tooMany is about the list or object that dec is in.
func tooMany(dec *jsontext.Decoder) error {
	return &json.SemanticError{
		ByteOffset:  dec.InputOffset(),
		JSONPointer: dec.StackPointer().Parent(),
		Err:         &valueError{reason: fmt.Sprintf("has more than %d entries", engine.MaxBatch)},
	}
}
