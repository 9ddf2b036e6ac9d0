package rest

import "net/http"

// DescribeTopic shows a topic's configuration and where its partitions begin and end.
//
// @Summary Show a topic
// @Description Its configuration, and for each partition which records it has. The ETag header names the configuration.
// @ID getTopic
// @Tags topics
// @Produce json
// @Param t path string true "Topic name"
// @Param If-None-Match header string false "Answers 304 while the configuration has this ETag, whatever was appended"
// @Success 200 {object} Topic
// @Success 304 "The configuration is the same"
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t} [get]
func (a *API) DescribeTopic(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "read")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	t, err := a.engine.Topic(r.Context(), ref)
	if err != nil {
		return err
	}
	if unchanged(w, r, t.ETag) {
		return nil
	}
	return replyTopic(w, http.StatusOK, t)
}
