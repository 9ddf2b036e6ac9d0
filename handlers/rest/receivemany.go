package rest

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// ReceiveManyRequest says which queues to lease messages of, and how many together.
type ReceiveManyRequest struct {
	// 1 to 16 names. Without weights a later queue gives messages only when those before it have too few.
	Queues []string `json:"queues" validate:"required" example:"urgent,bulk"`
	// A number from 1 to 1000 for each queue, by name or as a list: which queue is asked first is drawn with each receive,
	// with a chance in proportion to it, then which of the others is next, and so on.
	Weights Weights `json:"weights,omitzero" swaggertype:"object,integer"`
	// From 1 to 1000, of all queues together.
	Max *int `json:"max,omitzero" example:"10"`
	// Defaults to the longest of the queues'.
	Wait *Duration `json:"wait,omitzero" swaggertype:"string" extensions:"x-duration" example:"20s"`
	// Defaults to that of each queue.
	Visibility *Duration `json:"visibility,omitzero" swaggertype:"string" extensions:"x-duration" example:"30s"`
	// Free text that names the receiver.
	Consumer string `json:"consumer,omitzero" example:"worker-7"`
}

// Weights are of the queues of one request: by name, or in their order.
type Weights struct {
	named map[string]int
	list  []int
}

// ReceiveManyAnswer holds the leased messages, those of the queue that was asked first first; none is not an error.
type ReceiveManyAnswer struct {
	Messages []QueueMessage `json:"messages" validate:"required"`
}

// QueueMessage is one delivery of one of several queues.
type QueueMessage struct {
	Message
	// The queue it was received from, in which it is acked, nacked and extended.
	Queue string `json:"queue" validate:"required" example:"urgent"`
}

// ReceiveMany leases messages of several queues, waiting for the first of any if asked to.
//
// @Summary Receive messages of several queues
// @Description Leases up to max messages of several queues, in their order or by weight, and waits for the first of any of them if there is none. Each message says which queue it is from. All the messages but the first fit into 16 MiB. The token needs the scope to receive from each of the queues. A client that hangs up before the answer is fully written leases nothing.
// @ID receiveMany
// @Tags messages
// @Accept json
// @Produce json
// @Param Prefer header string false "wait=<seconds> is used when no wait is given"
// @Param request body ReceiveManyRequest true "What to receive"
// @Success 200 {object} ReceiveManyAnswer
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/receive [post]
func (a *API) ReceiveMany(w http.ResponseWriter, r *http.Request) error {
	var body ReceiveManyRequest
	if err := a.decode(w, r, &body); err != nil {
		return err
	}
	if body.Wait == nil {
		body.Wait = preferredWait(r)
	}
	req, err := a.receiveManyOf(r, &body)
	if err != nil {
		return err
	}
	if req.Wait == nil || *req.Wait > 0 {
		exchange.UnhurriedRead(w)
	}
	got, err := a.engine.ReceiveMany(r.Context(), req)
	if err != nil {
		return err
	}
	size := receivedSize(got.Parts)
	return a.exchange.HandOver(w, r, got.Parts, answerMemory(size), func() error { return writeReceived(w, got.Parts, size, true) })
}

// receiveManyOf is the request as the engine takes it, if the caller may receive from each queue.
func (a *API) receiveManyOf(r *http.Request, body *ReceiveManyRequest) (engine.ReceiveManyRequest, error) {
	req := engine.ReceiveManyRequest{ReceiveRequest: engine.ReceiveRequest{
		Max:        1,
		Wait:       (*time.Duration)(body.Wait),
		Visibility: (*time.Duration)(body.Visibility),
		Consumer:   body.Consumer,
	}}
	if body.Max != nil {
		if req.Max = *body.Max; req.Max < 1 {
			return req, invalid("max", "Give a number from 1 to 1000.")
		}
	}
	if body.Queues == nil {
		return req, invalid("queues", "The list queues is missing: name 1 to 16 queues to receive from.")
	}
	p := a.principal(r)
	for _, name := range body.Queues {
		if err := p.Require("queues", "receive", name); err != nil {
			return req, err
		}
		req.Queues = append(req.Queues, engine.Ref{Tenant: p.Tenant, Name: name})
	}
	var err error
	req.Weights, err = body.Weights.of(body.Queues)
	return req, err
}

// of gives one weight for each queue, or none at all.
func (w Weights) of(queues []string) ([]int, error) {
	if w.named == nil {
		return w.list, nil
	}
	list := make([]int, len(queues))
	for i, name := range queues {
		weight, ok := w.named[name]
		if !ok {
			return nil, invalid("weights", fmt.Sprintf("Give a weight for each queue; %s has none.", name))
		}
		list[i] = weight
	}
	for name := range w.named {
		if !slices.Contains(queues, name) {
			return nil, invalid("weights", fmt.Sprintf("There is a weight for %q, which is none of the queues.", name))
		}
	}
	return list, nil
}

// UnmarshalJSONFrom reads an object or a list of whole numbers; null is none.
func (w *Weights) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '[':
		w.list = []int{}
		return eachWeight(dec, func() error {
			var n int
			err := json.UnmarshalDecode(dec, &n)
			w.list = append(w.list, n)
			return err
		})
	case '{':
		w.named = map[string]int{}
		return eachWeight(dec, func() error {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			key, n := name.String(), 0
			err = json.UnmarshalDecode(dec, &n)
			w.named[key] = n
			return err
		})
	case 'n':
		return dec.SkipValue()
	default:
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return &valueError{reason: "must be an object or a list of whole numbers"}
	}
}

// eachWeight reads what is in an object or a list, of which there is one for each queue at most.
func eachWeight(dec *jsontext.Decoder, read func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; dec.PeekKind() != ']' && dec.PeekKind() != '}'; n++ {
		if n == engine.MaxQueues {
			return &valueError{reason: fmt.Sprintf("has more than %d entries", engine.MaxQueues)}
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
