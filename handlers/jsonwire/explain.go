package jsonwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Wanted completes a sentence that ends in "must be" for what is decoded into the type.
func Wanted(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "of another type"
	case t == reflect.TypeFor[time.Time]():
		return "a time such as 2026-11-29T16:50:00Z"
	case t == reflect.TypeFor[[]byte]():
		return "text of bytes"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "of another type"
	}
}

// NotJSON says why the body is none, and where.
func NotJSON(body []byte, err *jsontext.SyntacticError) string {
	reason := ""
	switch {
	case errors.Is(err.Err, io.ErrUnexpectedEOF):
		reason = ": it ends too early"
	case err.Err != nil:
		reason = ": " + err.Err.Error()
	}
	return "The request body is not valid JSON" + reason + Place(body, err.ByteOffset) + "."
}

// FieldName writes a JSON pointer the way people write fields: messages[3].delay.
func FieldName(p jsontext.Pointer) string {
	var sb strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && sb.Len() > 0 {
			sb.WriteString("[" + token + "]")
			continue
		}
		if sb.Len() > 0 {
			sb.WriteByte('.')
		}
		sb.WriteString(token)
	}
	const most = 200
	if sb.Len() > most {
		return strings.ToValidUTF8(sb.String()[:most], "") + "…"
	}
	return sb.String()
}

// Place says where in the body something is: " (line 2, column 7)".
func Place(b []byte, offset int64) string {
	before := b[:min(max(offset, 0), int64(len(b)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(" (line %d, column %d)", line, column)
}
