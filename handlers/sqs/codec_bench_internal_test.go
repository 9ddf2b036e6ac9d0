package sqs

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is scanned and appended by hand is worth its lines as long as these are well ahead of the codec's.

func BenchmarkDecode(b *testing.B) {
	body := `"MessageBody":"` + strings.Repeat("x", 1024) + `"}`
	const to = `{"QueueUrl":"http://localhost:8080/000000000000/orders",`
	var entries []string
	for i := range 10 {
		entries = append(entries, `{"Id":"`+strconv.Itoa(i)+`",`+body)
	}
	for _, bc := range []struct {
		name, body string
		request    func() any
	}{
		{"SendMessage", to + body, func() any { return &sendMessageRequest{} }},
		{"SendMessageBatch", to + `"Entries":[` + strings.Join(entries, ",") + `]}`, func() any { return &sendMessageBatchRequest{} }},
	} {
		text := []byte(bc.body)
		b.Run(bc.name+"/scanned", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !scan(text, bc.request()) {
					b.Fatal("not scanned")
				}
			}
		})
		b.Run(bc.name+"/decoded", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal(text, bc.request()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	received, outcomes, deleted := &receiveMessageAnswer{}, &sendMessageBatchAnswer{}, &deleteMessageBatchAnswer{}
	for i := range 10 {
		id := strconv.Itoa(i)
		received.Messages = append(received.Messages, message{
			MessageID: "01234567-89ab-cdef-0123-456789abcdef", ReceiptHandle: strings.Repeat("A", 60),
			MD5OfBody: strings.Repeat("0", 32), Body: strings.Repeat("x", 1024),
		})
		outcomes.Successful = append(outcomes.Successful, sentEntry{ID: id, sent: sent{
			MessageID: "01234567-89ab-cdef-0123-456789abcdef", MD5OfMessageBody: strings.Repeat("0", 32),
		}})
		deleted.Successful = append(deleted.Successful, doneEntry{ID: id})
	}
	for _, bc := range []struct {
		name   string
		answer any
	}{
		{"SendMessage", &outcomes.Successful[0].sent},
		{"SendMessageBatch", outcomes},
		{"ReceiveMessage", received},
		{"DeleteMessageBatch", deleted},
	} {
		buffer := make([]byte, 0, 64<<10)
		b.Run(bc.name+"/appended", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buffer = appendAnswer(buffer[:0], bc.answer)
			}
		})
		b.Run(bc.name+"/encoded", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := json.Marshal(bc.answer, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
				if err != nil {
					b.Fatal(err)
				}
				buffer = append(buffer[:0], text...)
			}
		})
	}
}
