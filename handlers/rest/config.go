package rest

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// QueueConfig is a queue's configuration on the wire. What a request leaves out has the default shown.
type QueueConfig struct {
	// Keeps the order of each group. The names of such queues end in .fifo, and it cannot be changed.
	FIFO bool `json:"fifo"`
	// How long a received message is hidden from others.
	Visibility Duration `json:"visibility" swaggertype:"string" extensions:"x-duration" example:"30s"`
	// How long a new message is held back.
	Delay Duration `json:"delay" swaggertype:"string" extensions:"x-duration" example:"0s"`
	// How long a message may stay ready or dead.
	Retention Duration `json:"retention" swaggertype:"string" extensions:"x-duration" example:"96h"`
	// The most that body and attributes of one message may have, in bytes; up to 64 MiB.
	MaxMessageBytes int64 `json:"max_message_bytes" example:"1048576"`
	// How long a receive stays open while nothing is ready.
	Wait       Duration    `json:"wait" swaggertype:"string" extensions:"x-duration" example:"0s"`
	Dedup      Dedup       `json:"dedup"`
	Retry      Retry       `json:"retry"`
	DeadLetter DeadLetter  `json:"dead_letter"`
	Limits     QueueLimits `json:"limits"`
	// Levels of priority: 1 for none, or 10, for priorities from 0 to 9, which comes first.
	Priorities int `json:"priorities" enums:"1,10" example:"1"`
	// The wait after which a message counts one level higher, so that none waits for ever; 0 for never.
	Ageing Duration `json:"ageing" swaggertype:"string" extensions:"x-duration" example:"1m"`
	// Lets the groups of the queue take turns, so that a busy one does not hold up the others.
	Fair bool `json:"fair"`
	// Over how many parts the queue is spread, so that several servers of a cluster share its work; up to 64, and 1 on a
	// store that cannot. With more than 1 messages have no order, counts are sums of several moments, and fifo, fair,
	// priorities and limits cannot be had. It cannot be changed.
	Shards uint32 `json:"shards" example:"1"`
	// What of a group a FIFO queue delivers while one of its messages is leased or backs off. whole: nothing; tail: what
	// comes before the first such message, that is what came back, but no newer one.
	GroupLock engine.GroupLock `json:"group_lock" swaggertype:"string" enums:"whole,tail" example:"whole"`
	// explicit: a message is done when it is acked (at least once); on_receive: when it is received (at most once).
	Ack engine.AckMode `json:"ack" swaggertype:"string" enums:"explicit,on_receive" example:"explicit"`
	// How many copies of a change sends, acks, nacks and extends wait for unless they say otherwise. leader: that of the
	// server that leads; all: one on each replica that keeps up. On a store without replicas both mean that it is durable.
	Acks engine.Acks `json:"acks" swaggertype:"string" enums:"leader,all" example:"leader"`
	// How many copies there must be with all, the leader's included; with fewer the outcome is unknown. A store without
	// replicas has one.
	MinInsyncReplicas uint32 `json:"min_insync_replicas" example:"1"`
	// Remembers the timelines of the last 1000 messages that left the queue.
	History bool `json:"history"`
	// Free labels.
	Tags map[string]string `json:"tags,omitzero"`
}

// Dedup says which messages are duplicates of earlier ones; those are not sent again.
type Dedup struct {
	// Tells messages that have no dedup_id apart by their bodies.
	ContentBased bool `json:"content_based"`
	// How long a dedup_id is remembered; up to 7 days.
	Window Duration `json:"window" swaggertype:"string" extensions:"x-duration" example:"5m"`
	// group: each group has ids of its own.
	Scope engine.DedupScope `json:"scope" swaggertype:"string" enums:"queue,group" example:"queue"`
}

