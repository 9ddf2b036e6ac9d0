package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// node is a JSON object.
type node = map[string]any

// alternative is the status under which the annotations describe another form of the 200 answer, which swag cannot
// say: it becomes a oneOf.
const alternative = "299"

// attributes is the schema of Attributes, a Go slice that is an object on the wire.
var attributes = node{
	"type": "object",
	"additionalProperties": node{"oneOf": []any{
		node{"type": "string"},
		node{
			"type": "object",
			"properties": node{
				"type":         node{"type": "string"},
				"value":        node{"type": "string"},
				"value_base64": node{"type": "string", "format": "base64"},
			},
			"required": []any{"type"},
		},
	}},
	"example": node{"customer": "42"},
}

// mend turns what swag wrote into a valid document that says what the server does.
func mend(raw []byte) ([]byte, error) {
	// Names lose the package they come from: rest.Queue is Queue, and problem.Document is Problem.
	raw = bytes.ReplaceAll(raw, []byte(`problem.Document"`), []byte(`Problem"`))
	raw = bytes.ReplaceAll(raw, []byte(`"rest.`), []byte(`"`))
	raw = bytes.ReplaceAll(raw, []byte(`schemas/rest.`), []byte(`schemas/`))
	var doc node
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read what swag wrote: %w", err)
	}
	for name, schema := range child(doc, "components", "schemas") {
		mendSchema(name, schema.(node))
	}
	for path, item := range child(doc, "paths") {
		for method, operation := range item.(node) {
			if err := mendOperation(operation.(node)); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc)
	return out.Bytes(), err
}

func mendSchema(name string, schema node) {
	properties := child(schema, "properties")
	for field, v := range properties {
		property := v.(node)
		delete(property, "uniqueItems")
		if property["x-duration"] == true {
			delete(property, "x-duration")
			property["type"] = []any{"string", "number"}
		}
		if property["x-nullable"] == true {
			delete(property, "x-nullable")
			types, several := property["type"].([]any)
			if !several {
				types = []any{property["type"]}
			}
			property["type"] = append(types, "null")
		}
		if property["x-nullable-values"] == true {
			delete(property, "x-nullable-values")
			values := child(property, "additionalProperties")
			values["type"] = []any{values["type"], "null"}
		}
		if field == "attributes" {
			properties[field] = attributes
		}
	}
	if name == "Problem" {
		schema["description"] = "An error, as RFC 9457 has it."
	}
}

func mendOperation(operation node) error {
	anyType(child(operation, "requestBody", "content"))
	for _, media := range child(operation, "requestBody", "content") {
		schema := child(media.(node), "schema")
		if schema["$ref"] != nil {
			// swag repeats the name and text of the parameter here.
			delete(schema, "summary")
			delete(schema, "description")
		}
	}
	if body := child(operation, "requestBody"); body["content"] != nil {
		id, _ := operation["operationId"].(string)
		example, ok := examples[id]
		if !ok {
			return errors.New("its request has no example: add one to examples")
		}
		child(body, "content", "application/json")["example"] = example
		body["content"] = order(child(body, "content"))
	}
	responses := child(operation, "responses")
	if err := joinAlternative(responses); err != nil {
		return err
	}
	for status, v := range responses {
		response := v.(node)
		content := child(response, "content")
		if failure(status) {
			mendFailure(status, response, content)
		} else if anyType(content); len(content) > 0 {
			response["content"] = order(content)
		}
		named(response)
	}
	return nil
}

// named adds what every answer has.
func named(response node) {
	headers, ok := response["headers"].(node)
	if !ok {
		headers = node{}
		response["headers"] = headers
	}
	headers["X-Request-Id"] = node{
		"description": "Names this request in the server's log; that of the request, if it had one",
		"schema":      node{"type": "string"},
	}
}

// anyType makes a raw body one of whatever type the message has.
func anyType(content node) {
	if content["application/octet-stream"] != nil {
		delete(content, "application/octet-stream")
		content["*/*"] = node{"schema": node{"type": "string", "format": "binary"}}
	}
}

func failure(status string) bool {
	return status == "default" || strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5")
}

// mendFailure makes an error a problem document, whatever the operation produces otherwise.
func mendFailure(status string, response, content node) {
	schema := child(content, "application/json")
	clear(content)
	content["application/problem+json"] = schema
	if response["description"] == nil || response["description"] == "" {
		response["description"] = meaning(status)
	}
	if status == "default" || status == "503" || status == "507" {
		response["headers"] = node{"Retry-After": node{
			"description": "With 429, 503 and 507: seconds until repeating makes sense",
			"schema":      node{"type": "integer"},
		}}
	}
}

// meaning is what HTTP calls a status.
func meaning(status string) string {
	if code, err := strconv.Atoi(status); err == nil {
		return http.StatusText(code)
	}
	return "Another error"
}

// joinAlternative makes the 200 one of two forms.
func joinAlternative(responses node) error {
	other, ok := responses[alternative].(node)
	if !ok {
		return nil
	}
	delete(responses, alternative)
	media := child(responses, "200", "content", "application/json")
	if media["schema"] == nil {
		return fmt.Errorf("a %s needs a 200 that it is another form of", alternative)
	}
	media["schema"] = node{"oneOf": []any{media["schema"], child(other, "content", "application/json")["schema"]}}
	return nil
}

// child walks down; what is not there is an empty node.
func child(n node, keys ...string) node {
	for _, key := range keys {
		next, ok := n[key].(node)
		if !ok {
			return node{}
		}
		n = next
	}
	return n
}
