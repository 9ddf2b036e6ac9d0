// Package problem writes errors the way RFC 9457 describes: application/problem+json with a code for programs, a
// sentence for people and the outcome, so that a client knows whether to repeat.
//
// What an error means lives elsewhere: package engine has the codes, package rest the one table from code to status.
package problem

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// ContentType is the media type of every error answer.
const ContentType = "application/problem+json"

// typePrefix makes a code a URI, as RFC 9457 asks of "type". It names the kind of problem and leads nowhere.
const typePrefix = "urn:dabba:problem:"

// Problem is one error answer. Status, Code and Detail are always set; the zero Outcome means NotApplied.
type Problem struct {
	Status int
	// Code is one of the closed set in the API's documentation.
	Code engine.Code
	// Detail is a sentence for a person and says what to do next.
	Detail string
	// Field names the offending part of the request, if there is one.
	Field   string
	Outcome engine.Outcome
	// RetryAfter is shown for 429, 503 and 507 and is at least one second there.
	RetryAfter time.Duration
	// Bounds are those of the partition, for an offset that does not fit.
	Bounds *engine.PartitionBounds
	// Challenge is the WWW-Authenticate header of a 401.
	Challenge string
}

// Document is a problem on the wire.
type Document struct {
	// A URI that names the kind of problem and leads nowhere.
	Type   string `json:"type" validate:"required" example:"urn:dabba:problem:not_found"`
	Title  string `json:"title" validate:"required" example:"Not Found"`
	Status int    `json:"status" validate:"required" example:"404"`
	// What to do next, for a person.
	Detail string      `json:"detail" validate:"required"`
	Code   engine.Code `json:"code" validate:"required" swaggertype:"string" example:"not_found"`
	// The part of the request at fault.
	Field     string `json:"field,omitempty" example:"messages[2].delay"`
	RequestID string `json:"request_id" validate:"required"`
	// What became of the change: not_applied is safe to repeat, unknown only with the same idempotency key.
	Outcome engine.Outcome `json:"outcome" validate:"required" swaggertype:"string" enums:"not_applied,applied,unknown" example:"not_applied"`
	// Where the partition begins and ends, for an offset that does not fit.
	FirstOffset   *uint64 `json:"first_offset,omitempty" example:"100"`
	HighWatermark *uint64 `json:"high_watermark,omitempty" example:"250"`
}

// Write answers with p. The request id is the one already set on the answer's headers. It reports nothing: a
// client that is gone cannot be told about an error.
func Write(w http.ResponseWriter, p Problem) {
	if p.Outcome == "" {
		p.Outcome = engine.NotApplied
	}
	header := w.Header()
	document := Document{
		Type:      typePrefix + string(p.Code),
		Title:     title(p.Status),
		Status:    p.Status,
		Detail:    p.Detail,
		Code:      p.Code,
		Field:     p.Field,
		RequestID: header.Get("X-Request-Id"),
		Outcome:   p.Outcome,
	}
	if p.Bounds != nil {
		document.FirstOffset, document.HighWatermark = &p.Bounds.FirstOffset, &p.Bounds.HighWatermark
	}
	// A detail may quote what a client sent, and that need not have been valid UTF-8.
	content, err := json.Marshal(document, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("problem: a struct of strings does not encode: " + err.Error())
	}
	content = append(content, '\n') // for terminals
	header.Set("Content-Type", ContentType)
	header.Set("Content-Length", strconv.Itoa(len(content)))
	header.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		header.Set("Retry-After", seconds(p.RetryAfter))
	}
	if p.Challenge != "" {
		header.Set("WWW-Authenticate", p.Challenge)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(content)
}

func title(status int) string {
	if status == http.StatusInsufficientStorage {
		return "Storage Full"
	}
	return http.StatusText(status)
}

// seconds rounds up, since a client that comes back too early is refused again.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
