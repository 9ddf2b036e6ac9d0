package main

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/handlers/rest"
)

// span is a flag that holds a length of time and is written as the API takes it: 30s, 5m, 12h, 4d or a number of
// seconds. It keeps the text, which is what the server gets; "" is a span that was not given.
type span struct {
	text  string
	value time.Duration
}

// spanOf is the default of a flag.
func spanOf(d time.Duration) span { return span{rest.Duration(d).String(), d} }

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	var d rest.Duration
	quoted, err := jsontext.AppendQuote(nil, text)
	if err == nil {
		err = json.Unmarshal(quoted, &d)
	}
	if err != nil {
		return errors.New("a length of time is like 30s, 5m, 12h or 4d")
	}
	*s = span{text, time.Duration(d)}
	return nil
}

// String implements pflag.Value.
func (s *span) String() string { return s.text }

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }
