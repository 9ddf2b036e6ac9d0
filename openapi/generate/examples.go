package main

import "encoding/json"

// examples are request bodies that work as they stand on a server whose queue exists: the page at /docs fills its forms
// with them. What swag makes of a schema has every field at once, which no call takes.
var examples = map[string]node{
	"putQueue": {
		"visibility": "30s",
		"retry":      node{"policy": "exponential", "base": "1s", "cap": "5m", "max_receives": 5},
		"tags":       node{"team": "billing"},
	},
	"patchQueue":      {"visibility": "1m"},
	"send":            {"body": "hello", "attributes": node{"customer": "42"}},
	"receive":         {"max": 1, "visibility": "30s"},
	"ack":             {"receipts": []any{"the receipt of a received message"}},
	"nack":            {"receipts": []any{"the receipt of a received message"}, "delay": "10s", "reason": "no stock"},
	"extend":          {"receipts": []any{"the receipt of a received message"}, "visibility": "60s"},
	"release":         {"consumer": "worker-7"},
	"purge":           {"state": "dead", "older_than": "1h"},
	"advanceClock":    {"by": "5m"},
	"stepClock":       {"by": "-1h"},
	"redrive":         {"filter": node{"older_than": "1h"}, "dry_run": true},
	"receiveMany":     {"queues": []any{"q"}, "max": 10, "wait": "0s"},
	"pauseQueue":      {"consume": true},
	"resumeQueue":     {"produce": true, "consume": true},
	"patchMessage":    {"delay": "30s"},
	"deadLetterGroup": {"reason": "customer is gone"},
	"putSchedule":     {"cron": "30 8 * * 1-5", "tz": "Europe/Berlin", "message": node{"body": "good morning"}},
	"putTopic":        {"partitions": 4},
	"produce":         {"records": []any{node{"key": "user-7", "value": "hello"}}},
	"putOffsets":      {"offsets": node{"0": 124}},
}

// content is a body's forms in the order in which a page should offer them, which that of their names is not.
type content struct {
	json, any any
}

// MarshalJSON puts JSON first.
func (c content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		JSON any `json:"application/json,omitempty"`
		Any  any `json:"*/*,omitempty"`
	}{c.json, c.any})
}

// order is the content of a request or an answer, ordered.
func order(forms node) any {
	if forms["*/*"] == nil || forms["application/json"] == nil {
		return forms
	}
	return content{json: forms["application/json"], any: forms["*/*"]}
}
