package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// attributeHeader starts the headers that carry attributes of raw bodies. Header names have no case, so attributes
// sent this way have lower-case names.
const attributeHeader = "Dabba-Attr-"

// rawMessage makes the request body, as it is, a message. It shares memory with the body.
func rawMessage(r *http.Request, body []byte) ([]engine.Message, error) {
	params, err := query(r, "delay", "deliver_at")
	if err != nil {
		return nil, err
	}
	delay, err := params.duration("delay")
	if err != nil {
		return nil, err
	}
	at, err := params.time("deliver_at")
	if err != nil {
		return nil, err
	}
	attributes, err := headerAttributes(r.Header)
	if err != nil {
		return nil, err
	}
	return []engine.Message{{
		Body:        body,
		ContentType: r.Header.Get("Content-Type"),
		Attributes:  attributes,
		Delay:       (*time.Duration)(delay),
		DeliverAt:   at,
	}}, nil
}

// headerAttributes are in the order of their names, since headers have none.
func headerAttributes(header http.Header) ([]engine.Attribute, error) {
	var attributes []engine.Attribute
	for name, values := range header {
		suffix, ok := strings.CutPrefix(name, attributeHeader)
		if !ok {
			continue
		}
		if suffix == "" || len(values) != 1 {
			return nil, invalid(name, fmt.Sprintf("The header %s must have a name after the dash and be given once.", name))
		}
		attributes = append(attributes, engine.Attribute{Name: strings.ToLower(suffix), Value: []byte(values[0])})
	}
	slices.SortFunc(attributes, func(a, b engine.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return attributes, nil
}
