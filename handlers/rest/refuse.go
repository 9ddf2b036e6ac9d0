package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/browser"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/middleware"
	"github.com/dabba-mq/dabba/handlers/problem"
)

// statuses is the one table from code to HTTP status.
var statuses = map[engine.Code]int{
	engine.CodeInvalidRequest:       http.StatusBadRequest,
	engine.CodeUnknownField:         http.StatusBadRequest,
	engine.CodeReceiptInvalid:       http.StatusBadRequest,
	engine.CodeUnauthenticated:      http.StatusUnauthorized,
	engine.CodeForbidden:            http.StatusForbidden,
	engine.CodeNotFound:             http.StatusNotFound,
	engine.CodeAlreadyExists:        http.StatusConflict,
	engine.CodeConflict:             http.StatusConflict,
	engine.CodeLeaseLost:            http.StatusConflict,
	engine.CodeOffsetTrimmed:        http.StatusGone,
	engine.CodeOffsetOutOfRange:     http.StatusRequestedRangeNotSatisfiable,
	engine.CodeTooLarge:             http.StatusRequestEntityTooLarge,
	engine.CodeQueueFull:            http.StatusTooManyRequests,
	engine.CodePaused:               http.StatusTooManyRequests,
	engine.CodeIdempotencyKeyReused: http.StatusUnprocessableEntity,
	engine.CodeUnavailable:          http.StatusServiceUnavailable,
	engine.CodeStorageFull:          http.StatusInsufficientStorage,
}

// Refuse answers err as a problem and logs it when it is the server's fault. The client sees the detail of an
// [engine.Error], never its cause.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if denied, ok := errors.AsType[*auth.Error](err); ok {
		problem.Write(w, problem.Problem{
			Status:    denied.Status,
			Code:      engine.Code(denied.Code),
			Detail:    denied.Detail,
			Challenge: denied.Challenge(),
		})
		return
	}
	e := engine.ErrorOf(err)
	status := statusOf(e)
	if status >= http.StatusInternalServerError {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "request failed",
			slog.String("request_id", w.Header().Get(middleware.RequestIDHeader)),
			slog.Any("error", err))
	}
	problem.Write(w, problem.Problem{
		Status:     status,
		Code:       e.Code,
		Detail:     e.Detail,
		Field:      e.Field,
		Outcome:    e.Outcome,
		RetryAfter: e.RetryAfter,
		Bounds:     e.Bounds,
	})
}

func statusOf(e *engine.Error) int {
	if e.Code == engine.CodeConflict && (e.Field == ifMatchField || e.Field == ifNoneMatchField) {
		return http.StatusPreconditionFailed
	}
	if e.Code == engine.CodeInvalidRequest && e.Field == exchange.EncodingField {
		return http.StatusUnsupportedMediaType
	}
	if e.Code == engine.CodeInvalidRequest && e.Field == browser.HostField {
		return http.StatusMisdirectedRequest
	}
	if status, ok := statuses[e.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// MethodNotAllowed answers a path that exists for other methods, which allowed lists.
func (a *API) MethodNotAllowed(allowed func(path string) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath
		if path == "" {
			path = r.URL.Path
		}
		w.Header().Set("Allow", strings.Join(allowed(path), ", "))
		problem.Write(w, problem.Problem{
			Status: http.StatusMethodNotAllowed,
			Code:   engine.CodeInvalidRequest,
			Detail: "This path does not take " + r.Method + "; the Allow header lists what it takes.",
		})
	}
}

func invalid(field, detail string) *engine.Error {
	return &engine.Error{Code: engine.CodeInvalidRequest, Field: field, Detail: detail, Outcome: engine.NotApplied}
}

func unknownField(field, detail string) *engine.Error {
	return &engine.Error{Code: engine.CodeUnknownField, Field: field, Detail: detail, Outcome: engine.NotApplied}
}
