package engine

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queue  string
		change func(*QueueConfig)
		field  string
	}{
		"FIFO without suffix":             {"q", func(c *QueueConfig) { c.FIFO = true }, "fifo"},
		"suffix without FIFO":             {"q.fifo", func(*QueueConfig) {}, "fifo"},
		"suffix alone":                    {".fifo", func(c *QueueConfig) { c.FIFO = true }, "name"},
		"dot elsewhere":                   {"q.fifo.fifo", func(c *QueueConfig) { c.FIFO = true }, "name"},
		"too long with suffix":            {strings.Repeat("q", 76) + ".fifo", func(c *QueueConfig) { c.FIFO = true }, "name"},
		"fair FIFO":                       {"q.fifo", func(c *QueueConfig) { c.FIFO, c.Fair = true, true }, "fair"},
		"FIFO with priorities":            {"q.fifo", func(c *QueueConfig) { c.FIFO, c.Priorities = true, 10 }, "priorities"},
		"fair with priorities":            {"q", func(c *QueueConfig) { c.Fair, c.Priorities = true, 10 }, "priorities"},
		"priorities and groups in flight": {"q", func(c *QueueConfig) { c.Limits.PerGroupInFlight, c.Priorities = 1, 10 }, "priorities"},
		"priorities and rate of groups":   {"q", func(c *QueueConfig) { c.Limits.PerGroupRate, c.Priorities = 1, 10 }, "priorities"},
		"five priorities":                 {"q", func(c *QueueConfig) { c.Priorities = 5 }, "priorities"},
		"no priorities":                   {"q", func(c *QueueConfig) { c.Priorities = 0 }, "priorities"},
		"negative ageing":                 {"q", func(c *QueueConfig) { c.Ageing = -1 }, "ageing"},
		"unknown scope":                   {"q", func(c *QueueConfig) { c.Dedup.Scope = "all" }, "dedup.scope"},
		"no window":                       {"q", func(c *QueueConfig) { c.Dedup.Window = 0 }, "dedup.window"},
		"long window":                     {"q", func(c *QueueConfig) { c.Dedup.Window = MaxDedupWindow + 1 }, "dedup.window"},
		"unknown overflow":                {"q", func(c *QueueConfig) { c.Limits.Overflow = "" }, "limits.overflow"},
		"negative bound":                  {"q", func(c *QueueConfig) { c.Limits.MaxMessages = -1 }, "limits.max_messages"},
		"negative bytes":                  {"q", func(c *QueueConfig) { c.Limits.MaxBytes = -1 }, "limits.max_bytes"},
		"negative rate":                   {"q", func(c *QueueConfig) { c.Limits.Rate = -1 }, "limits.rate"},
		"high rate":                       {"q", func(c *QueueConfig) { c.Limits.Rate = MaxRate + 1 }, "limits.rate"},
		"no rate at all":                  {"q", func(c *QueueConfig) { c.Limits.Rate = math.NaN() }, "limits.rate"},
		"endless interval":                {"q", func(c *QueueConfig) { c.Limits.PerGroupRate = 1e-300 }, "limits.per_group_rate"},
		"unknown lock":                    {"q.fifo", func(c *QueueConfig) { c.FIFO, c.GroupLock = true, "head" }, "group_lock"},
		"no lock":                         {"q", func(c *QueueConfig) { c.GroupLock = "" }, "group_lock"},
		"no shards":                       {"q", func(c *QueueConfig) { c.Shards = 0 }, "shards"},
		"too many shards":                 {"q", func(c *QueueConfig) { c.Shards = MaxShards + 1 }, "shards"},
		"FIFO with shards":                {"q.fifo", func(c *QueueConfig) { c.FIFO, c.Shards = true, 2 }, "shards"},
		"fair with shards":                {"q", func(c *QueueConfig) { c.Fair, c.Shards = true, 2 }, "shards"},
		"priorities with shards":          {"q", func(c *QueueConfig) { c.Priorities, c.Shards = 10, 2 }, "shards"},
		"messages and shards":             {"q", func(c *QueueConfig) { c.Limits.MaxMessages, c.Shards = 1, 2 }, "shards"},
		"bytes and shards":                {"q", func(c *QueueConfig) { c.Limits.MaxBytes, c.Shards = 1, 2 }, "shards"},
		"in flight and shards":            {"q", func(c *QueueConfig) { c.Limits.MaxInFlight, c.Shards = 1, 2 }, "shards"},
		"rate and shards":                 {"q", func(c *QueueConfig) { c.Limits.Rate, c.Shards = 1, 2 }, "shards"},
		"groups in flight and shards":     {"q", func(c *QueueConfig) { c.Limits.PerGroupInFlight, c.Shards = 1, 2 }, "shards"},
		"rate of groups and shards":       {"q", func(c *QueueConfig) { c.Limits.PerGroupRate, c.Shards = 1, 2 }, "shards"},
		"unknown ack":                     {"q", func(c *QueueConfig) { c.Ack = "never" }, "ack"},
		"bad name in allow_from":          {"q", func(c *QueueConfig) { c.DeadLetter.AllowFrom = []string{"a", "b c"} }, "dead_letter.allow_from[1]"},
		"long allow_from":                 {"q", func(c *QueueConfig) { c.DeadLetter.AllowFrom = make([]string, maxAllowFrom+1) }, "dead_letter.allow_from"},
	} {
		config := DefaultConfig()
		c.change(&config)
		err := config.validate(Ref{"t", c.queue})
		if err == nil || err.Field != c.field || err.Code != CodeInvalidRequest {
			t.Errorf("%s: got %v, want invalid_request in %s", name, err, c.field)
		}
	}
}

