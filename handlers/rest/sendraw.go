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
	m := engine.Message{Body: body, ContentType: carriedType(r)}
	var err error
	if m.Attributes, err = headerAttributes(r.Header); err != nil {
		return nil, err
	}
	params, err := rawSettings(r)
	if err != nil || params == nil {
		return []engine.Message{m}, err
	}
	m.Group, m.DedupID = params["group"], params["dedup_id"]
	delay, err := params.duration("delay")
	if err != nil {
		return nil, err
	}
	if m.DeliverAt, err = params.time("deliver_at"); err != nil {
		return nil, err
	}
	ttl, err := params.duration("ttl")
	if err != nil {
		return nil, err
	}
	m.Delay, m.TTL = (*time.Duration)(delay), (*time.Duration)(ttl)
	if n, err := params.number("priority"); err != nil {
		return nil, err
	} else if n != nil {
		m.Priority = *n
	}
	return []engine.Message{m}, nil
}

// rawSettings are what goes with a raw body, by the names it has in JSON: query parameters, or headers with Dabba- before
// the name. They are nil when there are none.
func rawSettings(r *http.Request) (parameters, error) {
	names := [...]string{"delay", "deliver_at", "group", "dedup_id", "priority", "ttl"}
	headers := [len(names)]string{"Dabba-Delay", "Dabba-Deliver-At", "Dabba-Group", "Dabba-Dedup-Id", "Dabba-Priority", "Dabba-Ttl"}
	params, err := query(r, append(names[:], acksParameter)...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		given, ok := r.Header[headers[i]]
		if !ok {
			continue
		}
		if _, again := params[name]; again || len(given) > 1 {
			return nil, invalid(name, fmt.Sprintf("Give %s once, as a query parameter or in the header %s.", name, headers[i]))
		}
		if params == nil {
			params = make(parameters)
		}
		params[name] = given[0]
	}
	return params, nil
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
