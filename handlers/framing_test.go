package handlers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// Requests whose length two servers in a row may take differently, so that what is a body to one is a request to the other
// (RFC 9112, section 11.2). Each is followed by another request; nothing answers that unless the framing is beyond doubt.
func TestAmbiguousFramingEndsTheConnection(t *testing.T) {
	t.Parallel()
	const chunked, body = "Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n"
	tests := []struct {
		name, request string
		status        int
		kept          bool
	}{
		{"a length", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", 200, true},
		{"the same length twice", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, true},
		{"chunks", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "\r\n" + body, 200, false},

		{"chunks and a length", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n" + chunked + "\r\n" + body, 200, false},
		{"a length and chunks", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "Content-Length: 11\r\n\r\n" + body, 200, false},
		{"chunks and no length", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "Content-Length: x\r\n\r\n" + body, 400, false},
		{"chunks and two lengths", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + body, 400, false},
		{"chunks of HTTP/1.0", "POST %s HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + chunked + "Content-Length: 11\r\n\r\n" + body, 200, false},
		{"chunks of HTTP/1.0 without a length", "POST %s HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + chunked + "\r\n", 200, false},
		{"two lengths", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400, false},
		{"two lengths in one", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 1\r\n\r\nx", 400, false},
		{"a signed length", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\nx", 400, false},
		{"a length that is none", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x1\r\n\r\nx", 400, false},
		{"an empty length", "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: \r\n\r\nx", 400, false},
		{"chunks twice", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + chunked + "\r\n" + body, 501, false},
		{"identity", "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx", 501, false},
		{"gzip and chunks", "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + body, 501, false},
		{"chunks that are not", "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\nContent-Length: 1\r\n\r\nx", 501, false},
		{"a space before the colon", "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"a folded line", "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 3\r\n\r\n" + body, 200, false},
		{"a bare CR", "POST %s HTTP/1.1\r\nHost: localhost\r\nX-A: a\rTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"a zero byte", "POST %s HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"a chunk of another size", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "\r\n3\r\nx\r\n0\r\n\r\n", 400, false},
		{"a chunk with a bare LF", "POST %s HTTP/1.1\r\nHost: localhost\r\n" + chunked + "\r\n1;a\nx\r\n0\r\n\r\n", 400, false},
		{"two hosts", "POST %s HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"the same host twice", "POST %s HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"no host", "POST %s HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 400, false},
		{"no host in HTTP/1.0", "POST %s HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", 200, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := handlerstest.Start(t)
			srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
			first, more := converse(t, srv, strings.Replace(fmt.Sprintf(tt.request, "/v1/queues/q/messages"), "\r\n", "\r\nContent-Type: text/plain\r\n", 1))
			if first != tt.status {
				t.Errorf("the answer is %d, want %d", first, tt.status)
			}
			if kept := strings.HasPrefix(more, "HTTP/1.1 404"); kept != tt.kept {
				t.Errorf("the connection is kept: %v, want %v; after the answer came %q", kept, tt.kept, more)
			}
			var after rest.Queue
			srv.Get("/v1/queues/q").Want(http.StatusOK).Decode(&after)
			if want := map[bool]int{true: 1}[tt.status == 200]; int(after.Counts.Ready) != want {
				t.Errorf("%d messages were sent, want %d", after.Counts.Ready, want)
			}
		})
	}
}

// The target's host counts if it has one, as RFC 9112, section 3.2.2, wants it: Host cannot hide it.
func TestAbsoluteTargetsAreHeldAgainstTheirHost(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	for request, want := range map[string]int{
		"GET http://localhost/v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n":                           200,
		"GET http://evil.example/v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n":                        421,
		"DELETE http://evil.example/v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n":                     421,
		"GET http://evil.example/v1/queues/q HTTP/1.0\r\n\r\n":                                           421,
		"GET http://localhost@evil.example/v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n":              421,
		"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                    421,
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                               421,
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n":                  403,
		"GET /v1/queues/q HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n":         421,
		"GET /v1/queues/q HTTP/1.1\r\nHost: evil.example\r\nForwarded: host=localhost\r\n\r\n":           421,
		"GET /v1/queues/q HTTP/1.0\r\n\r\n":                                                              200,
		"PURGE /v1/queues/q HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n":         403,
		"GET /v1/queues/q HTTP/1.1\r\nHost: localhost\r\norigin: null\r\n\r\n":                           403,
		"GET /v1/queues/q HTTP/1.1\r\nHost: localhost\r\nSEC-FETCH-SITE: cross-site\r\n\r\n":             403,
		"GET /docs/../v1/queues/q HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n":   404,
		"GET /%64ocs/x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n":              403,
		"GET /docs%2f../v1/queues/q HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n": 403,
	} {
		if got, _ := converse(t, srv, request); got != want {
			t.Errorf("%q = %d, want %d", request, got, want)
		}
	}
}

// converse sends a request and, in the same packet, another one to a path that there is not. It returns the status of the first
// answer and what comes after it.
func converse(t *testing.T, srv *handlerstest.Server, request string) (status int, rest string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request+"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	res, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("%q: read the answer: %v", request, err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatalf("%q: read the answer: %v", request, err)
	}
	after, err := io.ReadAll(answers)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("%q: read on: %v", request, err)
	}
	return res.StatusCode, string(after)
}
