package rest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// withTwo starts a server with the queues "q" and "other".
func withTwo(t *testing.T, config string) *handlerstest.Server {
	t.Helper()
	srv := withQueue(t, config)
	srv.Put("/v1/queues/other", config).Want(http.StatusCreated)
	return srv
}

// receiveMany is what came, as queue and body.
func receiveMany(t *testing.T, srv *handlerstest.Server, body string) []string {
	t.Helper()
	var got rest.ReceiveManyAnswer
	srv.Post("/v1/receive", body).Want(http.StatusOK).Decode(&got)
	all := []string{}
	for _, m := range got.Messages {
		all = append(all, m.Queue+" "+*m.Body)
	}
	return all
}

func TestReceiveManyTakesQueuesInOrder(t *testing.T) {
	t.Parallel()
	srv := withTwo(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	srv.Post("/v1/queues/other/messages", `{"messages":[{"body":"c"},{"body":"d"}]}`).Want(http.StatusOK)
	for _, tc := range []struct {
		body string
		want []string
	}{
		{`{"queues":["other","q"]}`, []string{"other c"}},
		{`{"queues":["q","other"],"max":10,"visibility":"1h","consumer":"w"}`, []string{"q a", "q b", "other d"}},
		{`{"queues":["q","other"],"wait":0}`, []string{}},
	} {
		if diff := cmp.Diff(tc.want, receiveMany(t, srv, tc.body)); diff != "" {
			t.Errorf("receive %s (-want +got):\n%s", tc.body, diff)
		}
	}
}

func TestReceiveManyTakesWeights(t *testing.T) {
	t.Parallel()
	srv := withTwo(t, "")
	for _, weights := range []string{`{"q":9,"other":1}`, `[1,1000]`, `null`} {
		srv.Post("/v1/queues/other/messages", `{"body":"x"}`).Want(http.StatusOK)
		got := receiveMany(t, srv, `{"queues":["q","other"],"weights":`+weights+`}`)
		if diff := cmp.Diff([]string{"other x"}, got); diff != "" {
			t.Errorf("weights %s (-want +got):\n%s", weights, diff)
		}
	}
	for weights, field := range map[string]string{
		`{"q":1}`: "weights", `{"q":1,"other":1,"none":1}`: "weights", `[1]`: "weights", `[1,0]`: "weights", `[1,1001]`: "weights",
		`"q"`: "weights", `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]`: "weights", `{"q":"many","other":1}`: "weights.q", `[1,1.5]`: "weights[1]",
	} {
		srv.Post("/v1/receive", `{"queues":["q","other"],"weights":`+weights+`}`).Refused(http.StatusBadRequest, "invalid_request", field)
	}
}

func TestReceiveManyWaitsForAnyQueue(t *testing.T) {
	t.Parallel()
	srv := withTwo(t, "")
	answered := make(chan []string, 1)
	go func() {
		var got rest.ReceiveManyAnswer
		defer func() {
			all := []string{}
			for _, m := range got.Messages {
				all = append(all, m.Queue)
			}
			answered <- all
		}()
		srv.Post("/v1/receive", `{"queues":["q","other"]}`, "Prefer", "wait=60").Decode(&got)
	}()
	eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
	srv.Post("/v1/queues/other/messages", `{"body":"x"}`).Want(http.StatusOK)
	if got := <-answered; len(got) != 1 || got[0] != "other" {
		t.Errorf("waited for messages of %v, want one of other", got)
	}
}

func TestReceiveManyRefuses(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	many := strings.Repeat(`"q",`, 17)
	for body, field := range map[string]string{
		``: "queues", `{"queues":[]}`: "queues", `{"queues":[` + many[:len(many)-1] + `]}`: "queues", `{"queues":["q","q"]}`: "queues[1]",
		`{"queues":["q"],"max":0}`: "max", `{"queues":["q"],"max":1001}`: "max", `{"queues":["q"],"wait":"2h"}`: "wait",
	} {
		srv.Post("/v1/receive", body).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Post("/v1/receive", `{"queues":["q","none"]}`).Refused(http.StatusNotFound, "not_found", "queues[1]")
	srv.Post("/v1/receive", `{"queue":"q"}`).Refused(http.StatusBadRequest, "unknown_field", "queue")
}

func TestAClientOfManyQueuesThatHangsUpLeasesNothing(t *testing.T) {
	t.Parallel()
	const config = `{"max_message_bytes":16777216}`
	srv := withTwo(t, config)
	conn := dial(t, srv)
	ask(t, conn, "POST", "/v1/receive", `{"queues":["q","other"],"wait":"1h"}`)
	eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the receive to notice", func() bool { return waiting(t, srv) == 0 })

	// More than the buffers of the sockets hold, so that the server is still writing when the client goes.
	srv.Post("/v1/queues/q/messages", `{"body":"small"}`).Want(http.StatusOK)
	srv.Put("/v1/queues/other", `{"max_message_bytes":8388608}`).Want(http.StatusOK)
	srv.Post("/v1/queues/other/messages", strings.Repeat("x", 8<<20), "Content-Type", "text/plain").Want(http.StatusOK)
	conn = dial(t, srv)
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	ask(t, conn, "POST", "/v1/receive", `{"queues":["q","other"],"max":10}`)
	if _, err := io.CopyN(io.Discard, conn, 100); err != nil {
		t.Fatalf("read the start of the answer: %v", err)
	}
	if got := counts(t, srv); got.Leased != 1 {
		t.Errorf("counts of q while the answer is written = %+v, want it leased", got)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"q", "other"} {
		eventually(t, "the message of "+name+" to be ready again", func() bool {
			q, err := srv.Engine.Queue(t.Context(), engine.Ref{Tenant: "default", Name: name})
			return err == nil && q.Counts.Ready == 1 && q.Counts.Leased == 0
		})
	}
	if got := one(t, srv, "").Receives; got != 1 {
		t.Errorf("receives = %d for the first client that got it, want 1", got)
	}
}

func TestAnAnswerOfManyQueuesIsOneList(t *testing.T) {
	t.Parallel()
	srv := withTwo(t, "")
	for i, name := range []string{"q", "other"} {
		srv.Post("/v1/queues/"+name+"/messages", fmt.Sprintf(`{"body":"%d","attributes":{"n":"%d"}}`, i, i)).Want(http.StatusOK)
	}
	srv.Post("/v1/receive", `{"queues":["other","q"],"max":2}`).Want(http.StatusOK).Has(`},"queue":"other"},{"id":`).Has(`},"queue":"q"}]}`)
}
