package sqs

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// attribute is one row of the table of the attributes of queues. Values are texts on the wire.
type attribute struct {
	name string
	has  holder
	// get is what is shown of it; false when there is nothing to show.
	get func(c *call, q *engine.Queue) (string, bool)
	// parse reads a value that is to be given to the queue of a name; nil when nobody can set it.
	parse func(c *call, queue, value string) (change, error)
}

// change puts a value into a configuration. Live says that the queue exists already. Maps and slices of the configuration
// are replaced, not changed.
type change func(config *engine.QueueConfig, live bool) error

// holder says which queues have an attribute.
type holder uint8

const (
	everyQueue holder = iota
	// The two kinds that only FIFO queues have differ in how AWS refuses them for other queues: the one is unknown, the
	// other is explained.
	fifoQueue
	fifoQueueExplained
)

// attributes is the table. Its order is that in which a new request is held against a queue that exists.
var attributes = []attribute{
	{name: "FifoQueue", has: fifoQueue, get: showFIFO, parse: parseFIFO},
	{name: "DelaySeconds", get: showSeconds(delay), parse: parseSeconds("DelaySeconds", 0, maxDelay, delay)},
	{name: "MaximumMessageSize", get: showSize, parse: parseSize},
	{name: "MessageRetentionPeriod", get: showSeconds(retention), parse: parseSeconds("MessageRetentionPeriod", 60, 1209600, retention)},
	{name: "ReceiveMessageWaitTimeSeconds", get: showSeconds(wait), parse: parseSeconds("ReceiveMessageWaitTimeSeconds", 0, maxWait, wait)},
	{name: "VisibilityTimeout", get: showSeconds(visibility), parse: parseSeconds("VisibilityTimeout", 0, maxVisibility, visibility)},
	{name: "ContentBasedDeduplication", has: fifoQueue, get: showContentBased, parse: parseContentBased},
	{name: "DeduplicationScope", has: fifoQueueExplained, get: showScope, parse: parseScope},
	{name: "FifoThroughputLimit", has: fifoQueueExplained, get: showThroughput, parse: parseThroughput},
	{name: "RedrivePolicy", get: showRedrivePolicy, parse: parseRedrivePolicy},
	{name: "RedriveAllowPolicy", get: showRedriveAllowPolicy, parse: parseRedriveAllowPolicy},
	{name: "Policy", get: showNote(notePolicy), parse: parsePolicy},
	{name: "KmsMasterKeyId", get: showNote(noteKey), parse: parseKey},
	{name: "KmsDataKeyReusePeriodSeconds", get: showNote(noteKeyReuse), parse: parseKeyReuse},
	{name: "SqsManagedSseEnabled", get: showEncrypted, parse: parseEncrypted},

	{name: "QueueArn", get: func(c *call, q *engine.Queue) (string, bool) { return c.arn(q.Ref.Name), true }},
	{name: "CreatedTimestamp", get: showTime(func(q *engine.Queue) time.Time { return q.CreatedAt })},
	{name: "LastModifiedTimestamp", get: showTime(func(q *engine.Queue) time.Time { return q.ChangedAt })},
	{name: "ApproximateNumberOfMessages", get: showCount(func(n engine.Counts) int64 { return n.Ready })},
	{name: "ApproximateNumberOfMessagesNotVisible", get: showCount(func(n engine.Counts) int64 { return n.Leased + n.Moving })},
	{name: "ApproximateNumberOfMessagesDelayed", get: showCount(func(n engine.Counts) int64 { return n.Delayed })},
}

// The names of what is kept in the notes of a queue, since it means nothing to the engine.
const (
	notePolicy     = "sqs.Policy"
	noteKey        = "sqs.KmsMasterKeyId"
	noteKeyReuse   = "sqs.KmsDataKeyReusePeriodSeconds"
	noteEncrypted  = "sqs.SqsManagedSseEnabled" // there with "false" only
	noteThroughput = "sqs.FifoThroughputLimit"
	// noteScope is the deduplication scope to show when it is not the one that is in effect: AWS shows what a queue was
	// given later, and goes on as the queue was created.
	noteScope = "sqs.DeduplicationScope"
	// noteAllowAll is there when the redrive allow policy says in so many words what is the case without one.
	noteAllowAll = "sqs.RedriveAllowPolicy"
)

// setting is a value that a request gives an attribute.
type setting struct {
	*attribute
	change change
}

// settings reads the attributes that a request gives the queue of a name, in the table's order.
func (c *call) settings(queue string, given map[string]string) ([]setting, error) {
	for name := range given {
		if a := attributeNamed(name); a == nil || a.parse == nil {
			return nil, unknownAttribute(name)
		}
	}
	var all []setting
	for i := range attributes {
		a := &attributes[i]
		value, ok := given[a.name]
		if !ok {
			continue
		}
		if !isFIFO(queue) && a.has != everyQueue {
			return nil, a.onStandard()
		}
		change, err := a.parse(c, queue, value)
		if err != nil {
			return nil, err
		}
		all = append(all, setting{a, change})
	}
	return all, nil
}

