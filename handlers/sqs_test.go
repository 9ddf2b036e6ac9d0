package handlers_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// asked is the answer to a request that the OpenAPI document says nothing of.
func asked(t *testing.T, method, url, body string, headers ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Client{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(content)
}

func TestTheSQSWireIsServed(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.SQS.Account = "123456789012" })
	inJSON := func(operation string) []string {
		return []string{"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "AmazonSQS." + operation}
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	queue := srv.URL + "/123456789012/orders"
	for _, tc := range []struct {
		name, method, url, body string
		headers                 []string
		status                  int
		want                    string
	}{
		{"an operation in JSON", "POST", srv.URL + "/", `{"QueueName":"orders"}`, inJSON("CreateQueue"), 200, `{"QueueUrl":"` + queue + `"}`},
		{"one without the slash", "POST", srv.URL, `{}`, inJSON("ListQueues"), 200, `{"QueueUrls":["` + queue + `"]}`},
		{"one on a queue", "POST", queue, `{"QueueUrl":"` + queue + `","MessageBody":"m"}`, inJSON("SendMessage"), 200, `"MD5OfMessageBody"`},
		{"one in Query", "POST", srv.URL + "/", "Action=ListQueues", form, 200, "<QueueUrl>" + queue + "</QueueUrl>"},
		{"one in Query on a queue", "POST", queue, "Action=SendMessage&MessageBody=m", form, 200, "<SendMessageResponse "},
		{"one in the URL", "GET", srv.URL + "/?Action=ListQueues", "", nil, 200, "<QueueUrl>" + queue + "</QueueUrl>"},
		{"one in the URL of a queue", "GET", queue + "?Action=ReceiveMessage", "", nil, 200, "<Body>m</Body>"},
		{"none", "GET", queue, "", nil, 404, "<UnknownOperationException/>"},
		{"the start page", "GET", srv.URL + "/", "", nil, 200, "Dabba is running"},
		{"another method", "PUT", queue, "", nil, 405, `"code":"invalid_request"`},
		{"another path", "POST", srv.URL + "/orders", "", nil, 404, `"code":"not_found"`},
		{"a path below a queue", "POST", queue + "/x", "", nil, 404, `"code":"not_found"`},
	} {
		status, body := asked(t, tc.method, tc.url, tc.body, tc.headers...)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %s %s answered %d %s\nwant %d and %s", tc.name, tc.method, tc.url, status, body, tc.status, tc.want)
		}
	}
	srv.Get("/v1/queues/orders").Want(http.StatusOK).Has(`"ready":1`)

	counted := string(srv.Get("/metrics").Want(http.StatusOK).Body)
	for _, want := range []string{
		`dabba_http_requests_total{method="POST",route="/",status="200"} 3`,
		`dabba_http_requests_total{method="POST",route="/{account:[0-9]+}/{queue}",status="200"} 2`,
	} {
		if !strings.Contains(counted, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(counted, "123456789012") {
		t.Errorf("metrics have a series for each queue that is asked for:\n%s", counted)
	}
}
