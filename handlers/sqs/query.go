package sqs

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// queryProtocol is the one of AWS's older clients: parameters in the URL or in a form, answers in XML, or in JSON if the
// request accepts nothing else.
type queryProtocol struct {
	path string
	// encoded are the parameters as they were sent: in the URL, and in the body.
	encoded [2][]byte
	action  string
	json    bool
}

func newQuery(r *http.Request, body []byte) *queryProtocol {
	q := &queryProtocol{
		path:    r.URL.Path,
		encoded: [2][]byte{[]byte(r.URL.RawQuery), bytes.TrimSpace(body)},
		json:    strings.Contains(r.Header.Get("Accept"), plainJSON),
	}
	q.each(func(name string, value []byte) bool {
		if name != "Action" {
			return true
		}
		q.action, _ = url.QueryUnescape(string(value))
		return false
	})
	return q
}

// maxName is more bytes than the name of any parameter has. Longer ones are passed over like others that no operation has: they
// could nest so deep that reading them takes all of the stack, and sorting them takes long.
const maxName = 128

// each calls what with the parameters, whose values are still encoded, until it returns false.
func (q *queryProtocol) each(what func(name string, value []byte) bool) {
	for _, encoded := range q.encoded {
		for pair := range bytes.SplitSeq(encoded, []byte("&")) {
			name, value, _ := bytes.Cut(pair, []byte("="))
			if len(name) > len("%41")*maxName {
				continue
			}
			decoded, err := url.QueryUnescape(string(name))
			if err != nil || len(decoded) > maxName {
				continue // no operation has such a parameter
			}
			if !what(decoded, value) {
				return
			}
		}
	}
}

func (q *queryProtocol) operation() string { return q.action }

func (q *queryProtocol) contentType() string {
	if q.json {
		return plainJSON
	}
	return xmlType
}

func (q *queryProtocol) find() (operation, *fault) {
	if q.action == "" {
		q.json = false // AWS has this one in XML alone
		return operation{}, unknownOperation.is("Name an operation in the parameter Action.")
	}
	op, ok := operations[q.action]
	if !ok || op.serviceOnly && !isService(q.path) {
		return operation{}, unknownAction(q.action)
	}
	return op, nil
}

// decoded counts the value of each parameter, and the parameter itself in a list that is up to twice as long as needed.
func (q *queryProtocol) decoded() int64 {
	const each = 240
	n := 0
	for _, encoded := range q.encoded {
		n += len(encoded) + each*bytes.Count(encoded, []byte("&"))
	}
	return int64(n)
}

// parameter is one that the request needs. Its name is what is left of it on the way down to its value.
type parameter struct{ full, name, value string }

// decode sorts the parameters by name, numbers by their value, so that each struct, list and map in the request has its
// own next to each other.
func (q *queryProtocol) decode(request any) error {
	if bytes.Count(q.encoded[0], []byte("&"))+bytes.Count(q.encoded[1], []byte("&")) >= maxValues {
		return tooManyValues()
	}
	into := reflect.ValueOf(request).Elem()
	p := planOf(into.Type())
	var params []parameter
	var failed error
	judged := hasEntries(request)
	q.each(func(name string, value []byte) bool {
		first, _, _ := strings.Cut(name, ".")
		if p.byName[first] == nil {
			return true
		}
		decoded, err := url.QueryUnescape(string(value))
		if judged {
			decoded = repaired(decoded)
		}
		if err != nil || !utf8.ValidString(decoded) {
			failed = malformedRequest.is("The value of the parameter " + abridged(name) + " is not UTF-8 in the encoding of URLs.")
			return false
		}
		params = append(params, parameter{name, name, decoded})
		return true
	})
	if failed != nil {
		return failed
	}
	slices.SortStableFunc(params, func(a, b parameter) int { return compareNames(a.name, b.name) })
	return p.read(into, params)
}

// compareNames orders names part by part: numbers by their value, and before everything else.
func compareNames(a, b string) int {
	for a != b {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if order := cmp.Or(cmp.Compare(number(x), number(y)), cmp.Compare(x, y)); order != 0 {
			return order
		}
	}
	return 0
}

