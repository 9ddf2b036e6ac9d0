package rest

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// Receive leases messages, waiting for the first if asked to. What a client hung up on is given back uncounted.
//
// @Summary Receive messages
// @Description Leases up to max messages, in the order of the queue (the oldest first, unless it is FIFO, fair or has priorities), and waits for the first if there is none. A queue with ack: on_receive has them acked by that. Every field may be a query parameter instead. With Accept: application/octet-stream and max=1 the answer is the message's body, with Dabba-Id, Dabba-Receipt, Dabba-Receives and Dabba-Attr-<name> headers, or 204. Attribute names have no case there, types are left out, and Dabba-Omitted-Attributes counts the attributes that cannot be headers (names or values that are not plain text, names that differ in case alone); JSON has all of them. A client that hangs up before the answer is fully written leases nothing.
// @ID receive
// @Tags messages
// @Accept json
// @Produce json,octet-stream
// @Param q path string true "Queue name"
// @Param max query int false "From 1 to 1000; 1 when left out"
// @Param wait query string false "How long to wait for the first message; defaults to the queue's"
// @Param visibility query string false "How long the lease lasts; defaults to the queue's"
// @Param consumer query string false "Free text that names the receiver"
// @Param attempt_id query string false "Makes the call repeatable: as long as all its messages are leased and no lease was extended, a repeat with the same id gives them again, with the same receipts"
// @Param Prefer header string false "wait=<seconds> is used when no wait is given"
// @Param request body ReceiveRequest false "What to receive"
// @Success 200 {object} ReceiveAnswer
// @Header 200 {string} Dabba-Id "With a raw body: the message's id"
// @Header 200 {string} Dabba-Receipt "With a raw body: the proof of this delivery, for ack, nack and extend"
// @Header 200 {integer} Dabba-Receives "With a raw body: deliveries over the message's whole life"
// @Header 200 {string} Dabba-Sent-At "With a raw body: when it was sent (RFC 3339)"
// @Header 200 {integer} Dabba-Lease-Token "With a raw body: rises with every delivery"
// @Header 200 {string} Dabba-Lease-Expires-At "With a raw body: when the lease ends (RFC 3339)"
// @Header 200 {string} Dabba-Group "With a raw body: its group"
// @Header 200 {string} Dabba-Dedup-Id "With a raw body: what the sender gave as dedup_id"
// @Header 200 {integer} Dabba-Priority "With a raw body: its priority, unless that is 0"
// @Header 200 {string} Dabba-Expires-At "With a raw body: when its time to live ends (RFC 3339)"
// @Header 200 {integer} Dabba-Sequence "With a raw body: its place in a FIFO queue"
// @Header 200 {integer} Dabba-Omitted-Attributes "With a raw body: how many attributes have no header"
// @Success 204 "No message, for a raw body"
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/receive [post]
func (a *API) Receive(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	req, err := a.readReceive(w, r)
	if err != nil {
		return err
	}
	raw := wantsRaw(r)
	if raw && req.Max > 1 {
		return invalid("max", "A raw body is one message: ask for max=1, or for JSON.")
	}
	got, err := a.receive(w, r, ref, req)
	if err != nil {
		return err
	}
	parts := []*engine.Received{got}
	if raw {
		return a.exchange.HandOver(w, r, parts, 0, func() error { return writeRaw(w, got) })
	}
	size := receivedSize(parts)
	return a.exchange.HandOver(w, r, parts, answerMemory(size), func() error { return writeReceived(w, parts, size, false) })
}

func (a *API) receive(w http.ResponseWriter, r *http.Request, ref engine.Ref, req engine.ReceiveRequest) (*engine.Received, error) {
	if req.Wait == nil || *req.Wait > 0 {
		exchange.UnhurriedRead(w)
	}
	return a.engine.Receive(r.Context(), ref, req)
}

