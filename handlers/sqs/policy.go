package sqs

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// A policy is kept and shown, and edited by AddPermission and RemovePermission. What somebody may do here is decided by
// their scopes alone.

// maxPolicy is the most bytes of a policy, without spaces between its parts.
const maxPolicy = 8192

// policy is as much of a policy as has to be known to edit it.
type policy struct {
	Version string `json:"Version,omitzero"`
	ID      string `json:"Id,omitzero"`
	// Statement is a list, or one statement alone.
	Statement jsontext.Value `json:"Statement,omitzero"`
	Others    jsontext.Value `json:",embed"`

	statements []jsontext.Value
}

// statement is what a permission becomes. Principals and actions are lists only if there are several.
type statement struct {
	Sid       string     `json:"Sid"`
	Effect    string     `json:"Effect"`
	Principal principals `json:"Principal"`
	Action    any        `json:"Action"`
	Resource  string     `json:"Resource"`
}

type principals struct {
	AWS any `json:"AWS"`
}

func parsePolicy(_ *call, _, value string) (change, error) {
	if value != "" {
		p, ok := readPolicy(value)
		if !ok {
			return nil, wrongAttribute("Policy")
		}
		if value, ok = p.text(); !ok {
			return nil, wrongAttribute("Policy")
		}
	}
	return func(config *engine.QueueConfig, _ bool) error {
		setNote(config, notePolicy, value)
		return nil
	}, nil
}

// readPolicy reads a policy, or one without statements from an empty text.
func readPolicy(text string) (*policy, bool) {
	p := &policy{}
	if text == "" {
		return p, true
	}
	if json.Unmarshal([]byte(text), p) != nil {
		return nil, false
	}
	switch p.Statement.Kind() {
	case 0: // there is none, and what else is there is kept all the same
	case '[':
		if json.Unmarshal(p.Statement, &p.statements) != nil {
			return nil, false
		}
	case '{':
		p.statements = []jsontext.Value{p.Statement}
	default:
		return nil, false
	}
	for _, s := range p.statements {
		if s.Kind() != '{' {
			return nil, false
		}
	}
	return p, true
}

// text is the policy as it is kept; false when it is too long.
func (p *policy) text() (string, bool) {
	if p.statements != nil {
		p.Statement = jsontext.Value(asJSON(p.statements))
	}
	text := jsontext.Value(asJSON(p))
	if text.Compact() != nil {
		return "", false
	}
	return string(text), len(text) <= maxPolicy
}

// labeled is the place of the statement with a label; -1 when there is none.
func (p *policy) labeled(label string) int {
	return slices.IndexFunc(p.statements, func(text jsontext.Value) bool {
		var s struct {
			Sid string `json:"Sid"`
		}
		return json.Unmarshal(text, &s) == nil && s.Sid == label
	})
}

// editPolicy changes the policy of a queue. A policy whose last statement was removed is none.
func (c *call) editPolicy(ref engine.Ref, edit func(*policy) error) (*nothing, error) {
	return c.configure(ref, func(config *engine.QueueConfig) error {
		p, ok := readPolicy(config.Notes[notePolicy])
		if !ok {
			return wrongAttribute("Policy")
		}
		if err := edit(p); err != nil {
			return err
		}
		text := ""
		if len(p.statements) > 0 {
			if text, ok = p.text(); !ok {
				return overLimit.is("The policy of the queue would have more than 8192 bytes; remove a permission first.")
			}
		}
		setNote(config, notePolicy, text)
		return nil
	})
}
