package rest

import "net/http"

// ListTopics shows the topics that the caller may read, by name.
//
// @Summary List topics
// @Description The topics that the caller may read, by name.
// @ID listTopics
// @Tags topics
// @Produce json
// @Param prefix query string false "Only topics whose name starts with this"
// @Param limit query int false "Entries a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} TopicList
// @Failure 400,401,503,default {object} problem.Document
// @Security bearer
// @Router /v1/topics [get]
func (a *API) ListTopics(w http.ResponseWriter, r *http.Request) error {
	params, err := query(r, "prefix", "limit", "cursor")
	if err != nil {
		return err
	}
	limit, after, err := params.page(r)
	if err != nil {
		return err
	}
	p := a.principal(r)
	visible := func(name string) bool { return p.Allows("topics", "read", name) }
	found, err := a.engine.Topics(r.Context(), p.Tenant, params["prefix"], after, limit+1, visible)
	if err != nil {
		return err
	}
	page := TopicList{}
	if len(found) > limit { // there is another page
		found = found[:limit]
		page.Cursor = params.encodeCursor(r, found[limit-1].Ref.Name)
	}
	page.Topics = make([]Topic, len(found))
	for i, t := range found {
		page.Topics[i] = topicOf(t)
	}
	return reply(w, http.StatusOK, page)
}
