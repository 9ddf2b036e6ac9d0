// Package openapitest checks live answers of a server against the OpenAPI document, so that neither can drift from
// the other unnoticed.
package openapitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/dabba-mq/dabba/openapi"
)

// Validator knows the document. It is safe for concurrent use.
type Validator struct {
	router routers.Router
	paths  []string
}

// New loads the embedded document and checks that it is valid itself. Answers with members that the document does not
// mention are wrong for this validator, although clients are free to pass over them.
func New(ctx context.Context) (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Bytes())
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	if err := doc.Validate(ctx); err != nil {
		return nil, fmt.Errorf("check the OpenAPI document: %w", err)
	}
	for _, schema := range doc.Components.Schemas {
		if len(schema.Value.Properties) > 0 {
			schema.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: new(bool)}
		}
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by the OpenAPI document: %w", err)
	}
	v := &Validator{router: router}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			v.paths = append(v.paths, method+" "+path)
		}
	}
	return v, nil
}

// Operations lists what the document describes, as "GET /v1/queues/{q}", in no order.
func (v *Validator) Operations() []string { return v.paths }

// Check says how an answer differs from the document. A path or method that the document does not have is only
// allowed to be answered with a problem.
func (v *Validator) Check(r *http.Request, status int, header http.Header, body []byte) error {
	route, params, err := v.router.FindRoute(r)
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) {
		return checkUnknown(r, status, header)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request:    r,
			PathParams: params,
			Route:      route,
		},
		Status:  status,
		Header:  header,
		Body:    io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(r.Context(), input); err != nil {
		return fmt.Errorf("%s %s answered %d, which the OpenAPI document does not allow: %w\n%s", r.Method, r.URL, status, err, body)
	}
	return nil
}

func checkUnknown(r *http.Request, status int, header http.Header) error {
	if status >= http.StatusBadRequest && header.Get("Content-Type") != "application/problem+json" {
		return fmt.Errorf("%s %s answered %d as %q, want a problem", r.Method, r.URL, status, header.Get("Content-Type"))
	}
	return nil
}

// Transport returns a round tripper that reports every answer of next that is not as documented.
func (v *Validator) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{validator: v, next: next, report: report}
}

type transport struct {
	validator *Validator
	next      http.RoundTripper
	report    func(error)
}

// RoundTrip implements http.RoundTripper. It reads the whole answer.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err := t.validator.Check(r, res.StatusCode, res.Header, body); err != nil {
		t.report(err)
	}
	return res, nil
}
