package rest

import (
	"bytes"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// form is how curl -d and HTML label what they send, whatever it is.
const form = "application/x-www-form-urlencoded"

// describable is a request whose body may describe what it carries, instead of being that itself.
type describable struct {
	// members are all that the object in the body may have, main those of which it has at least one.
	members map[string]bool
	main    []string
}

// A send describes messages, a produce records.
var (
	describedSend    = describableAs[SendRequest]("body", "body_base64", "messages")
	describedProduce = describableAs[ProduceRequest]("records")
)

func describableAs[T any](main ...string) describable {
	d := describable{members: make(map[string]bool), main: main}
	d.add(reflect.TypeFor[T]())
	return d
}

func (d *describable) add(t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			d.add(f.Type)
		} else if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			d.members[name] = true
		}
	}
	for _, name := range plannedFields[t] { // refused by name, which is better than to be sent as a text
		d.members[name] = true
	}
}

// describes says whether the body of a request describes what it carries: JSON does, and so does a form-labeled object that has
// a main member and none that is unknown, since that is what curl -d makes of JSON. Any other body is itself what is carried,
// also one of a type that is JSON of a certain kind, such as application/cloudevents+json, and one without a type. Without a
// type and without a body there is nothing to carry, and the empty object describes that.
func (d *describable) describes(r *http.Request, body []byte) bool {
	switch mediaType(r) {
	case "application/json":
		return true
	case form:
		return d.isObject(body)
	case "":
		return len(body) == 0
	default:
		return false
	}
}

// isObject says whether the body is a JSON object of the members that are known. What is wrong with their values is for the
// decoder to explain.
func (d *describable) isObject(body []byte) bool {
	if start := bytes.TrimLeft(body, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return false
	}
	// Of a buffer the decoder makes no copy.
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	found := false
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil || !d.members[name.String()] {
			return false
		}
		found = found || slices.Contains(d.main, name.String())
		if dec.SkipValue() != nil {
			return false
		}
	}
	if _, err := dec.ReadToken(); err != nil { // the brace
		return false
	}
	// Nothing may follow but white space.
	return found && len(bytes.TrimLeft(body[dec.InputOffset():], " \t\r\n")) == 0
}

// mediaType is the type of a request's body, in lower case and without parameters; empty when there is none.
func mediaType(r *http.Request) string {
	given := r.Header["Content-Type"]
	if len(given) == 0 {
		return ""
	}
	if given[0] == "application/json" {
		return given[0]
	}
	media, _, err := mime.ParseMediaType(given[0])
	if err != nil {
		media, _, _ = strings.Cut(given[0], ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media
}

// carriedType is what is kept as the type of a body that is a message or a value itself. The label of a form says nothing about it.
func carriedType(r *http.Request) string {
	if mediaType(r) == form {
		return ""
	}
	return r.Header.Get("Content-Type")
}
