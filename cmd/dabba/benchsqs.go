package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// onSQS begins the name of a phase that is done over the SQS wire.
const onSQS = "SQS "

// maxSQSBatch is the most that the bodies of one SQS request may add up to.
const maxSQSBatch = 1 << 20

// newSQSRequests are those of the same work over the SQS wire, in its JSON protocol.
func newSQSRequests(l *load, queue string, o *benchOptions) *requests {
	url := `{"QueueUrl":"` + queue + `",`
	body := `"MessageBody":"` + strings.Repeat("x", o.size) + `"}`
	entries := make([]string, benchBatch)
	for i := range entries {
		entries[i] = `{"Id":"` + strconv.Itoa(i) + `",` + body
	}
	return &requests{
		load:     l,
		single:   template{bytes: l.postSQS("SendMessage", url+body)},
		several:  template{bytes: l.postSQS("SendMessageBatch", url+`"Entries":[`+strings.Join(entries, ",")+`]}`)},
		takeMany: l.postSQS("ReceiveMessage", url+fmt.Sprintf(`"MaxNumberOfMessages":%d}`, benchBatch)),
		ack: func(w *wire, answer []byte) ([]byte, int) {
			return w.deletes(l, url, answer)
		},
	}
}

func (l *load) postSQS(operation, body string) []byte {
	return append(l.head(nil, "/", sqsHeaders(operation), len(body)), body...)
}

func sqsHeaders(operation string) string {
	return "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS." + operation
}

var handleIs = []byte(`"ReceiptHandle":"`)

// deletes cuts the handles out of a receive's answer and makes the request that deletes the messages.
func (w *wire) deletes(l *load, url string, answer []byte) (request []byte, handles int) {
	w.body = append(append(w.body[:0], url...), `"Entries":[`...)
	for {
		_, after, found := bytes.Cut(answer, handleIs)
		if !found {
			break
		}
		handle, rest, closed := bytes.Cut(after, []byte(`"`))
		if !closed {
			break
		}
		if handles > 0 {
			w.body = append(w.body, ',')
		}
		w.body = strconv.AppendInt(append(w.body, `{"Id":"`...), int64(handles), 10)
		w.body = append(append(append(w.body, `","ReceiptHandle":"`...), handle...), `"}`...)
		answer = rest
		handles++
	}
	w.body = append(w.body, `]}`...)
	w.ou = append(l.head(w.ou[:0], "/", sqsHeaders("DeleteMessageBatch"), len(w.body)), w.body...)
	return w.ou, handles
}
