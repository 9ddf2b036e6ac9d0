package rest

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

func topicConfigOf(c engine.TopicConfig) TopicConfig {
	return TopicConfig{
		Partitions:        c.Partitions,
		Retention:         TopicRetention{Duration(c.RetentionAge), c.RetentionBytes},
		MaxRecordBytes:    c.MaxRecordBytes,
		Acks:              c.Acks,
		MinInsyncReplicas: c.MinInsyncReplicas,
	}
}

func (c TopicConfig) engine() (engine.TopicConfig, error) {
	if c.Compaction.Enabled {
		return engine.TopicConfig{}, invalid("compaction.enabled",
			"Compaction is planned but not built yet: leave it out, or set it to false, to keep all records until retention ends.")
	}
	return engine.TopicConfig{
		Partitions:        c.Partitions,
		RetentionAge:      time.Duration(c.Retention.Age),
		RetentionBytes:    c.Retention.Bytes,
		MaxRecordBytes:    c.MaxRecordBytes,
		Acks:              c.Acks,
		MinInsyncReplicas: c.MinInsyncReplicas,
	}, nil
}

// readTopicConfig reads the configuration that a request describes: defaults where it says nothing, or null.
func (a *API) readTopicConfig(w http.ResponseWriter, r *http.Request) (engine.TopicConfig, error) {
	if _, err := query(r); err != nil {
		return engine.TopicConfig{}, err
	}
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return engine.TopicConfig{}, err
	}
	defer body.Release()
	if err := body.DecodingJSON(); err != nil {
		return engine.TopicConfig{}, err
	}
	if err := decode(body.Bytes, new(TopicConfig)); err != nil {
		return engine.TopicConfig{}, err
	}
	config := topicConfigOf(engine.DefaultTopicConfig())
	if len(body.Bytes) > 0 {
		given, err := merge(jsontext.Value("{}"), jsontext.Value(body.Bytes))
		if err != nil {
			return engine.TopicConfig{}, err
		}
		if err := decode(given, &config); err != nil {
			return engine.TopicConfig{}, err
		}
	}
	return config.engine()
}

// topic is the topic in the path of a request whose sender may perform one of the actions on it.
func (a *API) topic(r *http.Request, actions ...string) (engine.Ref, error) {
	name := pathValue(r, "t")
	p := a.principal(r)
	for _, action := range actions[1:] {
		if p.Allows("topics", action, name) {
			return engine.Ref{Tenant: p.Tenant, Name: name}, nil
		}
	}
	if err := p.Require("topics", actions[0], name); err != nil {
		return engine.Ref{}, err
	}
	return engine.Ref{Tenant: p.Tenant, Name: name}, nil
}
