package rest

import "net/http"

// List shows the queues that the caller may read, by name.
//
// @Summary List queues
// @Description The queues that the caller may read, by name.
// @ID listQueues
// @Tags queues
// @Produce json
// @Param prefix query string false "Only queues whose name starts with this"
// @Param limit query int false "Entries a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} QueueList
// @Failure 400,401,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues [get]
func (a *API) List(w http.ResponseWriter, r *http.Request) error {
	params, err := query(r, "prefix", "limit", "cursor")
	if err != nil {
		return err
	}
	limit, after, err := params.page(r)
	if err != nil {
		return err
	}
	p := a.principal(r)
	visible := func(name string) bool { return p.Allows("queues", "read", name) }
	found, err := a.engine.Queues(r.Context(), p.Tenant, params["prefix"], after, limit+1, visible)
	if err != nil {
		return err
	}
	page := QueueList{}
	if len(found) > limit { // there is another page
		found = found[:limit]
		page.Cursor = params.encodeCursor(r, found[limit-1].Ref.Name)
	}
	page.Queues = make([]Queue, len(found))
	for i, q := range found {
		page.Queues[i] = queueOf(q)
	}
	return reply(w, http.StatusOK, page)
}
