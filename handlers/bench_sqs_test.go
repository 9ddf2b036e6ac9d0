package handlers_test

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

// The same work as in bench_test.go, through the wire of SQS: compare the figures of BenchmarkSQSX with those of BenchmarkX.

func BenchmarkSQSSend(b *testing.B) {
	compare(b, 1, func(*engine.Engine, int) turn { return ask("SendMessage", sqsOne) })
}

func BenchmarkSQSSendTen(b *testing.B) {
	compare(b, 10, func(*engine.Engine, int) turn { return ask("SendMessageBatch", sqsTen()) })
}

func BenchmarkSQSReceiveTenDeleteTen(b *testing.B) {
	compare(b, 10, func(e *engine.Engine, turns int) turn {
		fill(b, e, turns*10)
		receive := ask("ReceiveMessage", `{"QueueUrl":"http://x/000000000000/q","MaxNumberOfMessages":10}`)
		return func(c *client) error {
			if err := receive(c); err != nil {
				return err
			}
			return ask("DeleteMessageBatch", deleteAll(c.answer))(c)
		}
	})
}

var sqsOne = `{"QueueUrl":"http://x/000000000000/q","MessageBody":"` + strings.Repeat("x", 1024) + `"}`

func sqsTen() string {
	var entries []string
	for i := range 10 {
		entries = append(entries, fmt.Sprintf(`{"Id":"m%d","MessageBody":"%s"}`, i, strings.Repeat("x", 1024)))
	}
	return `{"QueueUrl":"http://x/000000000000/q","Entries":[` + strings.Join(entries, ",") + `]}`
}

// deleteAll deletes the messages of an answer.
func deleteAll(answer []byte) string {
	list := []byte(`{"QueueUrl":"http://x/000000000000/q","Entries":[`)
	for i := 0; ; i++ {
		_, after, ok := bytes.Cut(answer, []byte(`"ReceiptHandle":`))
		if !ok {
			return string(append(list, `]}`...))
		}
		handle, rest, _ := bytes.Cut(after, []byte(`,`))
		if i > 0 {
			list = append(list, ',')
		}
		list = append(strconv.AppendInt(append(list, `{"Id":"m`...), int64(i), 10), `","ReceiptHandle":`...)
		list, answer = append(append(list, handle...), '}'), rest
	}
}

// ask is a turn of one request to the wire of SQS.
func ask(operation, body string) turn {
	request := fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.%s\r\n"+
		"Content-Length: %d\r\n\r\n%s", operation, len(body), body)
	return func(c *client) error {
		if _, err := io.WriteString(c.conn, request); err != nil {
			return err
		}
		return c.read()
	}
}