// readReceive takes each setting from the body, else from the query, else from a Prefer header.
func (a *API) readReceive(w http.ResponseWriter, r *http.Request) (engine.ReceiveRequest, error) {
	var req ReceiveRequest
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return engine.ReceiveRequest{}, err
	}
	if err = body.DecodingJSON(); err == nil {
		err = decode(body.Bytes, &req)
	}
	body.Release() // a wait may be long
	if err != nil {
		return engine.ReceiveRequest{}, err
	}
	if err := req.fromQuery(r); err != nil {
		return engine.ReceiveRequest{}, err
	}
	if req.Wait == nil {
		req.Wait = preferredWait(r)
	}
	most := 1
	if req.Max != nil {
		if most = *req.Max; most < 1 {
			return engine.ReceiveRequest{}, invalid("max", "Give a number from 1 to 1000.")
		}
	}
	return engine.ReceiveRequest{
		Max:        most,
		Wait:       (*time.Duration)(req.Wait),
		Visibility: (*time.Duration)(req.Visibility),
		Consumer:   req.Consumer,
		AttemptID:  req.AttemptID,
	}, nil
}

func (req *ReceiveRequest) fromQuery(r *http.Request) error {
	params, err := query(r, "max", "wait", "visibility", "consumer", "attempt_id")
	if err != nil || params == nil {
		return err
	}
	for name, given := range map[string]bool{
		"max":        req.Max != nil,
		"wait":       req.Wait != nil,
		"visibility": req.Visibility != nil,
		"consumer":   req.Consumer != "",
		"attempt_id": req.AttemptID != "",
	} {
		if _, again := params[name]; again && given {
			return invalid(name, "Give "+name+" in the body or in the query, not in both.")
		}
	}
	if n, err := params.number("max"); err != nil {
		return err
	} else if n != nil {
		req.Max = n
	}
	if d, err := params.duration("wait"); err != nil {
		return err
	} else if d != nil {
		req.Wait = d
	}
	if d, err := params.duration("visibility"); err != nil {
		return err
	} else if d != nil {
		req.Visibility = d
	}
	if consumer, ok := params["consumer"]; ok {
		req.Consumer = consumer
	}
	if id, ok := params["attempt_id"]; ok {
		req.AttemptID = id
	}
	return nil
}

// preferredWait is the wait of a Prefer header (RFC 7240, section 4.3: whole seconds), or nil. Preferences that are
// not understood are passed over, as the RFC says.
func preferredWait(r *http.Request) *Duration {
	for _, header := range r.Header["Prefer"] {
		for preference := range strings.SplitSeq(header, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			if d, ok := parseDuration(strings.Trim(strings.TrimSpace(value), `"`)); ok && d >= 0 {
				return new(Duration(min(d, engine.MaxWait)))
			}
		}
	}
	return nil
}

// receivedSize is about how many bytes the messages have that an answer shows.
func receivedSize(parts []*engine.Received) (size int64) {
	for _, part := range parts {
		for i := range part.Messages {
			d := &part.Messages[i]
			size += messageBytes + int64(len(d.Body))
			for j := range d.Attributes {
				size += attributeBytes + int64(len(d.Attributes[j].Name)+len(d.Attributes[j].Value))
			}
		}
	}
	return size
}

// What an answer says about a message besides its body and attributes, and about an attribute besides its name and value.
const (
	messageBytes   = 512
	attributeBytes = 24
)

// answerMemory is how much memory an answer with so many bytes takes: it is put together if it is small, and is then larger
// by what has to be escaped.
func answerMemory(size int64) int64 {
	if exchange.Streams(size) {
		return 0
	}
	return 2 * size
}

// writeReceived writes the messages of all parts, with the names of their queues if there may be several. Bodies are let go of once they are written: they are not in memory while a
// slow client reads the rest.
func writeReceived(w http.ResponseWriter, parts []*engine.Received, size int64, named bool) error {
	if exchange.Streams(size) {
		return exchange.SendStream(w, http.StatusOK, jsonType, func(s *exchange.Stream) { streamReceived(s, parts, named) })
	}
	out := exchange.NewAnswer()
	defer out.Release()
	b := append(out.Bytes, `{"messages":[`...)
	first := true
	for _, part := range parts {
		for i := range part.Messages {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendMessage(b, &part.Messages[i], queueName(part, named))
			part.Messages[i].Body = nil
		}
	}
	out.Bytes = append(b, ']', '}')
	return send(w, out, http.StatusOK)
}

