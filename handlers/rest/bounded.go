package rest

import (
	"errors"
	"fmt"

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

// tooMany is about the list or object that dec is in.
func tooMany(dec *jsontext.Decoder) error {
	return &json.SemanticError{
		ByteOffset:  dec.InputOffset(),
		JSONPointer: dec.StackPointer().Parent(),
		Err:         &valueError{reason: fmt.Sprintf("has more than %d entries", engine.MaxBatch)},
	}
}
