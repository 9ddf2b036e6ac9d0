package sqs

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// plan is what the Query protocol has to know of a struct in file wire.go: the names of its members, and what they are.
type plan struct {
	fields []field
	byName map[string]*field
}

// field is a member of a struct, or one of a struct that is embedded in it.
type field struct {
	index []int
	// name is that of the member, and of a list or a map that of each entry.
	name string
	// key and value are what those of an entry of a map are called.
	key, value string
	// omitted says that answers leave it out when it has the zero value of its type.
	omitted bool
	many    many
	// each is the plan of an entry or value that is a struct; nil for one that is not.
	each *plan
}

// many says how many values a field has.
type many int

const (
	single many = iota
	list
	table
)

var plans sync.Map // of *plan by reflect.Type

// planOf is the plan of a struct, made once.
func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		p, _ := known.(*plan)
		return p
	}
	p := &plan{}
	p.add(t, nil)
	p.byName = make(map[string]*field, len(p.fields))
	for i := range p.fields {
		p.byName[p.fields[i].name] = &p.fields[i]
	}
	plans.Store(t, p)
	return p
}

func (p *plan) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		member := t.Field(i)
		index := append(slices.Clip(at), i)
		if member.Anonymous {
			p.add(member.Type, index)
			continue
		}
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		f := field{index: index, name: name, omitted: strings.HasPrefix(options, "omit")}
		each := member.Type
		switch flat := member.Tag.Get("flat"); {
		case flat == "":
		case each.Kind() == reflect.Map:
			f.many = table
			names := strings.Split(flat, ",")
			f.name, f.key, f.value = names[0], names[1], names[2]
			each = each.Elem()
		default:
			f.many, f.name = list, flat
			each = each.Elem()
		}
		if each.Kind() == reflect.Struct {
			f.each = planOf(each)
		}
		p.fields = append(p.fields, f)
	}
}