// apply puts the values of a request into a configuration.
func apply(config *engine.QueueConfig, all []setting, live bool) error {
	for _, s := range all {
		if err := s.change(config, live); err != nil {
			return err
		}
	}
	scope, _ := showScope(nil, &engine.Queue{Config: *config})
	if config.Notes[noteThroughput] == perMessageGroup && scope != scopeMessageGroup {
		return invalidAttributeValue.is("Invalid value for the parameter FifoThroughputLimit. Reason: " + perMessageGroup +
			" is allowed only when DeduplicationScope is " + scopeMessageGroup + ".")
	}
	return nil
}

// difference is the first attribute that a queue has with another value than a request gives it; empty for none.
func (c *call) difference(config *engine.QueueConfig, all []setting) string {
	for _, s := range all {
		asked := *config
		if s.change(&asked, true) != nil {
			return s.name
		}
		want, _ := s.get(c, &engine.Queue{Config: asked})
		got, _ := s.get(c, &engine.Queue{Config: *config})
		if want != got {
			return s.name
		}
	}
	return ""
}

func attributeNamed(name string) *attribute {
	for i := range attributes {
		if attributes[i].name == name {
			return &attributes[i]
		}
	}
	return nil
}

// onStandard refuses the attribute for a queue that is not FIFO.
func (a *attribute) onStandard() *fault {
	if a.has == fifoQueueExplained {
		return invalidAttributeName.is("You can specify the " + a.name + " only when FifoQueue is set to true.")
	}
	return unknownAttribute(a.name)
}

func unknownAttribute(name string) *fault {
	return invalidAttributeName.is("Unknown Attribute " + abridged(name) + ".")
}

func wrongAttribute(name string) *fault {
	return invalidAttributeValue.is("Invalid value for the parameter " + name + ".")
}

// isFIFO goes by the name: FIFO queues have one of their own kind.
func isFIFO(queue string) bool { return strings.HasSuffix(queue, engine.FIFOSuffix) }

// setNote keeps a value with the queue, and an empty one no longer.
func setNote(config *engine.QueueConfig, name, value string) {
	notes := make(map[string]string, len(config.Notes)+1)
	maps.Copy(notes, config.Notes)
	if notes[name] = value; value == "" {
		delete(notes, name)
	}
	config.Notes = notes
}

func showNote(name string) func(*call, *engine.Queue) (string, bool) {
	return func(_ *call, q *engine.Queue) (string, bool) {
		value := q.Config.Notes[name]
		return value, value != ""
	}
}

func showCount(of func(engine.Counts) int64) func(*call, *engine.Queue) (string, bool) {
	return func(_ *call, q *engine.Queue) (string, bool) { return strconv.FormatInt(of(q.Counts), 10), true }
}

func showTime(of func(*engine.Queue) time.Time) func(*call, *engine.Queue) (string, bool) {
	return func(_ *call, q *engine.Queue) (string, bool) {
		t := of(q)
		return strconv.FormatInt(t.Unix(), 10), !t.IsZero()
	}
}

// The durations of a configuration that are attributes.
func delay(c *engine.QueueConfig) *time.Duration      { return &c.Delay }
func retention(c *engine.QueueConfig) *time.Duration  { return &c.Retention }
func wait(c *engine.QueueConfig) *time.Duration       { return &c.Wait }
func visibility(c *engine.QueueConfig) *time.Duration { return &c.Visibility }

// showSeconds shows a duration, which the native API may have set to less than a second, or to part of one, rounded up.
func showSeconds(of func(*engine.QueueConfig) *time.Duration) func(*call, *engine.Queue) (string, bool) {
	return func(_ *call, q *engine.Queue) (string, bool) {
		d := *of(&q.Config)
		return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10), true
	}
}

func parseSeconds(name string, least, most int64, of func(*engine.QueueConfig) *time.Duration) func(*call, string, string) (change, error) {
	return func(_ *call, _, value string) (change, error) {
		n, err := parseNumber(name, value, least, most)
		if err != nil {
			return nil, err
		}
		return func(config *engine.QueueConfig, _ bool) error {
			*of(config) = time.Duration(n) * time.Second
			return nil
		}, nil
	}
}

func parseNumber(name, value string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		return 0, wrongAttribute(name)
	}
	return n, nil
}

// parseFlag reads true or false, in upper or lower case.
func parseFlag(name, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wrongAttribute(name)
}

func showSize(_ *call, q *engine.Queue) (string, bool) {
	return strconv.FormatInt(q.Config.MaxMessageBytes, 10), true
}

