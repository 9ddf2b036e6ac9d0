package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parameters are the query parameters of one request, each given at most once.
type parameters map[string]string

// anything, at the end of a known parameter's name, stands for one or more characters.
const anything = "<name>"

// query reads the parameters; one that is not among known is refused by name.
func query(r *http.Request, known ...string) (parameters, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("", "The query string cannot be read: "+err.Error()+".")
	}
	p := make(parameters, len(values))
	for name, given := range values {
		if !slices.ContainsFunc(known, func(k string) bool { return isParameter(name, k) }) {
			return nil, unknownField(name, fmt.Sprintf("The query parameter %q is not known here; this call takes %s.", name, list(known)))
		}
		if len(given) > 1 {
			return nil, invalid(name, fmt.Sprintf("The query parameter %q is given more than once.", name))
		}
		p[name] = given[0]
	}
	return p, nil
}

func isParameter(name, known string) bool {
	prefix, open := strings.CutSuffix(known, anything)
	return name == known || open && len(name) > len(prefix) && strings.HasPrefix(name, prefix)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// number is a whole number, or nil when the parameter was not given.
func (p parameters) number(name string) (*int, error) {
	given, ok := p[name]
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		return nil, invalid(name, fmt.Sprintf("The parameter %q must be a whole number.", name))
	}
	return &n, nil
}

// duration is a duration, or nil when the parameter was not given.
func (p parameters) duration(name string) (*Duration, error) {
	given, ok := p[name]
	if !ok {
		return nil, nil
	}
	d, ok := parseDuration(given)
	if !ok {
		return nil, invalid(name, fmt.Sprintf("The parameter %q must be %s.", name, aDuration))
	}
	return new(Duration(d)), nil
}

// time is an instant, or nil when the parameter was not given.
func (p parameters) time(name string) (*time.Time, error) {
	given, ok := p[name]
	if !ok {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return nil, invalid(name, fmt.Sprintf("The parameter %q must be a time such as 2026-11-29T16:50:00Z.", name))
	}
	return &t, nil
}

// flag is true or false, and false when the parameter was not given. A name without a value is true.
func (p parameters) flag(name string) (bool, error) {
	given, ok := p[name]
	switch {
	case !ok, given == "false", given == "0":
		return false, nil
	case given == "", given == "true", given == "1":
		return true, nil
	}
	return false, invalid(name, fmt.Sprintf("The query parameter %q must be true or false (or 1 or 0).", name))
}
