package sqs

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// ownShapes begins the shapes of faults that are of SQS itself. Those of what stands before every service have their
// namespace in the table of faults.
const ownShapes = "com.amazonaws.sqs#"

// jsonProtocol is AWS JSON 1.0, which all current SDKs speak.
type jsonProtocol struct {
	body []byte
	name string
}

func newJSON(r *http.Request, body []byte) *jsonProtocol {
	name, _ := strings.CutPrefix(r.Header.Get(targetHeader), target)
	return &jsonProtocol{body: body, name: name}
}

func (j *jsonProtocol) operation() string { return j.name }

func (j *jsonProtocol) contentType() string { return jsonType }

func (j *jsonProtocol) find() (operation, *fault) {
	op, ok := operations[j.name]
	switch {
	case ok:
		return op, nil
	case j.name == "":
		return operation{}, invalidAction.is("Name an operation in the header X-Amz-Target, as AmazonSQS.ListQueues.")
	}
	return operation{}, unknownAction(j.name)
}

// decoded counts a text twice: one with escapes is put together in memory that grows.
func (j *jsonProtocol) decoded() int64 { return int64(len(j.body)) + jsonwire.Decoded(j.body) }

// decode reads one object; an empty body is an empty one. Members that are not known are passed over, as AWS does.
func (j *jsonProtocol) decode(request any) error {
	if scan(j.body, request) {
		return nil
	}
	start := bytes.TrimLeft(j.body, " \t\r\n")
	if len(start) == 0 {
		return nil
	}
	if bytes.Count(j.body, []byte(",")) >= maxValues && !fewValues(j.body) {
		return tooManyValues()
	}
	if err := j.unmarshal(request); err != nil {
		return malformedRequest.is(explain(j.body, err))
	}
	if start[0] != '{' {
		return malformedRequest.is("The request body must be a JSON object.")
	}
	return nil
}

// unmarshal reads a request that has texts that are not Unicode once more, repaired, if its entries are judged one by one.
func (j *jsonProtocol) unmarshal(request any) error {
	err := json.Unmarshal(j.body, request)
	if _, unreadable := errors.AsType[*jsontext.SyntacticError](err); !unreadable || !hasEntries(request) {
		return err
	}
	body, changed := repairedJSON(j.body)
	if !changed {
		return err
	}
	reflect.ValueOf(request).Elem().SetZero()
	if json.Unmarshal(body, request) != nil {
		return err
	}
	return nil
}

// fewValues says that the text has at most [maxValues], or is not JSON. It is asked when the text has as many commas, which
// may well be in the messages.
func fewValues(body []byte) bool {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	for range 2 * maxValues { // with the names of members, and what begins and ends an object
		if _, err := decoder.ReadToken(); err != nil {
			return true
		}
	}
	return false
}

// explain says in plain words what is wrong with a request.
func explain(body []byte, err error) string {
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		want, at := jsonwire.Wanted(wrong.GoType), jsonwire.Place(body, wrong.ByteOffset)
		switch {
		case errors.Is(wrong.Err, strconv.ErrRange):
			want = "a whole number of at most 64 bits"
		case want == "text of bytes":
			want = "base64 (the standard alphabet, with padding)"
		}
		if wrong.JSONPointer == "" {
			return "The request body must be " + want + at + "."
		}
		return "The parameter " + jsonwire.FieldName(wrong.JSONPointer) + " must be " + want + at + "."
	}
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return "The request body is not valid JSON."
	}
	if errors.Is(wrong.Err, jsontext.ErrDuplicateName) {
		return "The parameter " + jsonwire.FieldName(wrong.JSONPointer) + " is given twice" + jsonwire.Place(body, wrong.ByteOffset) + "."
	}
	return jsonwire.NotJSON(body, wrong)
}

func (j *jsonProtocol) answer(b []byte, answer any, _ string) []byte { return appendAnswer(b, answer) }

func (j *jsonProtocol) fault(b []byte, f *fault, _ string) []byte {
	shape := f.shape
	if !strings.Contains(shape, "#") {
		shape = ownShapes + shape
	}
	b = jsonwire.AppendString(append(b, `{"__type":`...), shape)
	b = jsonwire.AppendString(append(b, `,"message":`...), f.message)
	return append(b, '}')
}

// answerInJSON is the answer of the Query protocol to those who accept JSON.
func (q *queryProtocol) answerInJSON(b []byte, answer any, requestID string) []byte {
	b = append(append(append(b, `{"`...), q.action...), `Response":{`...)
	if _, none := answer.(*nothing); !none {
		b = append(append(append(b, '"'), q.action...), `Result":`...)
		b = append(appendAnswer(b, answer), ',')
	}
	b = jsonwire.AppendString(append(b, `"ResponseMetadata":{"RequestId":`...), requestID)
	return append(b, `}}}`...)
}

func faultInJSON(b []byte, f *fault, message, requestID string) []byte {
	b = jsonwire.AppendString(append(b, `{"Error":{"Type":`...), f.sender())
	b = jsonwire.AppendString(append(b, `,"Code":`...), f.code)
	b = jsonwire.AppendString(append(b, `,"Message":`...), message)
	b = jsonwire.AppendString(append(b, `,"Detail":null},"RequestId":`...), requestID)
	return append(b, '}')
}