func streamReceived(s *exchange.Stream, parts []*engine.Received, named bool) {
	s.B = append(s.B, `{"messages":[`...)
	first := true
	for _, part := range parts {
		for i := range part.Messages {
			d := &part.Messages[i]
			if !first {
				s.B = append(s.B, ',')
			}
			first = false
			s.B = appendBeforeBody(s.B, d)
			streamBytes(s, "body", d.Body)
			s.B = appendAfterBody(s.B, d, queueName(part, named))
			s.Next()
			if !s.Counting() {
				d.Body = nil
			}
		}
	}
	s.B = append(s.B, ']', '}', '\n')
}

// queueName is the name of the queue that a part is from, if it is shown.
func queueName(part *engine.Received, named bool) string {
	if !named {
		return ""
	}
	return part.Ref().Name
}

// streamBytes writes the member that a text or other bytes are shown as.
func streamBytes(s *exchange.Stream, name string, p []byte) {
	s.B = append(append(s.B, `,"`...), name...)
	if utf8.Valid(p) {
		s.B = append(s.B, `":`...)
		s.Text(p)
		return
	}
	s.B = append(s.B, `_base64":`...)
	s.Base64(p)
}

func appendMessage(b []byte, d *engine.Delivery, queue string) []byte {
	b = appendBeforeBody(b, d)
	if utf8.Valid(d.Body) {
		b = jsonwire.AppendString(append(b, `,"body":`...), d.Body)
	} else {
		b = jsonwire.AppendBase64(append(b, `,"body_base64":`...), d.Body)
	}
	return appendAfterBody(b, d, queue)
}

func appendBeforeBody(b []byte, d *engine.Delivery) []byte {
	b = appendID(append(b, `{"id":`...), d.ID)
	return jsonwire.AppendString(append(b, `,"receipt":`...), d.Receipt)
}

func appendAfterBody(b []byte, d *engine.Delivery, queue string) []byte {
	if d.ContentType != "" {
		b = jsonwire.AppendString(append(b, `,"content_type":`...), d.ContentType)
	}
	b = appendAttributes(append(b, `,"attributes":`...), d.Attributes)
	b = appendUint(append(b, `,"receives":`...), uint64(d.Receives))
	b = appendTime(append(b, `,"sent_at":`...), d.SentAt)
	if d.TraceParent != "" {
		b = jsonwire.AppendString(append(b, `,"traceparent":`...), d.TraceParent)
	}
	if d.Group != "" {
		b = jsonwire.AppendString(append(b, `,"group":`...), d.Group)
	}
	if d.DedupID != "" {
		b = jsonwire.AppendString(append(b, `,"dedup_id":`...), d.DedupID)
	}
	if d.Priority > 0 {
		b = appendUint(append(b, `,"priority":`...), uint64(d.Priority))
	}
	if !d.ExpiresAt.IsZero() {
		b = appendTime(append(b, `,"expires_at":`...), d.ExpiresAt)
	}
	if d.Sequence > 0 {
		b = appendUint(append(b, `,"sequence":`...), d.Sequence)
	}
	b = appendUint(append(b, `,"lease":{"token":`...), d.Lease.Token)
	b = appendTime(append(b, `,"expires_at":`...), d.Lease.ExpiresAt)
	b = append(b, '}')
	if o := d.Origin; o != nil {
		b = jsonwire.AppendString(append(b, `,"origin":{"queue":`...), o.Queue)
		if o.Reason != "" {
			b = jsonwire.AppendString(append(b, `,"reason":`...), o.Reason)
		}
		b = appendUint(append(b, `,"receives":`...), uint64(o.Receives))
		b = appendTime(append(b, `,"moved_at":`...), o.MovedAt)
		b = append(b, '}')
	}
	if queue != "" {
		b = jsonwire.AppendString(append(b, `,"queue":`...), queue)
	}
	return append(b, '}')
}
