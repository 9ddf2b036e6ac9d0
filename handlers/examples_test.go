package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/openapi"
)

// TestTheFormsOfTheDocsWorkAsTheyStand sends what the page at /docs fills in before anyone has typed a letter.
func TestTheFormsOfTheDocsWorkAsTheyStand(t *testing.T) {
	t.Parallel()
	type operation struct {
		Parameters []struct {
			Name   string `json:"name"`
			Schema struct {
				Default jsontext.Value `json:"default"`
			} `json:"schema"`
		} `json:"parameters"`
		RequestBody struct {
			Content jsontext.Value `json:"content"`
		} `json:"requestBody"`
	}
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(openapi.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	srv := handlerstest.Start(t, func(c *handlers.Config) {
		at := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
		c.Advance = func(d time.Duration) time.Time { return at.Add(d) }
		c.Step = func(d time.Duration) time.Time { return at.Add(d) }
	})
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	// This one is not changed by any form.
	srv.Put("/v1/queues/fair", `{"fair":true}`).Want(http.StatusCreated)
	var message rest.SendAnswer
	srv.Post("/v1/queues/fair/messages", `{"body":"x"}`).Want(http.StatusOK).Decode(&message)
	names := strings.NewReplacer(
		"{q}/groups/{g}", "fair/groups/g", "{q}/messages/id/{id}", "fair/messages/id/"+message.ID,
		"{q}", "q", "{name}", "nightly", "{t}", "t",
	)
	srv.Put("/v1/topics/t", `{"partitions":4}`).Want(http.StatusCreated)
	sent := 0
	for path, operations := range document.Paths {
		for method, op := range operations {
			if len(op.RequestBody.Content) == 0 {
				continue
			}
			if !strings.HasPrefix(strings.TrimSpace(string(op.RequestBody.Content[1:])), `"application/json"`) {
				t.Errorf("%s %s does not offer JSON first: %.60s", method, path, op.RequestBody.Content)
			}
			for _, p := range op.Parameters {
				if name := p.Name; len(p.Schema.Default) > 0 {
					t.Errorf("%s %s fills in the parameter %s, which its example may have, too", method, path, name)
				}
			}
			var content map[string]struct {
				Example jsontext.Value `json:"example"`
			}
			if err := json.Unmarshal(op.RequestBody.Content, &content); err != nil {
				t.Fatal(err)
			}
			sent++
			path := names.Replace(path)
			answer := srv.Do(strings.ToUpper(method), path, string(content["application/json"].Example))
			if answer.Status != http.StatusCreated {
				answer.Want(http.StatusOK)
			}
		}
	}
	if sent < 7 {
		t.Errorf("the document has %d forms, want 7 at least", sent)
	}
}
