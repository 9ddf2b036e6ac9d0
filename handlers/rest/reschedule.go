package rest

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// RescheduleRequest says when a message is to be ready instead. With null for a field, and none for the other, that is now.
type RescheduleRequest struct {
	// From now.
	Delay *Duration `json:"delay,omitzero" swaggertype:"string" extensions:"x-duration,x-nullable" example:"30s"`
	// The later of the two counts; a time that has passed is now.
	DeliverAt *time.Time `json:"deliver_at,omitzero" format:"date-time" extensions:"x-nullable" example:"2026-11-29T16:50:00Z"`
}

// Reschedule makes a ready or delayed message ready at another time.
//
// @Summary Reschedule a message
// @Description A JSON merge patch (RFC 7396) of when a message is delivered: "delay" from now or "deliver_at"; null or 0 make it ready at once. Without a field nothing changes. A message that is leased or dead is 409. Answers with the message as it is then.
// @ID patchMessage
// @Tags messages
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param id path string true "The message's id"
// @Param request body RescheduleRequest true "When"
// @Success 200 {object} MessageDetail
// @Failure 400,401,403,404,409,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages/id/{id} [patch]
func (a *API) Reschedule(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	to, err := a.readReschedule(w, r)
	if err != nil {
		return err
	}
	var found engine.Looked
	if to == nil {
		found, err = a.engine.Look(r.Context(), ref, id)
	} else {
		found, err = a.engine.Reschedule(r.Context(), ref, id, *to)
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, detailOf(&found))
}

// readReschedule gives nil for a patch that changes nothing.
func (a *API) readReschedule(w http.ResponseWriter, r *http.Request) (*engine.RescheduleRequest, error) {
	if _, err := query(r); err != nil {
		return nil, err
	}
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	if err := body.DecodingJSON(); err != nil {
		return nil, err
	}
	var req RescheduleRequest
	if err := decode(body.Bytes, &req); err != nil || len(body.Bytes) == 0 {
		return nil, err
	}
	var given map[string]jsontext.Value // null is not the same as nothing
	if err := json.Unmarshal(body.Bytes, &given); err != nil || len(given) == 0 {
		return nil, err
	}
	return &engine.RescheduleRequest{Delay: (*time.Duration)(req.Delay), DeliverAt: req.DeliverAt}, nil
}