// QueueLimits bound a queue; what is left out or 0 is not bounded.
type QueueLimits struct {
	// Ready, delayed and leased messages. Only sends are bounded: dead letters and redrives go in all the same.
	MaxMessages int64 `json:"max_messages,omitzero" example:"100000"`
	// The bytes of their bodies and attributes.
	MaxBytes int64 `json:"max_bytes,omitzero" example:"1073741824"`
	// What gives way when the queue is full. reject: the send, with 429; block: the send, after it waited for room (as
	// long as the queue's wait, or 30 s); drop_oldest: older messages, but no leased ones; drop_newest: new ones; sample:
	// of ten new ones nine, and an older one for the tenth.
	Overflow engine.Overflow `json:"overflow" swaggertype:"string" enums:"reject,block,drop_oldest,drop_newest,sample" example:"reject"`
	// Leased messages.
	MaxInFlight uint32 `json:"max_in_flight,omitzero" example:"500"`
	// Deliveries a second; a second's worth may come at once.
	Rate float64 `json:"rate,omitzero" example:"100"`
	// Leased messages of one group.
	PerGroupInFlight uint32 `json:"per_group_in_flight,omitzero" example:"10"`
	// Deliveries a second of one group.
	PerGroupRate float64 `json:"per_group_rate,omitzero" example:"5"`
}

// Retry says when a nacked message comes back and how often it may.
type Retry struct {
	Policy engine.RetryPolicy `json:"policy" swaggertype:"string" enums:"none,fixed,exponential" example:"exponential"`
	// The delay after the first delivery.
	Base Duration `json:"base" swaggertype:"string" extensions:"x-duration" example:"1s"`
	// The most the delay may grow to.
	Cap    Duration      `json:"cap" swaggertype:"string" extensions:"x-duration" example:"5m"`
	Jitter engine.Jitter `json:"jitter" swaggertype:"string" enums:"full,equal,none" example:"full"`
	// Deliveries after which a message is dead; left out or 0 for no limit.
	MaxReceives uint32 `json:"max_receives,omitzero" example:"5"`
}

// DeadLetter says what becomes of a message whose deliveries are used up.
type DeadLetter struct {
	// The queue that takes it, also when it is full. Without one, or as long as there is none of the name, the message stays in
	// its own queue, as dead.
	Queue string `json:"queue,omitzero" example:"orders-dead"`
	// eager: with the nack or the end of the lease; lazy: with the next receive.
	When engine.When `json:"when" swaggertype:"string" enums:"eager,lazy" example:"eager"`
	// Keeps messages whose time to live has ended, as dead, instead of removing them.
	Expired bool `json:"expired,omitzero" example:"false"`
	// The queues that may have this one as their dead-letter queue; all when it is left out.
	AllowFrom []string `json:"allow_from,omitzero" example:"orders"`
}

func configOf(c engine.QueueConfig) QueueConfig {
	return QueueConfig{
		FIFO:            c.FIFO,
		Visibility:      Duration(c.Visibility),
		Delay:           Duration(c.Delay),
		Retention:       Duration(c.Retention),
		MaxMessageBytes: c.MaxMessageBytes,
		Wait:            Duration(c.Wait),
		Retry: Retry{
			Policy:      c.Retry.Policy,
			Base:        Duration(c.Retry.Base),
			Cap:         Duration(c.Retry.Cap),
			Jitter:      c.Retry.Jitter,
			MaxReceives: c.Retry.MaxReceives,
		},
		Dedup: Dedup{
			ContentBased: c.Dedup.ContentBased,
			Window:       Duration(c.Dedup.Window),
			Scope:        c.Dedup.Scope,
		},
		DeadLetter: DeadLetter{
			Queue:     c.DeadLetter.Queue,
			When:      c.DeadLetter.When,
			Expired:   c.DeadLetter.Expired,
			AllowFrom: slices.Clone(c.DeadLetter.AllowFrom),
		},
		Limits: QueueLimits{
			MaxMessages:      c.Limits.MaxMessages,
			MaxBytes:         c.Limits.MaxBytes,
			Overflow:         c.Limits.Overflow,
			MaxInFlight:      c.Limits.MaxInFlight,
			Rate:             c.Limits.Rate,
			PerGroupInFlight: c.Limits.PerGroupInFlight,
			PerGroupRate:     c.Limits.PerGroupRate,
		},
		Priorities: c.Priorities,
		Ageing:     Duration(c.Ageing),
		Fair:       c.Fair,
		Shards:     c.Shards,
		GroupLock:  c.GroupLock,
		Ack:        c.Ack,
		Acks:       c.Acks,

		MinInsyncReplicas: c.MinInsyncReplicas,

		History: c.History,
		Tags:    maps.Clone(c.Tags),
	}
}

