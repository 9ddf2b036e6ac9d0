package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
)

// CreateTopic makes a topic, or gives it a new configuration. What the request leaves out returns to its default.
//
// @Summary Create or replace a topic
// @Description Makes a topic, or gives it a new configuration. Fields that are left out return to their defaults, but for partitions, of which a topic never has fewer than before.
// @ID putTopic
// @Tags topics
// @Accept json
// @Produce json
// @Param t path string true "Topic name: letters, digits, - and _, at most 80"
// @Param If-Match header string false "Only if the topic has this ETag; * for one that exists"
// @Param If-None-Match header string false "* creates the topic only if there is none of this name yet (else 412)"
// @Param config body TopicConfig false "The configuration"
// @Success 200 {object} Topic "Changed, or the same"
// @Success 201 {object} Topic "Created"
// @Header 200,201 {string} ETag "Names this state of the configuration"
// @Header 201 {string} Location "The topic's path"
// @Failure 400,401,403,409,412,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t} [put]
func (a *API) CreateTopic(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "manage")
	if err != nil {
		return err
	}
	only, err := precondition(r)
	if err != nil {
		return err
	}
	config, err := a.readTopicConfig(w, r)
	if err != nil {
		return err
	}
	t, created, err := a.engine.PutTopic(r.Context(), ref, config, only)
	if err != nil {
		return err
	}
	if !created {
		return replyTopic(w, http.StatusOK, t)
	}
	w.Header().Set("Location", "/v1/topics/"+ref.Name)
	return replyTopic(w, http.StatusCreated, t)
}

func replyTopic(w http.ResponseWriter, status int, t engine.Topic) error {
	w.Header().Set("ETag", quoted(t.ETag))
	return reply(w, status, topicOf(t))
}

func topicOf(t engine.Topic) Topic {
	out := Topic{Name: t.Ref.Name, Config: topicConfigOf(t.Config), Partitions: make([]Partition, len(t.Partitions))}
	for i, p := range t.Partitions {
		out.Partitions[i] = partitionOf(p)
	}
	return out
}

func partitionOf(p engine.PartitionState) Partition {
	return Partition{p.Partition, p.FirstOffset, p.HighWatermark, p.Bytes, p.Missing}
}
