package rest

import "net/http"

// DeleteTopic removes a topic for ever.
//
// @Summary Delete a topic
// @Description For ever, with its records and its committed offsets.
// @ID deleteTopic
// @Tags topics
// @Produce json
// @Param t path string true "Topic name"
// @Param If-Match header string false "Only if the topic has this ETag; * for one that exists"
// @Success 204 "Deleted"
// @Failure 400,401,403,404,412,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t} [delete]
func (a *API) DeleteTopic(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "manage")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	only, err := precondition(r)
	if err != nil {
		return err
	}
	if err := a.engine.DeleteTopic(r.Context(), ref, only); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
