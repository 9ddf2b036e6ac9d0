package sqs

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// redrivePolicy is the attribute RedrivePolicy: which queue takes the dead letters, after how many deliveries.
type redrivePolicy struct {
	Target string `json:"deadLetterTargetArn"`
	// MaxReceives is a number, or a text that has one.
	MaxReceives jsontext.Value `json:"maxReceiveCount,omitzero"`
}

// The bounds of maxReceiveCount.
const (
	minReceives = 1
	maxReceives = 1000
)

// showRedrivePolicy shows none for a queue that the native API has given only one of the two parts.
func showRedrivePolicy(c *call, q *engine.Queue) (string, bool) {
	target, n := q.Config.DeadLetter.Queue, q.Config.Retry.MaxReceives
	if target == "" || n == 0 {
		return "", false
	}
	return asJSON(redrivePolicy{c.arn(target), jsontext.Value(strconv.FormatUint(uint64(n), 10))}), true
}

func parseRedrivePolicy(c *call, queue, value string) (change, error) {
	target, receives := "", uint32(0)
	if value != "" {
		var reason string
		var err error
		if target, receives, reason, err = c.readRedrivePolicy(queue, value); err != nil {
			return nil, err
		}
		if reason != "" {
			return nil, invalidValue(value, "RedrivePolicy", reason)
		}
	}
	return func(config *engine.QueueConfig, _ bool) error {
		config.DeadLetter.Queue, config.Retry.MaxReceives = target, receives
		return nil
	}, nil
}

// readRedrivePolicy gives the reason why it is none for the queue.
func (c *call) readRedrivePolicy(queue, value string) (target string, receives uint32, reason string, err error) {
	var p redrivePolicy
	if json.Unmarshal([]byte(value), &p) != nil {
		return "", 0, "Redrive policy is not a valid JSON map.", nil
	}
	if p.MaxReceives == nil {
		return "", 0, "Redrive policy does not contain mandatory attribute: maxReceiveCount.", nil
	}
	if p.Target == "" {
		return "", 0, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.", nil
	}
	n, ok := p.receives()
	if !ok {
		return "", 0, "Invalid value for maxReceiveCount: " + abridged(p.MaxReceives.String()) + ", valid values are from 1 to 1000 both inclusive.", nil
	}
	target, ok = c.nameInARN(p.Target)
	if !ok {
		return "", 0, "Dead letter target does not exist.", nil
	}
	if err := c.mayTarget(queue, target); err != nil {
		return "", 0, "", err
	}
	config, err := c.Engine.Config(c.ctx(), engine.Ref{Tenant: c.tenant(), Name: target})
	switch {
	case isNotFound(err) && target == queue: // it is being made, and is to be its own dead-letter queue
		return target, n, "", nil
	case isNotFound(err):
		return "", 0, "Dead letter target does not exist.", nil
	case err != nil:
		return "", 0, "", err
	case config.FIFO != isFIFO(queue):
		return "", 0, "Dead-letter queue must be same type of queue as the source.", nil
	case config.DeadLetter.AllowFrom != nil && !slices.Contains(config.DeadLetter.AllowFrom, queue):
		return "", 0, "The redrive allow policy of the dead-letter queue does not allow this source queue.", nil
	}
	return target, n, "", nil
}

// mayTarget says why the queue may not have the target for its dead letters, before anything about that one is shown. A
// target that the queue has already may stay; the engine holds the change against the configuration there is then.
func (c *call) mayTarget(queue, target string) error {
	denied := c.maySend(target)
	if denied == nil {
		return nil
	}
	present, err := c.Engine.Config(c.ctx(), engine.Ref{Tenant: c.tenant(), Name: queue})
	if err == nil && present.DeadLetter.Queue == target {
		return nil
	}
	return denied
}

func (p *redrivePolicy) receives() (uint32, bool) {
	text := p.MaxReceives.String()
	if p.MaxReceives.Kind() == '"' && json.Unmarshal(p.MaxReceives, &text) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n >= minReceives && n <= maxReceives
}

// redriveAllowPolicy is the attribute RedriveAllowPolicy: which queues may have this one for their dead letters.
type redriveAllowPolicy struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

const (
	allowAll = "allowAll"
	denyAll  = "denyAll"
	byQueue  = "byQueue"
	// maxSources is the most queues that byQueue names.
	maxSources = 10
)

func showRedriveAllowPolicy(c *call, q *engine.Queue) (string, bool) {
	names := q.Config.DeadLetter.AllowFrom
	p := redriveAllowPolicy{Permission: byQueue}
	switch {
	case names == nil && q.Config.Notes[noteAllowAll] == "":
		return "", false
	case names == nil:
		p.Permission = allowAll
	case len(names) == 0:
		p.Permission = denyAll
	}
	for _, name := range names {
		p.Sources = append(p.Sources, c.arn(name))
	}
	return asJSON(p), true
}

func parseRedriveAllowPolicy(c *call, _, value string) (change, error) {
	var names []string
	shown := ""
	if value != "" {
		var p redriveAllowPolicy
		var reason string
		if json.Unmarshal([]byte(value), &p) != nil {
			reason = "Redrive allow policy is not a valid JSON map."
		} else if names, reason = c.allowed(p); p.Permission == allowAll {
			shown = allowAll
		}
		if reason != "" {
			return nil, invalidValue(value, "RedriveAllowPolicy", reason)
		}
	}
	return func(config *engine.QueueConfig, _ bool) error {
		config.DeadLetter.AllowFrom = slices.Clone(names)
		setNote(config, noteAllowAll, shown)
		return nil
	}, nil
}

// allowed are the names of the queues that the policy allows, nil for all, or the reason why it is none.
func (c *call) allowed(p redriveAllowPolicy) (names []string, reason string) {
	if p.Permission != byQueue && len(p.Sources) > 0 {
		return nil, "sourceQueueArns can be given only when redrivePermission is byQueue."
	}
	switch p.Permission {
	case allowAll:
		return nil, ""
	case denyAll:
		return []string{}, ""
	case byQueue:
	default:
		return nil, "redrivePermission must be allowAll, denyAll or byQueue."
	}
	if len(p.Sources) == 0 || len(p.Sources) > maxSources {
		return nil, "sourceQueueArns must have 1 to 10 ARNs when redrivePermission is byQueue."
	}
	for _, arn := range p.Sources {
		name, ok := c.nameInARN(arn)
		if !ok || !validQueueName(name) {
			return nil, abridged(arn) + " is not the ARN of a queue of this account and region."
		}
		names = append(names, name)
	}
	return names, ""
}
