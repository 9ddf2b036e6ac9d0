package rest

import "net/http"

// List shows the queues that the caller may read, by name. A page may have fewer than were asked for, even none,
// and still have a cursor.
//
// @Summary List queues
// @Description The queues that the caller may read, by name. A page may have fewer entries than were asked for, even none, and still have a cursor.
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
	limit, after, err := params.page()
	if err != nil {
		return err
	}
	p := a.principal(r)
	found, err := a.engine.Queues(r.Context(), p.Tenant, params["prefix"], after, limit)
	if err != nil {
		return err
	}
	page := QueueList{Queues: []Queue{}}
	for _, q := range found {
		if p.Allows("queues", "read", q.Ref.Name) {
			page.Queues = append(page.Queues, queueOf(q))
		}
	}
	if len(found) == limit {
		page.Cursor = encodeCursor(found[limit-1].Ref.Name)
	}
	return reply(w, http.StatusOK, page)
}