func parseSize(_ *call, _, value string) (change, error) {
	n, err := parseNumber("MaximumMessageSize", value, 1<<10, 1<<20)
	if err != nil {
		return nil, err
	}
	return func(config *engine.QueueConfig, _ bool) error {
		config.MaxMessageBytes = n
		return nil
	}, nil
}

func showFIFO(_ *call, q *engine.Queue) (string, bool) { return "true", q.Config.FIFO }

// parseFIFO changes nothing: a queue's name has decided what it is.
func parseFIFO(_ *call, _, value string) (change, error) {
	fifo, err := parseFlag("FifoQueue", value)
	if err != nil {
		return nil, err
	}
	return func(_ *engine.QueueConfig, live bool) error {
		switch {
		case fifo:
			return nil
		case live:
			return invalidAttributeValue.is("Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		}
		return wrongName()
	}, nil
}

func showContentBased(_ *call, q *engine.Queue) (string, bool) {
	return strconv.FormatBool(q.Config.Dedup.ContentBased), q.Config.FIFO
}

func parseContentBased(_ *call, _, value string) (change, error) {
	on, err := parseFlag("ContentBasedDeduplication", value)
	if err != nil {
		return nil, err
	}
	return func(config *engine.QueueConfig, _ bool) error {
		config.Dedup.ContentBased = on
		return nil
	}, nil
}

// The values of DeduplicationScope and FifoThroughputLimit.
const (
	scopeMessageQueue = "queue"
	scopeMessageGroup = "messageGroup"
	perQueue          = "perQueue"
	perMessageGroup   = "perMessageGroupId"
)

func showScope(_ *call, q *engine.Queue) (string, bool) {
	scope := q.Config.Notes[noteScope]
	if scope == "" {
		scope = nameOfScope(q.Config.Dedup.Scope)
	}
	return scope, q.Config.FIFO
}

func nameOfScope(s engine.DedupScope) string {
	if s == engine.ScopeGroup {
		return scopeMessageGroup
	}
	return scopeMessageQueue
}

func parseScope(_ *call, _, value string) (change, error) {
	scope := engine.ScopeQueue
	switch value {
	case scopeMessageQueue:
	case scopeMessageGroup:
		scope = engine.ScopeGroup
	default:
		return nil, wrongAttribute("DeduplicationScope")
	}
	return func(config *engine.QueueConfig, live bool) error {
		if !live {
			config.Dedup.Scope = scope
			return nil
		}
		shown := value
		if config.Dedup.Scope == scope {
			shown = ""
		}
		setNote(config, noteScope, shown)
		return nil
	}, nil
}

func showThroughput(_ *call, q *engine.Queue) (string, bool) {
	limit := q.Config.Notes[noteThroughput]
	if limit == "" {
		limit = perQueue
	}
	return limit, q.Config.FIFO
}

// parseThroughput keeps the limit to show it: there is none here to be lifted.
func parseThroughput(_ *call, _, value string) (change, error) {
	if value != perQueue && value != perMessageGroup {
		return nil, wrongAttribute("FifoThroughputLimit")
	}
	return func(config *engine.QueueConfig, _ bool) error {
		setNote(config, noteThroughput, strings.TrimPrefix(value, perQueue))
		return nil
	}, nil
}

// maxKey is the most bytes of a key's name, which may be an ARN.
const maxKey = 2048

// parseKey keeps the key's name to show it; nothing is encrypted with it.
func parseKey(_ *call, _, value string) (change, error) {
	if len(value) > maxKey {
		return nil, wrongAttribute("KmsMasterKeyId")
	}
	return func(config *engine.QueueConfig, _ bool) error {
		if value != "" {
			setNote(config, noteEncrypted, "false")
		}
		setNote(config, noteKey, value)
		return nil
	}, nil
}

func parseKeyReuse(_ *call, _, value string) (change, error) {
	const usual = 300
	n, err := parseNumber("KmsDataKeyReusePeriodSeconds", value, 60, 86400)
	if err != nil {
		return nil, err
	}
	return func(config *engine.QueueConfig, _ bool) error {
		shown := strconv.FormatInt(n, 10)
		if n == usual {
			shown = ""
		}
		setNote(config, noteKeyReuse, shown)
		return nil
	}, nil
}

func showEncrypted(_ *call, q *engine.Queue) (string, bool) {
	return strconv.FormatBool(q.Config.Notes[noteEncrypted] == ""), true
}

func parseEncrypted(_ *call, _, value string) (change, error) {
	on, err := parseFlag("SqsManagedSseEnabled", value)
	if err != nil {
		return nil, err
	}
	return func(config *engine.QueueConfig, _ bool) error {
		if on && config.Notes[noteKey] != "" {
			return invalidAttributeName.is("You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
		}
		shown := ""
		if !on {
			shown = "false"
		}
		setNote(config, noteEncrypted, shown)
		return nil
	}, nil
}
