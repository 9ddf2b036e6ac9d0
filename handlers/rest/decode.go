package rest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

var strict = json.JoinOptions(json.RejectUnknownMembers(true), bounded)

// decode reads a request that is a JSON object and takes no query parameters but those known. Nothing in v shares memory
// with the body.
func (a *API) decode(w http.ResponseWriter, r *http.Request, v any, known ...string) error {
	if _, err := query(r, known...); err != nil {
		return err
	}
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return err
	}
	defer body.Release()
	if err := body.DecodingJSON(); err != nil {
		return err
	}
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
	field, at := jsonwire.FieldName(semantic.JSONPointer), jsonwire.Place(b, semantic.ByteOffset)
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
	at := jsonwire.Place(b, err.ByteOffset)
	switch {
	case errors.Is(err.Err, jsontext.ErrDuplicateName):
		field := jsonwire.FieldName(err.JSONPointer)
		return invalid(field, fmt.Sprintf("The field %q is given twice%s.", field, at))
	case err.Err != nil && strings.Contains(err.Err.Error(), "invalid UTF-8"):
		field := jsonwire.FieldName(err.JSONPointer)
		return invalid(field, "The request body is not valid UTF-8"+at+"; send bytes in body_base64 or as a raw body.")
	default:
		return invalid("", jsonwire.NotJSON(b, err))
	}
}

// reason completes the sentence that starts with the field's name.
func reason(err *json.SemanticError) string {
	if own, ok := errors.AsType[*valueError](err.Err); ok {
		return own.reason
	}
	want := jsonwire.Wanted(err.GoType)
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

// fieldOf changes the field of an engine error to what it is called in this request.
func fieldOf(err *engine.Error, from, to string) *engine.Error {
	if !strings.HasPrefix(err.Field, from) {
		return err
	}
	renamed := *err
	renamed.Field = to + strings.TrimPrefix(err.Field, from)
	return &renamed
}