// appendAnswer appends an answer. Those on a message's way are appended by hand.
func appendAnswer(b []byte, answer any) []byte {
	switch a := answer.(type) {
	case *nothing:
		return append(b, `{}`...)
	case *sent:
		return append(appendSent(append(b, '{'), a), '}')
	case *sendMessageBatchAnswer:
		b = appendEntries(append(b, '{'), `"Successful":[`, a.Successful, appendSentEntry)
		return endBatch(b, a.Failed)
	case *receiveMessageAnswer:
		return append(appendEntries(append(b, '{'), `"Messages":[`, a.Messages, appendMessage), '}')
	case *deleteMessageBatchAnswer:
		b = appendEntries(append(b, '{'), `"Successful":[`, a.Successful, appendDone)
		return endBatch(b, a.Failed)
	}
	rest, err := json.Marshal(answer, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("sqs: an answer cannot be encoded: " + err.Error())
	}
	return append(b, rest...)
}

// appendEntries appends a member that is a list, or nothing if the list is empty.
func appendEntries[T any](b []byte, name string, entries []T, entry func([]byte, *T) []byte) []byte {
	if len(entries) == 0 {
		return b
	}
	b = append(b, name...)
	for i := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(entry(append(b, '{'), &entries[i]), '}')
	}
	return append(b, ']')
}

// endBatch appends what failed.
func endBatch(b []byte, failed []failedEntry) []byte {
	name := `"Failed":[`
	if b[len(b)-1] != '{' {
		name = `,"Failed":[`
	}
	return append(appendEntries(b, name, failed, appendFailed), '}')
}

func appendSent(b []byte, s *sent) []byte {
	b = jsonwire.AppendString(append(b, `"MessageId":`...), s.MessageID)
	b = jsonwire.AppendString(append(b, `,"MD5OfMessageBody":`...), s.MD5OfMessageBody)
	b = appendGiven(b, `,"MD5OfMessageAttributes":`, s.MD5OfMessageAttributes)
	b = appendGiven(b, `,"MD5OfMessageSystemAttributes":`, s.MD5OfMessageSystemAttributes)
	return appendGiven(b, `,"SequenceNumber":`, s.SequenceNumber)
}

// appendGiven appends a member unless it is empty.
func appendGiven(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return jsonwire.AppendString(append(b, name...), value)
}

func appendSentEntry(b []byte, e *sentEntry) []byte {
	b = jsonwire.AppendString(append(b, `"Id":`...), e.ID)
	return appendSent(append(b, ','), &e.sent)
}

func appendDone(b []byte, e *doneEntry) []byte {
	return jsonwire.AppendString(append(b, `"Id":`...), e.ID)
}

func appendFailed(b []byte, e *failedEntry) []byte {
	b = jsonwire.AppendString(append(b, `"Id":`...), e.ID)
	b = strconv.AppendBool(append(b, `,"SenderFault":`...), e.SenderFault)
	b = jsonwire.AppendString(append(b, `,"Code":`...), e.Code)
	return appendGiven(b, `,"Message":`, e.Message)
}

func appendMessage(b []byte, m *message) []byte {
	b = jsonwire.AppendString(append(b, `"MessageId":`...), m.MessageID)
	b = jsonwire.AppendString(append(b, `,"ReceiptHandle":`...), m.ReceiptHandle)
	b = jsonwire.AppendString(append(b, `,"MD5OfBody":`...), m.MD5OfBody)
	b = jsonwire.AppendString(append(b, `,"Body":`...), m.Body)
	b = appendByName(b, `,"Attributes":{`, m.Attributes, func(b []byte, value string) []byte {
		return jsonwire.AppendString(b, value)
	})
	b = appendGiven(b, `,"MD5OfMessageAttributes":`, m.MD5OfMessageAttributes)
	return appendByName(b, `,"MessageAttributes":{`, m.MessageAttributes, appendAttribute)
}

// appendByName appends a member that is a map, in the order of its keys, or nothing if the map is empty.
func appendByName[T any](b []byte, name string, values map[string]T, value func([]byte, T) []byte) []byte {
	if len(values) == 0 {
		return b
	}
	b = append(b, name...)
	var few [16]string
	keys := slices.AppendSeq(few[:0], maps.Keys(values))
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = value(append(jsonwire.AppendString(b, key), ':'), values[key])
	}
	return append(b, '}')
}

func appendAttribute(b []byte, a messageAttribute) []byte {
	b = append(b, '{')
	if a.StringValue != nil {
		b = append(jsonwire.AppendString(append(b, `"StringValue":`...), *a.StringValue), ',')
	}
	if a.BinaryValue != nil {
		b = append(jsonwire.AppendBase64(append(b, `"BinaryValue":`...), a.BinaryValue), ',')
	}
	return append(jsonwire.AppendString(append(b, `"DataType":`...), a.DataType), '}')
}

// asJSON encodes what cannot fail to encode.
func asJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