func TestConfigurationsThatAreTaken(t *testing.T) {
	t.Parallel()
	for queue, change := range map[string]func(*QueueConfig){
		strings.Repeat("q", 80):           func(*QueueConfig) {},
		strings.Repeat("q", 75) + ".fifo": func(c *QueueConfig) { c.FIFO = true },
		"groups.fifo": func(c *QueueConfig) {
			c.FIFO = true
			c.Limits = Limits{Overflow: OverflowBlock, MaxInFlight: 1, PerGroupInFlight: 5, PerGroupRate: 0.5, Rate: MaxRate}
			c.Dedup = Dedup{ContentBased: true, Window: MaxDedupWindow, Scope: ScopeGroup}
		},
		"tail.fifo": func(c *QueueConfig) { c.FIFO, c.GroupLock = true, GroupLockTail },
		"tail":      func(c *QueueConfig) { c.GroupLock = GroupLockTail },
		"fair":      func(c *QueueConfig) { c.Fair, c.Limits.PerGroupInFlight = true, 10 },
		"urgent":    func(c *QueueConfig) { c.Priorities, c.Ageing = 10, 0 },
		"once":      func(c *QueueConfig) { c.Ack, c.DeadLetter.AllowFrom = AckOnReceive, []string{"a", "b.fifo"} },
	} {
		config := DefaultConfig()
		change(&config)
		if err := config.validate(Ref{"t", queue}); err != nil {
			t.Errorf("%s: got %v, want no error", queue, err)
		}
	}
}

func TestDedupKeys(t *testing.T) {
	t.Parallel()
	queue, group := Dedup{Scope: ScopeQueue}, Dedup{Scope: ScopeGroup}
	content := Dedup{Scope: ScopeQueue, ContentBased: true}
	body := []byte("body")
	const bodyID = "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5" // sha256sum
	key := func(d Dedup, m Message) string { k := m.dedupKey(&d); return string(k[:]) }
	none := string(make([]byte, 16))
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"no id":                        {key(queue, Message{Body: body}), none, true},
		"same id, other body":          {key(queue, Message{DedupID: "i", Body: body}), key(queue, Message{DedupID: "i"}), true},
		"same id, other group":         {key(queue, Message{DedupID: "i", Group: "g"}), key(queue, Message{DedupID: "i"}), true},
		"same id, scope is group":      {key(group, Message{DedupID: "i", Group: "g"}), key(group, Message{DedupID: "i"}), false},
		"id and group run together":    {key(group, Message{DedupID: "ab", Group: "c"}), key(group, Message{DedupID: "b", Group: "ca"}), false},
		"other id":                     {key(queue, Message{DedupID: "i"}), key(queue, Message{DedupID: "j"}), false},
		"same body":                    {key(content, Message{Body: body}), key(content, Message{Body: body, Attributes: []Attribute{{Name: "a"}}}), true},
		"other body":                   {key(content, Message{Body: body}), key(content, Message{}), false},
		"body and its hash as the id":  {key(content, Message{Body: body}), key(content, Message{DedupID: bodyID}), true},
		"an id goes before the body's": {key(content, Message{Body: body, DedupID: "i"}), key(queue, Message{DedupID: "i"}), true},
	} {
		if (c.a == c.b) != c.same {
			t.Errorf("%s: keys are %x and %x, want them the same: %t", name, c.a, c.b, c.same)
		}
	}
}

func TestEntryInOrder(t *testing.T) {
	t.Parallel()
	second, at := time.Second, time.Unix(1e9, 0)
	for _, c := range []struct {
		m       Message
		fifo    bool
		inOrder bool
		delay   time.Duration
	}{
		{Message{}, true, true, time.Minute},
		{Message{}, false, false, time.Minute},
		{Message{Delay: &second}, true, false, time.Second},
		{Message{DeliverAt: &at}, true, false, 0},
	} {
		config := DefaultConfig()
		config.FIFO, config.Delay = c.fifo, time.Minute
		if e := c.m.entry(&config); e.InOrder != c.inOrder || e.Delay != c.delay {
			t.Errorf("entry of %+v, FIFO %t: got in order %t after %v, want %t after %v", c.m, c.fifo, e.InOrder, e.Delay, c.inOrder, c.delay)
		}
	}
}
