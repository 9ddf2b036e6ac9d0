package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
)

// MessageDetail is one message and what happened to it.
type MessageDetail struct {
	BrowsedMessage
	// The oldest first; of deliveries the last 16 in this queue.
	Timeline []Event `json:"timeline" validate:"required"`
}

// Event is one thing that happened to a message.
type Event struct {
	// Sent; moved here from another queue, the last time; delivered; removed.
	Event engine.EventKind `json:"event" validate:"required" swaggertype:"string" enums:"sent,moved,delivered,removed" example:"delivered"`
	// When it happened; of a delivery, when it began.
	At Time `json:"at" validate:"required" swaggertype:"string" format:"date-time"`
	// When a delivery ended; absent while it is leased.
	EndedAt Time `json:"ended_at,omitzero" swaggertype:"string" format:"date-time"`
	// The receiver of a delivery, as it named itself.
	Consumer string `json:"consumer,omitzero" example:"worker-7"`
	// How a delivery ended (leased: not yet), or how the message was removed.
	Outcome engine.Ending `json:"outcome,omitzero" swaggertype:"string" enums:"leased,nacked,lease_ended,dead,acked,expired,evicted,moved,purged" example:"nacked"`
	// Why a delivery was given back, or why a moved message died where it was.
	Reason string `json:"reason,omitzero" example:"no stock"`
	// The queue that a moved message came from, and its deliveries up to then.
	Queue    string `json:"queue,omitzero" example:"orders"`
	Receives uint32 `json:"receives,omitzero"`
}

// Look shows one message and what happened to it.
//
// @Summary Show a message
// @Description One message in any state, and its timeline: when it was sent, where it was moved from, its last 16 deliveries in this queue and how they ended. Nothing is leased or counted. A message that was removed is 404, unless the queue keeps a history and still remembers it; then its state is "removed" and it has no body.
// @ID getMessage
// @Tags messages
// @Produce json
// @Param q path string true "Queue name"
// @Param id path string true "The message's id"
// @Success 200 {object} MessageDetail
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages/id/{id} [get]
func (a *API) Look(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	found, err := a.engine.Look(r.Context(), ref, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, detailOf(&found))
}

// messageID is the one in the path. What cannot be an id is not found, like one that is not here.
func messageID(r *http.Request) (engine.MessageID, error) {
	given := pathValue(r, "id")
	id, ok := engine.ParseMessageID(given)
	if !ok {
		return id, &engine.Error{
			Code: engine.CodeNotFound, Outcome: engine.NotApplied,
			Detail: "This is not the id of a message: it has the form of a UUID, as send and receive give it.",
		}
	}
	return id, nil
}

func detailOf(found *engine.Looked) MessageDetail {
	d := MessageDetail{BrowsedMessage: browsedOf(&found.View), Timeline: make([]Event, len(found.Timeline))}
	for i, e := range found.Timeline {
		d.Timeline[i] = Event{
			Event: e.Kind, At: Time(e.At), EndedAt: Time(e.EndedAt), Consumer: e.Consumer,
			Outcome: e.Outcome, Reason: e.Reason, Queue: e.Queue, Receives: e.Receives,
		}
	}
	return d
}
