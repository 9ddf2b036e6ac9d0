package rest

import (
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// QueueConfig is a queue's configuration on the wire. What a request leaves out has the default shown.
type QueueConfig struct {
	// How long a received message is hidden from others.
	Visibility Duration `json:"visibility" swaggertype:"string" extensions:"x-duration" example:"30s"`
	// How long a new message is held back.
	Delay Duration `json:"delay" swaggertype:"string" extensions:"x-duration" example:"0s"`
	// How long a message may stay ready or dead.
	Retention Duration `json:"retention" swaggertype:"string" extensions:"x-duration" example:"96h"`
	// The most that body and attributes of one message may have, in bytes; up to 64 MiB.
	MaxMessageBytes int64 `json:"max_message_bytes" example:"1048576"`
	// How long a receive stays open while nothing is ready.
	Wait       Duration   `json:"wait" swaggertype:"string" extensions:"x-duration" example:"0s"`
	Retry      Retry      `json:"retry"`
	DeadLetter DeadLetter `json:"dead_letter"`
	// Free labels.
	Tags map[string]string `json:"tags,omitzero"`
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
	// The queue that takes it. Without one the message stays in its own queue, as dead.
	Queue string `json:"queue,omitzero" example:"orders-dead"`
	// eager: with the nack or the end of the lease; lazy: with the next receive.
	When engine.When `json:"when" swaggertype:"string" enums:"eager,lazy" example:"eager"`
}

func configOf(c engine.QueueConfig) QueueConfig {
	return QueueConfig{
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
		DeadLetter: DeadLetter{Queue: c.DeadLetter.Queue, When: c.DeadLetter.When},
		Tags:       maps.Clone(c.Tags),
	}
}

func (c QueueConfig) engine() engine.QueueConfig {
	return engine.QueueConfig{
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
		DeadLetter: engine.DeadLetter{Queue: c.DeadLetter.Queue, When: c.DeadLetter.When},
		Tags:       c.Tags,
	}
}

// configPatch is a request body that was found to be a sound configuration, whole or in part.
type configPatch jsontext.Value

// decodePatch checks a request body against the shape of a configuration; null stands for the default everywhere.
func decodePatch(b []byte) (configPatch, error) {
	if err := decode(b, new(QueueConfig)); err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return configPatch("{}"), nil
	}
	return configPatch(b), nil
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
