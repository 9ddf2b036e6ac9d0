package rest

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/dabba-mq/dabba/handlers/exchange"
)

// jsonType is shared by all answers, so that setting the header costs nothing.
var jsonType = []string{"application/json"}

// send writes the answer with a newline for terminals. The error is that of the connection.
func send(w http.ResponseWriter, a *exchange.Answer, status int) error {
	a.Bytes = append(a.Bytes, '\n')
	return a.Send(w, status, jsonType)
}

// reply encodes v, for answers that are not on a message's way. What they say changes from moment to moment.
func reply(w http.ResponseWriter, status int, v any) error {
	content, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	// An error here means that the client is gone: there is nobody to tell.
	_ = send(w, &exchange.Answer{Bytes: content}, status)
	return nil
}