// number is that of an entry, or more than any if the part of a name is none.
func number(part string) uint64 {
	const most = 10 // digits, which 31 bits have at most; an error of strconv would be allocated
	if len(part) > most || strings.TrimLeft(part, "0123456789") != "" {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(part, 10, 31)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// parts calls what with the parameters whose names begin with the same part, that part taken off.
func parts(params []parameter, what func(part string, params []parameter) error) error {
	for len(params) > 0 {
		part, _, _ := strings.Cut(params[0].name, ".")
		n := 0
		for n < len(params) {
			next, rest, _ := strings.Cut(params[n].name, ".")
			if next != part {
				break
			}
			params[n].name = rest
			n++
		}
		if err := what(part, params[:n]); err != nil {
			return err
		}
		params = params[n:]
	}
	return nil
}

// read fills a struct.
func (p *plan) read(into reflect.Value, params []parameter) error {
	return parts(params, func(name string, params []parameter) error {
		f := p.byName[name]
		if f == nil {
			return nil
		}
		v := into.FieldByIndex(f.index)
		switch f.many {
		case list:
			return f.readList(v, params)
		case table:
			return f.readMap(v, params)
		default:
			return readValue(v, f.each, params)
		}
	})
}

// readList appends an entry for each number. A list of one may have none.
func (f *field) readList(into reflect.Value, params []parameter) error {
	return parts(params, func(part string, params []parameter) error {
		switch {
		case part == "member":
			return f.readList(into, params)
		case part == "" && f.each == nil && params[0].value != "":
		case part == "" && into.IsNil(): // so an empty list is written
			into.Set(reflect.MakeSlice(into.Type(), 0, 0))
			return nil
		case !isNumber(part):
			return nil
		}
		entry := reflect.New(into.Type().Elem()).Elem()
		if err := readValue(entry, f.each, params); err != nil {
			return err
		}
		into.Set(reflect.Append(into, entry))
		return nil
	})
}

// readMap adds an entry for each number. That of a map of one may have none.
func (f *field) readMap(into reflect.Value, params []parameter) error {
	var alone []parameter
	err := parts(params, func(part string, params []parameter) error {
		switch {
		case part == "entry", part == "member":
			return f.readMap(into, params)
		case isNumber(part):
			return f.readEntry(into, params)
		case part == f.key, part == f.value:
			for i := range params {
				params[i].name = strings.TrimSuffix(part+"."+params[i].name, ".")
			}
			alone = append(alone, params...)
		}
		return nil
	})
	if err != nil || len(alone) == 0 {
		return err
	}
	return f.readEntry(into, alone)
}

func (f *field) readEntry(into reflect.Value, params []parameter) error {
	named := false
	key := reflect.New(into.Type().Key()).Elem()
	value := reflect.New(into.Type().Elem()).Elem()
	prefix := strings.TrimSuffix(params[0].full, params[0].name)
	err := parts(params, func(part string, params []parameter) error {
		switch part {
		case f.key:
			named = true
			key.SetString(params[0].value)
		case f.value:
			return readValue(value, f.each, params)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !named {
		return missing(abridged(prefix) + f.key)
	}
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	into.SetMapIndex(key, value)
	return nil
}

func isNumber(part string) bool { return number(part) != math.MaxUint64 }

// readValue fills what is neither a list nor a map; each is the plan of a struct. The last of several counts.
func readValue(into reflect.Value, each *plan, params []parameter) error {
	if each != nil {
		return each.read(into, params)
	}
	last := params[len(params)-1]
	if last.name != "" {
		return nil // the parameter has no parts
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(last.value)
	case reflect.Slice:
		content, err := base64.StdEncoding.DecodeString(last.value)
		if err != nil {
			return wrongValue(last, "base64 (the standard alphabet, with padding)")
		}
		into.SetBytes(content)
	case reflect.Int:
		n, err := strconv.ParseInt(last.value, 10, strconv.IntSize)
		if err != nil {
			return wrongValue(last, "a whole number")
		}
		into.SetInt(n)
	default:
		panic("sqs: a request has a member of type " + into.Type().String())
	}
	return nil
}

func wrongValue(p parameter, want string) *fault {
	return malformedRequest.is("The parameter " + abridged(p.full) + " must be " + want + ".")
}
