package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"
	"unsafe"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// Send appends one message or many to a queue. An answer means that they are durable.
//
// @Summary Send one message or many
// @Description With Content-Type application/json the body describes one message, or up to 1000 in "messages"; the answer then has a result for each, in order: a message that is missing or too large, or whose delay, deliver_at or base64 means nothing, is refused alone and the others are sent, while broken JSON, unknown fields and values of another JSON type refuse the whole request. The same holds for a body labeled as a form (which curl -d does) that is a JSON object with body, body_base64 or messages and nothing but fields of this call. Any other body is itself the message, with attributes in Dabba-Attr-<name> headers, whose names become lower case; body and type are given back as they are on receive (no type for a form, or if there was none). An answer means that the messages are durable; a message that is a duplicate by its dedup_id is not sent again and has the id of the first one. A full queue refuses messages (queue_full: 429 for one message, an error in the results of many), waits for room or drops messages, as its limits say.
// @ID send
// @Tags messages
// @Accept json,octet-stream
// @Produce json
// @Param q path string true "Queue name"
// @Param Idempotency-Key header string false "1 to 128 characters; repeating a request with the same key within 10 minutes returns the first outcome"
// @Param traceparent header string false "W3C trace context, handed back on receive"
// @Param delay query string false "For a raw body: holds the message back for this long"
// @Param deliver_at query string false "For a raw body: holds the message back until then (RFC 3339)"
// @Param group query string false "For a raw body: what the message belongs to"
// @Param dedup_id query string false "For a raw body: the deduplication id"
// @Param priority query int false "For a raw body: from 0 to 9, which comes first"
// @Param ttl query string false "For a raw body: how long from now the message may be delivered"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the queue says" Enums(leader, all)
// @Param Dabba-Group header string false "The same as group"
// @Param Dabba-Dedup-Id header string false "The same as dedup_id"
// @Param Dabba-Priority header int false "The same as priority"
// @Param Dabba-Ttl header string false "The same as ttl"
// @Param Dabba-Delay header string false "The same as delay"
// @Param Dabba-Deliver-At header string false "The same as deliver_at"
// @Param message body SendRequest true "The message, or the messages"
// @Success 200 {object} SendAnswer "The message is durable; or, with messages, the result of each"
// @Success 299 {object} SendManyAnswer
// @Failure 400,401,403,404,413,415,422,429,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages [post]
func (a *API) Send(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "send")
	if err != nil {
		return err
	}
	key, err := a.idempotencyKey(r)
	if err != nil {
		return err
	}
	body, err := a.exchange.Read(w, r, a.sendLimit(ref))
	if err != nil {
		return err
	}
	defer body.Release()

	var messages []engine.Message
	many := false
	if describedSend.describes(r, body.Bytes) {
		messages, many, err = readMessages(r, body)
	} else {
		messages, err = rawMessage(r, body.Bytes)
	}
	if err != nil {
		return err
	}
	if trace := traceParent(r); trace != "" {
		for i := range messages {
			messages[i].TraceParent = trace
		}
	}
	sent, err := a.engine.Send(r.Context(), ref, engine.SendRequest{
		Messages: messages, Key: key, Acks: askedAcks(r),
		// The deadline under which the request was read would end a longer wait.
		Waits: func() { exchange.UnhurriedRead(w) },
	})
	if err != nil {
		return err
	}
	if many {
		return sentMany(w, sent)
	}
	return sentOne(w, sent)
}

// sendLimit is the most a send to the queue may be: its largest message in base64, and something around it.
func (a *API) sendLimit(ref engine.Ref) exchange.Limit {
	return func(ctx context.Context) (int64, error) {
		q, err := a.engine.Queue(ctx, ref)
		if err != nil {
			return 0, err
		}
		const around = 1 << 20
		return max(exchange.MaxBody, q.Config.MaxMessageBytes/3*4+around), nil
	}
}

// readMessages reads what the body describes. The messages share memory with it.
func readMessages(r *http.Request, body *exchange.Body) (messages []engine.Message, many bool, err error) {
	if r.URL.RawQuery != "" {
		if _, err := query(r, acksParameter); err != nil {
			return nil, false, err
		}
	}
	if err := body.Decoding(jsonwire.Values(body.Bytes)); err != nil {
		return nil, false, err
	}
	if messages, many, ok := scanSend(body.Bytes); ok {
		return messages, many, nil
	}
	if err := body.DecodingJSON(); err != nil {
		return nil, false, err
	}
	return decodeSend(body.Bytes)
}

