package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// flagError says which flag is wrong and how, for a person: what the standard library's parsers say is for programmers.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	return usagef("--%s: %w", invalid.GetFlag().Name, valueError(err))
}

// valueError is the same without the flag's name, for a value that came from somewhere else than a flag.
func valueError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	must := ""
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		must = "it is true or false"
	case "int":
		must = "it is a whole number"
	case "uint32":
		must = "it is a whole number, 0 or more"
	case "stringToString":
		must = "it is name=value"
	case "duration":
		must = invalid.Unwrap().Error()
	default:
		return invalid.Unwrap()
	}
	return usagef("%s, not %q", must, invalid.GetValue())
}

// flagsOf are the flags behind fields of a request, by the field's name.
type flagsOf map[string]string

// entry is what the server puts before the fields of one message of several.
var entry = regexp.MustCompile(`^messages\[\d+\]\.`)

// blame makes the server's refusal of a value a mistake in the flag that gave it. Other errors are left alone.
func (f flagsOf) blame(err error) error {
	a, ok := errors.AsType[*answerError](err)
	if !ok || a.Code != "invalid_request" {
		return err
	}
	field := entry.ReplaceAllString(a.Field, "")
	flag, ok := f[field]
	if !ok {
		// A field within one that has a flag, such as attributes.color.
		outer, _, _ := strings.Cut(field, ".")
		flag, ok = f[outer]
	}
	if !ok {
		return err
	}
	return usagef("--%s: %w", flag, err)
}
