package rest

import (
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// GroupList is one page of groups.
type GroupList struct {
	Groups []Group `json:"groups" validate:"required"`
	// Where the next page starts; absent on the last one.
	Cursor string `json:"cursor,omitzero"`
}

// Group is a group with messages.
type Group struct {
	// Empty for the messages without a group.
	Name string `json:"name" validate:"required" example:"customer-7"`
	// All its messages, in whatever state.
	Depth  int64       `json:"depth" validate:"required" example:"12"`
	Counts GroupCounts `json:"counts" validate:"required"`
	// The age of the message that the group offers next, since it first became available; null when none is ready.
	HeadAge *Duration `json:"head_age" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"12s"`
	// The id of that message, or of the first that keeps a FIFO group locked; null when there is none.
	Head *string `json:"head" validate:"required" extensions:"x-nullable" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
	// When the leases and backoffs end that keep a FIFO group locked; absent when it is not.
	LockedUntil Time `json:"locked_until,omitzero" swaggertype:"string" format:"date-time"`
}

// GroupCounts are the messages of a group by state.
type GroupCounts struct {
	Ready   int64 `json:"ready" validate:"required"`
	Leased  int64 `json:"leased" validate:"required"`
	Delayed int64 `json:"delayed" validate:"required"`
	Dead    int64 `json:"dead" validate:"required"`
}

// Groups lists the groups that have messages.
//
// @Summary List groups
// @Description The groups that have messages, by name, with their depth, the age of their head and, in a FIFO queue, until when they are locked. Only queues that are FIFO or fair, or have limits for each group, know their groups; others answer 409.
// @ID listGroups
// @Tags groups
// @Produce json
// @Param q path string true "Queue name"
// @Param limit query int false "Entries a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} GroupList
// @Failure 400,401,403,404,409,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/groups [get]
func (a *API) Groups(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	params, err := query(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, name, err := params.page(r)
	if err != nil {
		return err
	}
	var after *string
	if params["cursor"] != "" { // the empty name is one, too
		after = &name
	}
	found, err := a.engine.Groups(r.Context(), ref, after, limit)
	if err != nil {
		return err
	}
	page := GroupList{Groups: make([]Group, len(found))}
	for i := range found {
		page.Groups[i] = groupOf(&found[i])
	}
	more := false
	if len(found) == limit {
		next, err := a.engine.Groups(r.Context(), ref, &found[limit-1].Name, 1)
		if err != nil {
			return err
		}
		more = len(next) > 0
	}
	if more {
		page.Cursor = params.encodeCursor(r, found[limit-1].Name)
	}
	return reply(w, http.StatusOK, page)
}

func groupOf(g *engine.Group) Group {
	out := Group{
		Name: g.Name, Depth: g.Depth(),
		Counts:      GroupCounts{Ready: g.Ready, Leased: g.Leased, Delayed: g.Delayed, Dead: g.Dead},
		LockedUntil: Time(g.LockedUntil),
	}
	if g.HeadAge >= 0 {
		out.HeadAge = new(Duration(g.HeadAge.Truncate(time.Millisecond)))
	}
	if g.Head != nil {
		out.Head = new(g.Head.String())
	}
	return out
}

// unnamed is how a path names the group of the messages without one. No group has such a name.
const unnamed = "\x00"

// group is the group in the path of a request whose sender may manage its queue.
func (a *API) group(r *http.Request) (engine.Ref, string, error) {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return engine.Ref{}, "", err
	}
	name := pathValue(r, "g")
	if name == unnamed {
		name = ""
	}
	return ref, name, nil
}
