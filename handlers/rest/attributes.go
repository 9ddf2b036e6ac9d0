package rest

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// Attributes are named values beside a message's body, in order. On the wire they are an object from name to a
// string, or to {"type", "value"} or {"type", "value_base64"} for typed ones.
type Attributes []engine.Attribute

// typedAttribute is an attribute that says its type, or whose value is bytes.
type typedAttribute struct {
	Type        string  `json:"type"`
	Value       *string `json:"value"`
	ValueBase64 []byte  `json:"value_base64"`
}

// UnmarshalJSONFrom reads an object; null is none.
func (a *Attributes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		*a = nil
		return dec.SkipValue()
	case '{':
	default:
		return &valueError{reason: "must be an object from names to strings"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		if len(*a) == engine.MaxBatch {
			return tooMany(dec)
		}
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		attribute := engine.Attribute{Name: name.String()}
		if err := readValue(dec, &attribute); err != nil {
			return err
		}
		*a = append(*a, attribute)
	}
	_, err := dec.ReadToken()
	return err
}

func readValue(dec *jsontext.Decoder, into *engine.Attribute) error {
	switch dec.PeekKind() {
	case '"':
		token, err := dec.ReadToken()
		into.Value = []byte(token.String())
		return err
	case '{':
		var typed typedAttribute
		if err := json.UnmarshalDecode(dec, &typed); err != nil {
			return err
		}
		if (typed.Value == nil) == (typed.ValueBase64 == nil) {
			return wrongValue(dec, valueError{reason: "must have one of value and value_base64", value: true})
		}
		into.Type, into.Value = typed.Type, typed.ValueBase64
		if typed.Value != nil {
			into.Value = []byte(*typed.Value)
		}
		return nil
	default:
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return wrongValue(dec, valueError{reason: `must be a string or an object with "type" and "value"`})
	}
}

// wrongValue is about the attribute just read, which the decoder would otherwise blame on all attributes.
func wrongValue(dec *jsontext.Decoder, refused valueError) error {
	return &json.SemanticError{
		ByteOffset:  dec.InputOffset(),
		JSONPointer: dec.StackPointer(),
		Err:         &refused,
	}
}

// binaryType starts the types of attributes whose values are bytes, as SQS has it.
const binaryType = "Binary"

// MarshalJSONTo writes what UnmarshalJSONFrom reads.
func (a Attributes) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(appendAttributes(nil, a))
}

func appendAttributes(b []byte, attributes []engine.Attribute) []byte {
	b = append(b, '{')
	for i, a := range attributes {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonwire.AppendString(b, a.Name)
		b = append(b, ':')
		// Bytes that happen to be text are bytes all the same.
		text := !strings.HasPrefix(a.Type, binaryType) && utf8.Valid(a.Value)
		if a.Type == "" && text {
			b = jsonwire.AppendString(b, a.Value)
			continue
		}
		b = append(b, `{"type":`...)
		b = jsonwire.AppendString(b, a.Type)
		if text {
			b = append(b, `,"value":`...)
			b = jsonwire.AppendString(b, a.Value)
		} else {
			b = append(b, `,"value_base64":`...)
			b = jsonwire.AppendBase64(b, a.Value)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}
