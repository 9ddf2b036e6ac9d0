package rest

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// BrowseAnswer is one page of messages.
type BrowseAnswer struct {
	// In the order in which they came to the queue.
	Messages []BrowsedMessage `json:"messages" validate:"required"`
	// Where the next page starts; absent on the last one. A page may have fewer messages than were asked for, even none, and still have a cursor.
	Cursor string `json:"cursor,omitzero"`
	// How many messages were looked at for this page. What state and group rule out need not be.
	Scanned int `json:"scanned" validate:"required" example:"100"`
}

// BrowsedMessage is a message as it is found by looking at it.
type BrowsedMessage struct {
	ID string `json:"id" validate:"required" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
	// Removed messages are shown one by one only, by queues that keep a history.
	State engine.State `json:"state" validate:"required" swaggertype:"string" enums:"ready,delayed,leased,dead,removed" example:"ready"`
	// The body, if it is valid UTF-8.
	Body *string `json:"body,omitzero" example:"hello"`
	// The body otherwise.
	BodyBase64  []byte     `json:"body_base64,omitzero" swaggertype:"string" format:"base64"`
	ContentType string     `json:"content_type,omitzero" example:"image/jpeg"`
	Attributes  Attributes `json:"attributes" validate:"required" swaggertype:"object"`
	TraceParent string     `json:"traceparent,omitzero"`
	Group       string     `json:"group,omitzero" example:"customer-7"`
	Priority    int        `json:"priority,omitzero"`
	// Its place in a FIFO queue.
	Sequence uint64 `json:"sequence,omitzero"`
	// Body and attributes, in bytes.
	Size int64 `json:"size" validate:"required" example:"5"`
	// Deliveries over the message's whole life.
	Receives uint32 `json:"receives" validate:"required" example:"1"`
	SentAt   Time   `json:"sent_at,omitzero" swaggertype:"string" format:"date-time"`
	// When it first became available in this queue, within 128 ms; absent if it never was.
	AvailableAt Time `json:"available_at,omitzero" swaggertype:"string" format:"date-time"`
	// When a delayed message will be ready.
	Due Time `json:"due,omitzero" swaggertype:"string" format:"date-time"`
	// When its time to live ends.
	ExpiresAt Time `json:"expires_at,omitzero" swaggertype:"string" format:"date-time"`
	// Set for a leased message.
	Lease *HeldLease `json:"lease,omitzero"`
	// Why it was last given back, or is dead.
	Reason string `json:"reason,omitzero" example:"no stock"`
	// Set for a message that came from another queue.
	Origin *BrowsedOrigin `json:"origin,omitzero"`
}

// HeldLease is a lease as others see it.
type HeldLease struct {
	Token uint64 `json:"token" validate:"required"`
	// As the receiver named itself.
	Consumer  string `json:"consumer,omitzero" example:"worker-7"`
	LeasedAt  Time   `json:"leased_at" validate:"required" swaggertype:"string" format:"date-time"`
	ExpiresAt Time   `json:"expires_at" validate:"required" swaggertype:"string" format:"date-time"`
}

// BrowsedOrigin says where a message that was moved came from.
type BrowsedOrigin struct {
	Queue string `json:"queue" validate:"required" example:"orders"`
	// The reason it died there.
	Reason string `json:"reason,omitzero"`
	// Deliveries before it came here.
	Receives uint32 `json:"receives" validate:"required"`
	MovedAt  Time   `json:"moved_at" validate:"required" swaggertype:"string" format:"date-time"`
}

// attributeParameter is what the query parameters are called that name an attribute.
const attributeParameter = "attribute."

// Browse looks for messages in any state.
//
// @Summary Browse and search messages
// @Description Shows messages in any state, without leasing or counting anything. All conditions apply together; attribute.NAME=VALUE, as often as wanted, compares attributes exactly. A call looks at no more than 64 MiB or 200 ms worth of messages; then it answers with what it found, which may be nothing, and a cursor to go on from.
// @ID browse
// @Tags messages
// @Produce json
// @Param q path string true "Queue name"
// @Param state query string false "ready, delayed, leased or dead; several with commas; any if left out"
// @Param group query string false "The messages of this group; given without a value, those without a group"
// @Param contains query string false "Part of the body, byte by byte"
// @Param attribute.NAME query string false "The exact value of the attribute NAME"
// @Param limit query int false "Messages a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} BrowseAnswer
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages [get]
func (a *API) Browse(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	req, params, err := browseRequest(r)
	if err != nil {
		return err
	}
	found, err := a.engine.Browse(r.Context(), ref, req)
	if err != nil {
		return err
	}
	// A body is in memory as a text, then in the encoder's buffer, which grows by doubling, and then in the answer.
	size := int64(0)
	for i := range found.Views {
		v := &found.Views[i]
		size += 4*(messageBytes+v.Size+attributeBytes*int64(len(v.Attributes))) + 3*int64(jsonwire.StringLen(v.Body)-len(v.Body))
	}
	if err := exchange.Answering(r, size); err != nil {
		return err
	}
	page := BrowseAnswer{Messages: make([]BrowsedMessage, len(found.Views)), Scanned: found.Scanned}
	for i := range found.Views {
		page.Messages[i] = browsedOf(&found.Views[i])
	}
	if found.Next != "" {
		page.Cursor = params.encodeCursor(r, string(found.Next))
	}
	return reply(w, http.StatusOK, page)
}

func browseRequest(r *http.Request) (engine.BrowseRequest, parameters, error) {
	params, err := query(r, "state", "group", "contains", attributeParameter+anything, "limit", "cursor")
	if err != nil {
		return engine.BrowseRequest{}, nil, err
	}
	limit, from, err := params.page(r)
	if err != nil {
		return engine.BrowseRequest{}, nil, err
	}
	filter := engine.Filter{States: statesOf(params["state"]), Contains: params["contains"]}
	for name, value := range params {
		if name == "group" {
			filter.Group = new(value)
		}
		if attribute, ok := strings.CutPrefix(name, attributeParameter); ok {
			if filter.Attributes == nil {
				filter.Attributes = make(map[string]string)
			}
			filter.Attributes[attribute] = value
		}
	}
	return engine.BrowseRequest{Filter: filter, Limit: limit, From: engine.Place(from)}, params, nil
}

// statesOf reads states with commas between them; none for any.
func statesOf(given string) []engine.State {
	if given == "" {
		return nil
	}
	var states []engine.State
	for state := range strings.SplitSeq(given, ",") {
		states = append(states, engine.State(strings.TrimSpace(state)))
	}
	return states
}

// chosenStates are those that a request names which changes messages: an empty name is none of them, so that a variable
// that was not set does not choose all.
func chosenStates(given *string) []engine.State {
	switch {
	case given == nil:
		return nil
	case *given == "":
		return []engine.State{""}
	}
	return statesOf(*given)
}

func browsedOf(v *engine.View) BrowsedMessage {
	m := BrowsedMessage{
		ID: v.ID.String(), State: v.State,
		ContentType: v.ContentType, Attributes: v.Attributes, TraceParent: v.TraceParent,
		Group: v.Group, Priority: v.Priority, Sequence: v.Sequence, Size: v.Size, Receives: v.Receives, Reason: v.Reason,
		SentAt: Time(v.SentAt), AvailableAt: Time(v.AvailableAt), Due: Time(v.Due), ExpiresAt: Time(v.ExpiresAt),
	}
	switch {
	case v.State == engine.StateRemoved:
	case utf8.Valid(v.Body):
		m.Body = new(string(v.Body))
	default:
		m.BodyBase64 = v.Body
	}
	if v.State == engine.StateLeased {
		m.Lease = &HeldLease{
			Token: v.Lease.Token, Consumer: v.Consumer,
			LeasedAt: Time(v.LeasedAt), ExpiresAt: Time(v.Lease.ExpiresAt),
		}
	}
	if o := v.Origin; o != nil {
		m.Origin = &BrowsedOrigin{Queue: o.Queue, Reason: o.Reason, Receives: o.Receives, MovedAt: Time(o.MovedAt)}
	}
	return m
}