func (c QueueConfig) engine() engine.QueueConfig {
	return engine.QueueConfig{
		FIFO:            c.FIFO,
		Visibility:      time.Duration(c.Visibility),
		Delay:           time.Duration(c.Delay),
		Retention:       time.Duration(c.Retention),
		MaxMessageBytes: c.MaxMessageBytes,
		Wait:            time.Duration(c.Wait),
		Retry: engine.Retry{
			Policy:      c.Retry.Policy,
			Base:        time.Duration(c.Retry.Base),
			Cap:         time.Duration(c.Retry.Cap),
			Jitter:      c.Retry.Jitter,
			MaxReceives: c.Retry.MaxReceives,
		},
		Dedup: engine.Dedup{
			ContentBased: c.Dedup.ContentBased,
			Window:       time.Duration(c.Dedup.Window),
			Scope:        c.Dedup.Scope,
		},
		DeadLetter: engine.DeadLetter{
			Queue:     c.DeadLetter.Queue,
			When:      c.DeadLetter.When,
			Expired:   c.DeadLetter.Expired,
			AllowFrom: c.DeadLetter.AllowFrom,
		},
		Limits: engine.Limits{
			MaxMessages:      c.Limits.MaxMessages,
			MaxBytes:         c.Limits.MaxBytes,
			Overflow:         c.Limits.Overflow,
			MaxInFlight:      c.Limits.MaxInFlight,
			Rate:             c.Limits.Rate,
			PerGroupInFlight: c.Limits.PerGroupInFlight,
			PerGroupRate:     c.Limits.PerGroupRate,
		},
		Priorities: c.Priorities,
		Ageing:     time.Duration(c.Ageing),
		Fair:       c.Fair,
		Shards:     c.Shards,
		GroupLock:  c.GroupLock,
		Ack:        c.Ack,
		Acks:       c.Acks,

		MinInsyncReplicas: c.MinInsyncReplicas,

		History: c.History,
		Tags:    c.Tags,
	}
}

// configPatch is a copy of a request body that was found to be a sound configuration, whole or in part.
type configPatch jsontext.Value

// decodePatch checks a request body against the shape of a configuration; null stands for the default everywhere. The
// patch is used after the body's memory went to another request, so it shares none with it.
func decodePatch(b []byte) (configPatch, error) {
	if err := decode(b, new(QueueConfig)); err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return configPatch("{}"), nil
	}
	return configPatch(bytes.Clone(b)), nil
}

// onto merges the patch into c (RFC 7396). What it sets to null has the default again.
func (p configPatch) onto(c engine.QueueConfig) (engine.QueueConfig, error) {
	now, err := json.Marshal(configOf(c))
	if err != nil {
		return c, err
	}
	return p.read(now)
}

// alone is the configuration that the patch describes by itself: defaults where it says nothing.
func (p configPatch) alone() (engine.QueueConfig, error) { return p.read(jsontext.Value("{}")) }

func (p configPatch) read(target jsontext.Value) (engine.QueueConfig, error) {
	merged, err := merge(target, jsontext.Value(p))
	if err != nil {
		return engine.QueueConfig{}, err
	}
	config := configOf(engine.DefaultConfig())
	if err := decode(merged, &config); err != nil {
		return engine.QueueConfig{}, err
	}
	return config.engine(), nil
}

// merge is the MergePatch of RFC 7396, section 2.
func merge(target, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' {
		return patch, nil
	}
	var changes map[string]jsontext.Value
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, err
	}
	members := map[string]jsontext.Value{}
	if target.Kind() == '{' {
		if err := json.Unmarshal(target, &members); err != nil {
			return nil, err
		}
	}
	for name, change := range changes {
		if change.Kind() == 'n' {
			delete(members, name)
			continue
		}
		merged, err := merge(members[name], change)
		if err != nil {
			return nil, err
		}
		members[name] = merged
	}
	return json.Marshal(members)
}
