package auth

import (
	"fmt"
	"slices"
	"strings"
)

// everything is the scope that allows every action on every resource of the tenant.
const everything = "admin:*:*"

// actions lists what can be done with each resource.
var actions = map[string][]string{
	"queues": {"send", "receive", "read", "manage"},
	"topics": {"produce", "consume", "read", "manage"},
	"admin":  {"*"},
}

// scope is one parsed <resource>:<action>:<name pattern>.
type scope struct {
	resource, action, pattern string
}

// scopes are alternatives: what one allows is allowed.
type scopes []scope

// parseScopes reads a scope claim. Words that are not scopes of ours are passed over, since identity providers put
// their own ("openid", "offline_access") into the same claim.
func parseScopes(claim string) scopes {
	var list scopes
	for word := range strings.FieldsSeq(claim) {
		if s, err := parseScope(word); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// CheckScopes returns an error that names the first word of a scope claim that allows nothing here.
func CheckScopes(claim string) error {
	for word := range strings.FieldsSeq(claim) {
		if _, err := parseScope(word); err != nil {
			return err
		}
	}
	return nil
}

func parseScope(word string) (scope, error) {
	parts := strings.SplitN(word, ":", 3)
	if len(parts) != 3 || parts[2] == "" {
		return scope{}, fmt.Errorf("scope %q is not <resource>:<action>:<name pattern>, for example queues:send:orders-*", word)
	}
	s := scope{resource: parts[0], action: parts[1], pattern: parts[2]}
	known, ok := actions[s.resource]
	if !ok {
		return scope{}, fmt.Errorf("scope %q: the resource is queues, topics or admin", word)
	}
	if s.action != "*" && !slices.Contains(known, s.action) {
		return scope{}, fmt.Errorf("scope %q: the action is one of %s", word, strings.Join(append(slices.Clip(known), "*"), ", "))
	}
	return s, nil
}

func (s scope) String() string { return s.resource + ":" + s.action + ":" + s.pattern }

func (s scope) everything() bool { return s.String() == everything }

func (ss scopes) everything() bool { return slices.ContainsFunc(ss, scope.everything) }

func (ss scopes) allow(resource, action, name string) bool {
	for _, s := range ss {
		if s.resource == resource && (s.action == "*" || s.action == action) && matches(s.pattern, name) {
			return true
		}
	}
	return false
}

// matches reports whether the name fits the pattern, in which * stands for any run of characters, an empty one
// included. On a mismatch only the last * can give way, so the cost stays below len(pattern)·len(name).
func matches(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
