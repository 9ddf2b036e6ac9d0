package sqs

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
	"github.com/dabba-mq/dabba/handlers/middleware"
)

// protocol is one way to write requests and answers: [jsonProtocol] or [queryProtocol]. It has read what it needs of one
// request, and shares memory with its body until decode has returned.
type protocol interface {
	// operation is the name of what is asked for.
	operation() string
	// decoded is about how much memory decode takes, in bytes.
	decoded() int64
	// decode reads the parameters into the operation's request. Nothing in it shares memory with the body but the bodies of
	// messages to send.
	decode(request any) error
	// find is the operation, if it may be asked for in this way.
	find() (operation, *fault)
	// answer appends an answer of the operation to b.
	answer(b []byte, answer any, requestID string) []byte
	// fault appends a fault to b.
	fault(b []byte, f *fault, requestID string) []byte
	// contentType is that of answers and faults.
	contentType() string
}

// requestIDHeader has the request's id, which Query also says in its answers.
const requestIDHeader = "X-Amzn-Requestid"

// ServeHTTP answers one request of either protocol.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.serve(w, r, nil) }

// serve leaves a request that names no operation to other, unless that is nil.
func (a *API) serve(w http.ResponseWriter, r *http.Request, other http.Handler) {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET, POST")
		a.Refuse(w, r, methodNotAllowed.is("Use POST, or GET for a request of the Query protocol."))
		return
	}
	r, done := a.Exchange.Begin(r)
	defer done()
	c := &call{API: a, w: w, r: r}
	stranger := c.identify()
	if stranger != nil && (other == nil || !isSmall(r)) {
		a.refuse(w, r, newProtocol(r, nil), stranger)
		return
	}
	body, err := a.Exchange.Read(w, r, exchange.Usual)
	if err != nil {
		a.refuse(w, r, newProtocol(r, nil), unread(err))
		return
	}
	p := newProtocol(r, body.Bytes)
	if other != nil && p.operation() == "" {
		body.Release()
		other.ServeHTTP(w, r)
		return
	}
	if stranger != nil {
		body.Release()
		a.refuse(w, r, p, stranger)
		return
	}
	answer, err := c.run(p, body)
	if err != nil {
		a.refuse(w, r, p, err)
		return
	}
	write := func() error { return c.write(p, &answer) }
	if c.received == nil {
		// An error here means that the client is gone: there is nobody to tell.
		_ = write()
		return
	}
	if err := a.Exchange.HandOver(w, r, []*engine.Received{c.received}, int64(roomFor(c.received)), write); err != nil {
		a.refuse(w, r, p, err)
	}
}

// unread is why the body of a request was not taken in.
func unread(err error) error {
	if e := engine.ErrorOf(err); e.Code == engine.CodeTooLarge { // or it never fits into memory
		return requestEntityTooLong.is(e.Detail)
	}
	return err
}

// smallBody is the size up to which it does not matter how long what a request asks for is in memory.
const smallBody = 64 << 10

// isSmall says that the body of a request is so small that it may be read although nobody has said yet who sends it.
func isSmall(r *http.Request) bool { return r.ContentLength >= 0 && r.ContentLength <= smallBody }

// run does what the request asks for. The body is released before it may take long, unless the operation borrows it, or it
// is large: what was decoded is about as large, and counts by that for as long as a receive waits.
func (c *call) run(p protocol, body *exchange.Body) (any, error) {
	released := false
	release := func() {
		if !released {
			released = true
			body.Release()
		}
	}
	defer release()
	if err := c.authenticate(body.Bytes); err != nil {
		return nil, err
	}
	op, f := p.find()
	if f != nil {
		return nil, f
	}
	if !op.reads && c.r.Method == http.MethodGet && c.Hidden != nil && c.Hidden(c.r) {
		return nil, accessDenied.is("Any web page can make a browser send this GET, and this server has no keys, so it changes nothing. " +
			"Send a POST, or sign the request in its Authorization header.")
	}
	if err := body.Decoding(p.decoded()); err != nil {
		return nil, err
	}
	in := op.input()
	if err := p.decode(in); err != nil {
		return nil, err
	}
	if !op.borrows && len(body.Bytes) <= smallBody {
		release()
	}
	return op.do(c, in)
}

// write answers, and forgets what the answer was made of: messages are not several times in memory while a slow client
// reads.
func (c *call) write(p protocol, answer *any) error {
	out := exchange.NewAnswer()
	defer out.Release()
	if c.received != nil {
		out.Bytes = slices.Grow(out.Bytes, roomFor(c.received)) // growing bit by bit leaves as much again behind
	}
	out.Bytes = p.answer(out.Bytes, *answer, requestID(c.w))
	*answer = nil
	if c.received != nil {
		for i := range c.received.Messages {
			c.received.Messages[i].Body = nil
		}
	}
	return send(c.w, out, p, http.StatusOK)
}

// roomFor is about how many bytes the answer with the messages has, in either protocol.
func roomFor(got *engine.Received) int {
	const besides = 1 << 10 // the handle, ids and sums of a message, and an attribute's syntax
	n := 0
	for i := range got.Messages {
		m := &got.Messages[i]
		n += besides + escapedLen(m.Body)
		for j := range m.Attributes {
			n += besides/4 + len(m.Attributes[j].Name) + escapedLen(m.Attributes[j].Value)
		}
	}
	return n
}

// escapedLen is at least the length of a text in JSON and in XML.
func escapedLen(s []byte) int {
	const small = 1 << 10
	if len(s) <= small { // then it is not worth a look
		return 2 * len(s)
	}
	n := jsonwire.StringLen(s)
	for _, c := range []string{"&", "<", ">", `"`, "\r"} {
		n += len("&quot;") * bytes.Count(s, []byte(c))
	}
	return n
}

// refuse answers with a fault, and logs it when it is the server's.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, p protocol, err error) {
	if r.Context().Err() != nil {
		w.WriteHeader(exchange.ClientGone)
		return
	}
	f := faultOf(err)
	if f.status >= http.StatusInternalServerError {
		a.Log.LogAttrs(r.Context(), slog.LevelWarn, "request failed",
			slog.String("request_id", requestID(w)),
			slog.String("operation", p.operation()),
			slog.Any("error", err))
	}
	w.Header().Set("X-Amzn-Query-Error", f.code+";"+f.sender())
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter(err))
	}
	out := exchange.NewAnswer()
	defer out.Release()
	out.Bytes = p.fault(out.Bytes, f, requestID(w))
	_ = send(w, out, p, f.status)
}

// retryAfter is in how many seconds a client may repeat a request that could not be served now. It rounds up, since a client that
// comes back too early is refused again.
func retryAfter(err error) string {
	after := time.Second
	if e, ok := errors.AsType[*engine.Error](err); ok {
		after = max(after, e.RetryAfter)
	}
	return strconv.Itoa(int((after + time.Second - 1) / time.Second))
}

// requestID is the one that the observer gave the request.
func requestID(w http.ResponseWriter) string { return w.Header().Get(middleware.RequestIDHeader) }

// send writes the answer in one go. The error is that of the connection.
func send(w http.ResponseWriter, out *exchange.Answer, p protocol, status int) error {
	h := w.Header()
	h[requestIDHeader] = h[middleware.RequestIDHeader]
	return out.Send(w, status, []string{p.contentType()})
}
