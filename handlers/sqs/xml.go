package sqs

import (
	"cmp"
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

const (
	xmlHead  = `<?xml version="1.0"?>`
	xmlSpace = ` xmlns="http://queue.amazonaws.com/doc/2012-11-05/">`
)

func (q *queryProtocol) answer(b []byte, answer any, requestID string) []byte {
	if q.json {
		return q.answerInJSON(b, answer, requestID)
	}
	b = append(append(append(b, xmlHead+"<"...), q.action...), "Response"+xmlSpace...)
	if _, none := answer.(*nothing); !none {
		result := q.action + "Result"
		at := len(b)
		b = append(append(append(b, '<'), result...), '>')
		start := len(b)
		v := reflect.ValueOf(answer).Elem()
		b = planOf(v.Type()).write(b, v)
		if len(b) == start {
			b = append(append(append(b[:at], '<'), result...), "/>"...)
		} else {
			b = appendEnd(b, result)
		}
	}
	b = appendElement(append(b, "<ResponseMetadata>"...), "RequestId", requestID)
	b = append(b, "</ResponseMetadata>"...)
	return append(append(append(b, "</"...), q.action...), "Response>"...)
}

func (q *queryProtocol) fault(b []byte, f *fault, requestID string) []byte {
	message := f.message
	if f.queryMessage != "" {
		message = f.queryMessage
	}
	switch {
	case f.kind == unknownOperation:
		// So AWS answers. Whoever looks at it is told what to do.
		return append(append(append(b, xmlHead+"<UnknownOperationException/><!-- "...), message...), " -->"...)
	case q.json:
		return faultInJSON(b, f, message, requestID)
	}
	b = append(b, xmlHead+"<ErrorResponse"+xmlSpace+"<Error>"...)
	b = appendElement(b, "Type", f.sender())
	b = appendElement(b, "Code", f.code)
	b = appendElement(b, "Message", message)
	b = append(b, "<Detail/></Error>"...)
	b = appendElement(b, "RequestId", requestID)
	return append(b, "</ErrorResponse>"...)
}

// write appends the members of a struct: an element for each, and of a list for each entry.
func (p *plan) write(b []byte, from reflect.Value) []byte {
	for i := range p.fields {
		f := &p.fields[i]
		v := from.FieldByIndex(f.index)
		switch {
		case f.many == list:
			for n := range v.Len() {
				b = f.writeValue(b, f.name, v.Index(n))
			}
		case f.many == table:
			b = f.writeMap(b, v)
		case f.omitted && v.IsZero():
		default:
			b = f.writeValue(b, f.name, v)
		}
	}
	return b
}

// writeMap appends the entries in the order of their keys.
func (f *field) writeMap(b []byte, from reflect.Value) []byte {
	if values, ok := reflect.TypeAssert[map[string]string](from); ok {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			b = appendElement(appendStart(b, f.name), f.key, key)
			b = appendEnd(appendElement(b, f.value, values[key]), f.name)
		}
		return b
	}
	keys := from.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(x.String(), y.String()) })
	for _, key := range keys {
		b = appendElement(appendStart(b, f.name), f.key, key.String())
		b = appendEnd(f.writeValue(b, f.value, from.MapIndex(key)), f.name)
	}
	return b
}

func (f *field) writeValue(b []byte, name string, from reflect.Value) []byte {
	if from.Kind() == reflect.Pointer {
		from = from.Elem()
	}
	switch from.Kind() {
	case reflect.String:
		return appendElement(b, name, from.String())
	case reflect.Struct:
		b = f.each.write(appendStart(b, name), from)
	case reflect.Slice:
		b = base64.StdEncoding.AppendEncode(appendStart(b, name), from.Bytes())
	case reflect.Int, reflect.Int64:
		b = strconv.AppendInt(appendStart(b, name), from.Int(), 10)
	case reflect.Bool:
		b = strconv.AppendBool(appendStart(b, name), from.Bool())
	default:
		panic("sqs: an answer has a member of type " + from.Type().String())
	}
	return appendEnd(b, name)
}

func appendStart(b []byte, name string) []byte {
	return append(append(append(b, '<'), name...), '>')
}

func appendEnd(b []byte, name string) []byte {
	return append(append(append(b, "</"...), name...), '>')
}

// appendElement appends an element that is text.
func appendElement(b []byte, name, text string) []byte {
	return appendEnd(appendText(appendStart(b, name), text), name)
}

// appendText appends s so that it is read back as it is: a carriage return that is not escaped would become a line feed.
// A character that XML cannot carry, escaped or not, becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		size, escaped := 1, ""
		switch c := s[i]; {
		case c == '&':
			escaped = "&amp;"
		case c == '<':
			escaped = "&lt;"
		case c == '>':
			escaped = "&gt;"
		case c == '"':
			escaped = "&quot;"
		case c == '\r':
			escaped = "&#xD;"
		case c < ' ' && c != '\n' && c != '\t':
			escaped = "\ufffd"
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 || r == 0xfffe || r == 0xffff {
				escaped = "\ufffd"
			}
		}
		if escaped != "" {
			b = append(append(b, s[start:i]...), escaped...)
			start = i + size
		}
		i += size
	}
	return append(b, s[start:]...)
}
