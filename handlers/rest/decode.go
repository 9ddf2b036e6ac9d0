package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

var strict = json.JoinOptions(json.RejectUnknownMembers(true), bounded)

// decode reads a request that is a JSON object and takes no query parameters. Nothing in v shares memory with the
// body.
func (a *API) decode(w http.ResponseWriter, r *http.Request, v any) error {
	if _, err := query(r); err != nil {
		return err
	}
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return err
	}
	defer body.Release()
	return decode(body.Bytes, v)
}

// decode reads one JSON object into the struct that v points to. An empty body is an empty object.
func decode(b []byte, v any) error {
	start := bytes.TrimLeft(b, " \t\r\n")
	if len(start) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, v, strict); err != nil {
		return explain(b, err)
	}
	if start[0] != '{' {
		return invalid("", "The request body must be a JSON object.")
	}
	return nil
}

// explain says in plain words what is wrong with a request body, and where.
func explain(b []byte, err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return explainSyntax(b, syntax)
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return invalid("", "The request body is not valid JSON: "+err.Error()+".")
	}
	field, at := fieldName(semantic.JSONPointer), place(b, semantic.ByteOffset)
	if errors.Is(semantic.Err, json.ErrUnknownName) {
		if planned(semantic.GoType, semantic.JSONPointer.LastToken()) {
			return unknownField(field, fmt.Sprintf("The field %q is planned but not built yet%s; leave it out.", field, at))
		}
		return unknownField(field, fmt.Sprintf("The field %q is not known here%s; see /docs for those that are.", field, at))
	}
	if field == "" {
		return invalid("", "The request body "+reason(semantic)+at+".")
	}
	return invalid(field, fmt.Sprintf("The field %q %s%s.", field, reason(semantic), at))
}

func explainSyntax(b []byte, err *jsontext.SyntacticError) error {
	at := place(b, err.ByteOffset)
	switch {
	case errors.Is(err.Err, jsontext.ErrDuplicateName):
		field := fieldName(err.JSONPointer)
		return invalid(field, fmt.Sprintf("The field %q is given twice%s.", field, at))
	case errors.Is(err.Err, io.ErrUnexpectedEOF):
		return invalid("", "The request body is not valid JSON: it ends too early"+at+".")
	case err.Err != nil && strings.Contains(err.Err.Error(), "invalid UTF-8"):
		field := fieldName(err.JSONPointer)
		return invalid(field, "The request body is not valid UTF-8"+at+"; send bytes in body_base64 or as a raw body.")
	case err.Err != nil:
		return invalid("", "The request body is not valid JSON: "+err.Err.Error()+at+".")
	default:
		return invalid("", "The request body is not valid JSON"+at+".")
	}
}

// reason completes the sentence that starts with the field's name.
func reason(err *json.SemanticError) string {
	if own, ok := errors.AsType[*valueError](err.Err); ok {
		return own.reason
	}
	want := wanted(err.GoType)
	switch {
	case errors.Is(err.Err, strconv.ErrRange):
		return "is out of range"
	case want == "text of bytes" && err.JSONKind == '"':
		return "is not valid base64 (the standard alphabet, with padding)"
	default:
		return "must be " + want
	}
}

// valueError is a refusal by one of this package's own types.
type valueError struct {
	reason string
	// value says that the type in JSON is right, so that in a batch only one entry is refused.
	value bool
}

func (e *valueError) Error() string { return e.reason }

func wanted(t reflect.Type) string {
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

// fieldName writes a JSON pointer the way people write fields: messages[3].delay.
func fieldName(p jsontext.Pointer) string {
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

// place says where in the body something is: " (line 2, column 7)".
func place(b []byte, offset int64) string {
	before := b[:min(max(offset, 0), int64(len(b)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(" (line %d, column %d)", line, column)
}

// fieldOf changes the field of an engine error to what it is called in this request.
func fieldOf(err *engine.Error, from, to string) *engine.Error {
	if !strings.HasPrefix(err.Field, from) {
		return err
	}
	renamed := *err
	renamed.Field = to + strings.TrimPrefix(err.Field, from)
	return &renamed
}
