package rest

import "net/http"

// PurgeGroup removes all messages of a group.
//
// @Summary Purge a group
// @Description Removes all messages of a group, in whatever state, and so frees it; complete when answered.
// @ID purgeGroup
// @Tags groups
// @Produce json
// @Param q path string true "Queue name"
// @Param g path string true "Group, percent-encoded; %00 for the messages without one"
// @Success 200 {object} PurgeAnswer
// @Failure 400,401,403,404,409,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/groups/{g}/purge [post]
func (a *API) PurgeGroup(w http.ResponseWriter, r *http.Request) error {
	ref, group, err := a.group(r)
	if err != nil {
		return err
	}
	if err := a.decode(w, r, &struct{}{}); err != nil {
		return err
	}
	purged, err := a.engine.PurgeGroup(r.Context(), ref, group)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, PurgeAnswer{Purged: purged})
}
