package rest

import "net/http"

// ListTopics shows the topics that the caller may read, by name. A page may have fewer than were asked for, even none,
// and still have a cursor.
//
// @Summary List topics
// @Description The topics that the caller may read, by name. A page may have fewer entries than were asked for, even none, and still have a cursor.
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
	limit, after, err := params.page()
	if err != nil {
		return err
	}
	p := a.principal(r)
	found, err := a.engine.Topics(r.Context(), p.Tenant, params["prefix"], after, limit)
	if err != nil {
		return err
	}
	page := TopicList{Topics: []Topic{}}
	for _, t := range found {
		if p.Allows("topics", "read", t.Ref.Name) {
			page.Topics = append(page.Topics, topicOf(t))
		}
	}
	if len(found) == limit {
		page.Cursor = encodeCursor(found[limit-1].Ref.Name)
	}
	return reply(w, http.StatusOK, page)
}