// decodeSend is the strict decoder of sends: it takes everything that is allowed and explains what is not.
func decodeSend(body []byte) (messages []engine.Message, many bool, err error) {
	var req SendRequest
	if err := decode(body, &req); err != nil {
		return nil, false, err
	}
	if req.Messages == nil {
		one := req.NewMessage.engine("")
		if one.Refused != nil {
			return nil, false, one.Refused
		}
		return []engine.Message{one}, false, nil
	}
	if !req.NewMessage.empty() {
		return nil, false, invalid("messages", "Give either one message or the list messages, not both.")
	}
	messages = make([]engine.Message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = m.engine("messages[" + strconv.Itoa(i) + "].")
	}
	return messages, true, nil
}

func (m *NewMessage) empty() bool {
	return m.Body == nil && m.BodyBase64 == nil && m.Attributes == nil && m.Delay == nil && m.DeliverAt == nil &&
		m.Group == "" && m.DedupID == "" && m.Priority == 0 && m.TTL == nil
}

// engine is the message as the engine takes it, refused if need be; at is where it stands in the request.
func (m *NewMessage) engine(at string) engine.Message {
	if m.fault.refused != nil {
		return engine.Message{Refused: m.fault.refused, Body: m.fault.sent}
	}
	out := engine.Message{
		Body:       m.BodyBase64,
		Attributes: m.Attributes,
		Delay:      (*time.Duration)(m.Delay),
		DeliverAt:  m.DeliverAt,
		Group:      m.Group,
		DedupID:    m.DedupID,
		Priority:   m.Priority,
		TTL:        (*time.Duration)(m.TTL),
	}
	switch {
	case m.Body != nil && m.BodyBase64 != nil:
		out.Refused = invalid(at+"body", "Give the message either as body or as body_base64, not both.")
	case m.Body != nil:
		out.Body = bytesOf(*m.Body)
	case m.BodyBase64 == nil:
		out.Refused = invalid(at+"body", "The message is missing: give it as body (a string) or body_base64 (bytes).")
	}
	return out
}

// bytesOf is the text as bytes for a reader who does not change them. A body is too much to be copied.
func bytesOf(s string) []byte {
	if s == "" {
		return []byte{} // not nil, which is no text at all
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

func sentOne(w http.ResponseWriter, sent engine.SendAnswer) error {
	one := sent.Outcomes[0]
	if one.Err != nil {
		return fieldOf(one.Err, "messages[0].", "")
	}
	out := exchange.NewAnswer()
	defer out.Release()
	out.Bytes = appendSent(out.Bytes, &one, sent.Duplicate)
	_ = send(w, out, http.StatusOK) // a client that is gone repeats with its key
	return nil
}

func sentMany(w http.ResponseWriter, sent engine.SendAnswer) error {
	out := exchange.NewAnswer()
	defer out.Release()
	b := append(out.Bytes, `{"results":[`...)
	for i := range sent.Outcomes {
		if i > 0 {
			b = append(b, ',')
		}
		if o := &sent.Outcomes[i]; o.Err != nil {
			b = append(appendItemError(append(b, '{'), o.Err), '}')
		} else {
			b = appendSent(b, o, sent.Duplicate)
		}
	}
	b = append(b, ']')
	if sent.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	out.Bytes = append(b, '}')
	_ = send(w, out, http.StatusOK) // a client that is gone repeats with its key
	return nil
}

// appendSent appends what became of a message that was not refused; repeat says that it is the outcome of an earlier
// request.
func appendSent(b []byte, o *engine.SendOutcome, repeat bool) []byte {
	if o.Dropped {
		b = append(b, `{"dropped":true`...)
	} else {
		b = appendID(append(b, `{"id":`...), o.ID)
	}
	if o.Sequence > 0 {
		b = appendUint(append(b, `,"sequence":`...), o.Sequence)
	}
	if o.Duplicate || repeat {
		b = append(b, `,"duplicate":true`...)
	}
	return append(b, '}')
}

func appendID(b []byte, id engine.MessageID) []byte {
	b = append(b, '"')
	b, _ = id.AppendText(b) // never fails
	return append(b, '"')
}

// appendItemError appends the member that says why an item was refused.
func appendItemError(b []byte, err *engine.Error) []byte {
	b = jsonwire.AppendString(append(b, `"error":{"code":`...), string(err.Code))
	b = jsonwire.AppendString(append(b, `,"detail":`...), err.Detail)
	if err.Field != "" {
		b = jsonwire.AppendString(append(b, `,"field":`...), err.Field)
	}
	return append(b, '}')
}
