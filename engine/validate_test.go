package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxAttributeNameBytes+1)
	tooLong, negative := MaxDuration+1, -time.Second
	short, plain := time.Duration(1), DefaultConfig()
	plain.MaxMessageBytes = 1
	farAway := time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	many := make([]Attribute, MaxAttributes+1)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	twiceAmongMany := append([]Attribute{{Name: "20"}}, many[:30]...)
	for name, c := range map[string]struct {
		m     Message
		field string
	}{
		"group too long":              {Message{Group: strings.Repeat("g", MaxIDBytes+1)}, "group"},
		"group with line feed":        {Message{Group: "a\nb"}, "group"},
		"deduplication id too long":   {Message{DedupID: strings.Repeat("d", MaxIDBytes+1)}, "dedup_id"},
		"deduplication id not UTF-8":  {Message{DedupID: "\xff"}, "dedup_id"},
		"no time to live":             {Message{TTL: &negative}, "ttl"},
		"too short a time to live":    {Message{TTL: &short}, "ttl"},
		"endless time to live":        {Message{TTL: &tooLong}, "ttl"},
		"priority where there is one": {Message{Priority: 1}, "priority"},
		"content type too long":       {Message{ContentType: long}, "content_type"},
		"content type with line feed": {Message{ContentType: "a\nb"}, "content_type"},
		"content type not UTF-8":      {Message{ContentType: "\xff"}, "content_type"},
		"traceparent too long":        {Message{TraceParent: long}, "traceparent"},
		"negative delay":              {Message{Delay: &negative}, "delay"},
		"endless delay":               {Message{Delay: &tooLong}, "delay"},
		"deliver_at too far away":     {Message{DeliverAt: &farAway}, "deliver_at"},
		"attribute without name":      {Message{Attributes: []Attribute{{}}}, "attributes"},
		"attribute name too long":     {Message{Attributes: []Attribute{{Name: long}}}, "attributes." + long[1:]},
		"attribute type too long":     {Message{Attributes: []Attribute{{Name: "n", Type: long}}}, "attributes.n"},
		"attribute name not UTF-8":    {Message{Attributes: []Attribute{{Name: "\xff"}}}, "attributes"},
		"attribute type with NUL":     {Message{Attributes: []Attribute{{Name: "n", Type: "\x00"}}}, "attributes"},
		"attribute twice":             {Message{Attributes: []Attribute{{Name: "a"}, {Name: "b"}, {Name: "a"}}}, "attributes.a"},
		"attribute twice among many":  {Message{Attributes: twiceAmongMany}, "attributes.20"},
		"too many attributes":         {Message{Attributes: many}, "attributes"},
	} {
		err := c.m.validate(3, 0, &plain)
		if err == nil || err.Code != CodeInvalidRequest || err.Field != "messages[3]."+c.field {
			t.Errorf("%s: got %v, want invalid_request in messages[3].%s", name, err, c.field)
		}
	}
	if err := (&Message{Attributes: many[:MaxAttributes]}).validate(0, 1, &plain); err != nil {
		t.Errorf("message with %d attributes: got %v", MaxAttributes, err)
	}
	if err := new(Message).validate(0, 2, &plain); err == nil || err.Code != CodeTooLarge {
		t.Errorf("message of 2 bytes where 1 is allowed: got %v, want too_large", err)
	}
}

func TestPriorityOfMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		priority int
		levels   int
		fifo     bool
		detail   string // empty if it is accepted
	}{
		{0, 1, false, ""},
		{0, 10, false, ""},
		{9, 10, false, ""},
		{0, 1, true, ""},
		{1, 1, true, "A FIFO queue keeps the order of each group, so a message has no priority; leave it out."},
		{1, 1, false, "The queue has one level of priority; set its priorities to 10, or leave priority out."},
		{10, 10, false, "Give a number from 0 to 9, which comes first."},
		{-1, 10, false, "Give a number from 0 to 9, which comes first."},
	} {
		config := DefaultConfig()
		config.Priorities, config.FIFO = c.levels, c.fifo
		err := (&Message{Priority: c.priority}).validate(0, 0, &config)
		if (err == nil) != (c.detail == "") || err != nil && err.Detail != c.detail {
			t.Errorf("priority %d, %d levels, FIFO %t: got %v, want %q", c.priority, c.levels, c.fifo, err, c.detail)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for i := range maxTags + 1 {
		many[fmt.Sprint(i)] = ""
	}
	for name, tags := range map[string]map[string]string{
		"too many":       many,
		"no name":        {"": "v"},
		"long name":      {strings.Repeat("n", maxTagName+1): "v"},
		"long value":     {"n": strings.Repeat("v", maxTagValue+1)},
		"name not UTF-8": {"\xff": ""},
	} {
		c := DefaultConfig()
		c.Tags = tags
		if err := c.validate(Ref{"t", "q"}); err == nil || err.Field != "tags" {
			t.Errorf("%s: got %v, want an error in tags", name, err)
		}
	}
	c := DefaultConfig()
	c.Tags = map[string]string{strings.Repeat("ü", maxTagName): strings.Repeat("ü", maxTagValue)}
	if err := c.validate(Ref{"t", "q"}); err != nil {
		t.Errorf("longest tag: got %v, want none", err)
	}
	for _, tenant := range []string{"", strings.Repeat("t", maxTenantBytes+1)} {
		if err := c.validate(Ref{tenant, "q"}); err == nil || err.Field != "tenant" {
			t.Errorf("tenant %q: got %v, want an error in tenant", tenant, err)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for i := range MaxNotes {
		many[fmt.Sprint(i)] = ""
	}
	full := map[string]string{"name": strings.Repeat("v", MaxNotesBytes-len("name"))}
	for _, notes := range []map[string]string{nil, {}, many, full} {
		c := DefaultConfig()
		c.Notes = notes
		if err := c.validate(Ref{"t", "q"}); err != nil {
			t.Errorf("%d notes: got %v, want no error", len(notes), err)
		}
	}
	many["one"], full["n"] = "too many", ""
	for name, notes := range map[string]map[string]string{
		"too many":        many,
		"too much":        full,
		"no name":         {"": "v"},
		"name not UTF-8":  {"\xff": ""},
		"value not UTF-8": {"n": "\xff"},
	} {
		c := DefaultConfig()
		c.Notes = notes
		if err := c.validate(Ref{"t", "q"}); err == nil || err.Field != "notes" {
			t.Errorf("%s: got %v, want an error in notes", name, err)
		}
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"日本", 5, "日"}, {"日", 2, ""},
	} {
		if got := cut(c.s, c.n); got != c.want {
			t.Errorf("cut(%q, %d): got %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestRecordKeepsConfig(t *testing.T) {
	t.Parallel()
	ref := Ref{"a/b %2F", "q"}
	if got, err := refOfKey(catalogKey(ref)); err != nil || got != ref {
		t.Errorf("refOfKey(%q): got %v, %v, want %v", catalogKey(ref), got, err, ref)
	}
	if strings.HasPrefix(catalogKey(Ref{"a/b", "q"}), tenantPrefix("a")) {
		t.Error("queues of tenant a/b are listed among those of tenant a")
	}
}

func TestDeliverAtLongAgoIsNow(t *testing.T) {
	t.Parallel()
	for _, year := range []int{-1000, 1, 1600, 1969} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, notBefore := (&Message{DeliverAt: &at}).delay(new(QueueConfig)); !notBefore.IsZero() {
			t.Errorf("deliver_at in the year %d: kept until %v, want not at all", year, notBefore)
		}
	}
}
