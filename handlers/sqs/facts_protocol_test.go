package sqs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/sqs"
)

// operations are those of SQS.
var operations = []string{
	"AddPermission", "CancelMessageMoveTask", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "CreateQueue",
	"DeleteMessage", "DeleteMessageBatch", "DeleteQueue", "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues",
	"ListMessageMoveTasks", "ListQueueTags", "ListQueues", "PurgeQueue", "ReceiveMessage", "RemovePermission", "SendMessage",
	"SendMessageBatch", "SetQueueAttributes", "StartMessageMoveTask", "TagQueue", "UntagQueue",
}

// noQueue is the code of what is asked of a queue that there is none of.
const noQueue = "AWS.SimpleQueueService.NonExistentQueue"

func TestFact001JSONRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.json("CreateQueue", params{"QueueName": "q"}).ok().want(t, params{"QueueUrl": "http://sqs.test:8080/000000000000/q"})
	s.rawJSON("ListQueues", "/", "").ok().want(t, params{"QueueUrls": []any{"http://sqs.test:8080/000000000000/q"}})
	s.rawJSON("ListQueues", "/", `{"Unknown": [1], "QueueNamePrefix": "x"}`).ok().want(t, params{})
}

func TestFact002JSONOnTheURLOfAQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.queue("q", nil)
	for _, body := range []string{`{"QueueUrl":"` + u + `","MessageBody":"m"}`, `{"MessageBody":"m"}`} {
		got := s.rawJSON("SendMessage", "/000000000000/q", body)
		if got.ok().text("MessageId") == "" {
			t.Errorf("answered %s, want a MessageId", got.body)
		}
		if ct := got.header["Content-Type"]; !cmp.Equal(ct, []string{"application/x-amz-json-1.0"}) {
			t.Errorf("Content-Type = %q, want application/x-amz-json-1.0 alone", ct)
		}
	}
	s.rawJSON("CreateQueue", "/000000000000/q", `{"QueueName":"q2"}`).ok()
}

func TestFact003Operations(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for _, name := range operations {
			got := s.do(name, params{})
			if got.status != http.StatusOK && got.status != http.StatusBadRequest {
				t.Errorf("%s without parameters answered %d %s", name, got.status, got.body)
			}
			if strings.Contains(string(got.body), "InvalidAction") || strings.Contains(string(got.body), "UnknownOperation") {
				t.Errorf("%s is not known: %s", name, got.body)
			}
		}
	})
}

func TestFact004JSONError(t *testing.T) {
	t.Parallel()
	s := start(t)
	got := s.json("GetQueueUrl", params{"QueueName": "none"})
	want := `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}`
	if string(got.body) != want {
		t.Errorf("answered %s, want %s", got.body, want)
	}
	got = s.json("FooBar", params{})
	got.refused(http.StatusBadRequest, "InvalidAction", "The action FooBar is not valid for this endpoint.")
	got.has(`"__type":"com.amazon.coral.service#UnknownOperationException"`)
}

func TestFact005QueryErrorHeader(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, tc := range []struct {
		operation string
		in        params
		want      string
	}{
		{"GetQueueUrl", params{"QueueName": "none"}, noQueue + ";Sender"},
		{"SendMessage", params{"QueueUrl": s.queue("q", nil)}, "MissingParameter;Sender"},
		{"SendMessageBatch", params{"QueueUrl": "q"}, "AWS.SimpleQueueService.EmptyBatchRequest;Sender"},
	} {
		if got := s.json(tc.operation, tc.in).header.Get("X-Amzn-Query-Error"); got != tc.want {
			t.Errorf("x-amzn-query-error of %s = %q, want %q", tc.operation, got, tc.want)
		}
	}
}

func TestFact006RequestID(t *testing.T) {
	t.Parallel()
	s := start(t)
	if id := s.json("ListQueues", params{}).header.Get("X-Amzn-Requestid"); id == "" {
		t.Error("an answer in JSON has no x-amzn-RequestId")
	}
	if id := s.json("GetQueueUrl", params{"QueueName": "none"}).header.Get("X-Amzn-Requestid"); id == "" {
		t.Error("a fault in JSON has no x-amzn-RequestId")
	}
	good := s.query("ListQueues", params{})
	if id := good.element().child("ResponseMetadata").child("RequestId").Text; id == "" || id != good.header.Get("X-Amzn-Requestid") {
		t.Errorf("RequestId of an answer in XML = %q, in its header %q", id, good.header.Get("X-Amzn-Requestid"))
	}
	bad := s.query("GetQueueUrl", params{"QueueName": "none"})
	if id := bad.element().child("RequestId").Text; id == "" || id != bad.header.Get("X-Amzn-Requestid") {
		t.Errorf("RequestId of a fault in XML = %q, in its header %q", id, bad.header.Get("X-Amzn-Requestid"))
	}
}

func TestFact007QueryError(t *testing.T) {
	t.Parallel()
	s := start(t)
	got := s.query("GetQueueUrl", params{"QueueName": "none"})
	want := `<?xml version="1.0"?><ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error><Type>Sender</Type>` +
		`<Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for this wsdl version.</Message>` +
		`<Detail/></Error><RequestId>` + got.header.Get("X-Amzn-Requestid") + `</RequestId></ErrorResponse>`
	if string(got.body) != want || got.header.Get("Content-Type") != "text/xml" {
		t.Errorf("answered %s %s\nwant text/xml %s", got.header.Get("Content-Type"), got.body, want)
	}
}

func TestFact008MissingQueueJSON(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, in := range []params{{"QueueUrl": "none"}, {"QueueUrl": "http://sqs.test:8080/000000000000/none"}} {
		in["MessageBody"] = "m"
		got := s.json("SendMessage", in)
		got.refused(http.StatusBadRequest, noQueue, "The specified queue does not exist.")
		if shape := got.shape(); shape != "QueueDoesNotExist" {
			t.Errorf("shape = %q, want QueueDoesNotExist", shape)
		}
	}
}

func TestFact009MissingQueueQuery(t *testing.T) {
	t.Parallel()
	start(t).query("SendMessage", params{"QueueUrl": "none", "MessageBody": "m"}).
		refused(http.StatusBadRequest, noQueue, "The specified queue does not exist for this wsdl version.")
}

func TestFact010BadValue(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		got := s.do("ReceiveMessage", params{"QueueUrl": s.queue("q", nil), "MaxNumberOfMessages": 11})
		got.refused(http.StatusBadRequest, "InvalidParameterValue", "")
		if !s.queries && got.shape() != "InvalidParameterValueException" {
			t.Errorf("shape = %q, want InvalidParameterValueException", got.shape())
		}
	})
}

func TestFact011MissingParameter(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		got := s.do("SendMessage", params{"MessageBody": "m"})
		got.refused(http.StatusBadRequest, "MissingParameter", "The request must contain the parameter QueueUrl.")
		if !s.queries && got.shape() != "MissingRequiredParameterException" {
			t.Errorf("shape = %q, want MissingRequiredParameterException", got.shape())
		}
	})
}

func TestFact012QueueExists(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.queue("q", nil)
		got := s.do("CreateQueue", params{"QueueName": "q", "Attributes": attrs{"DelaySeconds": "7"}})
		got.refused(http.StatusBadRequest, "QueueAlreadyExists", "")
		if !s.queries && got.shape() != "QueueNameExists" {
			t.Errorf("shape = %q, want QueueNameExists", got.shape())
		}
	})
}

func TestFact015UnknownAction(t *testing.T) {
	t.Parallel()
	got := start(t).query("FooBar", params{})
	got.refused(http.StatusBadRequest, "InvalidAction", "The action FooBar is not valid for this endpoint.")
	got.has("<Type>Sender</Type>")
}

func TestFact016NoAction(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("q", nil)
	for _, got := range []*answer{
		s.get("/000000000000/q"),
		s.get("/000000000000/q", "Accept", "application/json"),
		s.form("/", url.Values{"QueueName": {"q"}}),
	} {
		if got.status != http.StatusNotFound || !got.isXML() {
			t.Errorf("%s answered %d %s, want 404 and XML", got.call, got.status, got.header.Get("Content-Type"))
		}
		if got.has("<UnknownOperationException").element().XMLName.Local != "UnknownOperationException" {
			t.Errorf("answered %s", got.body)
		}
	}
}

func TestFact017ServiceOperationsOnTheURLOfAQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("q", nil)
	s.queue("other", nil)
	for _, name := range []string{"CreateQueue", "ListQueues"} {
		s.form("/000000000000/q", url.Values{"Action": {name}, "QueueName": {"new"}}).
			refused(http.StatusBadRequest, "InvalidAction", "The action "+name+" is not valid for this endpoint.")
	}
	s.form("/000000000000/q", url.Values{"Action": {"GetQueueUrl"}, "QueueName": {"other"}}).ok().
		want(t, params{"QueueUrl": "http://sqs.test:8080/000000000000/other"})
}

func TestFact018QueryByGET(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.get("/?Action=CreateQueue&QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1").ok()
	s.get("/000000000000/q?Action=SendMessage&MessageBody=a+b%26c&DelaySeconds=0").ok()
	got := s.get("/000000000000/q?Action=ReceiveMessage&X-Amz-Algorithm=unknown").ok().list("Messages")
	if len(got) != 1 || got[0].text("Body") != "a b&c" {
		t.Errorf("received %v, want a b&c", got)
	}
	for _, name := range operations {
		if got := s.get("/?Action=" + name); got.status == http.StatusNotFound || strings.Contains(string(got.body), "InvalidAction") {
			t.Errorf("GET of %s answered %d %s", name, got.status, got.body)
		}
	}

	inJSON := s.get("/?Action=ListQueues", "Accept", "application/json")
	var list struct {
		ListQueuesResponse struct {
			ListQueuesResult struct{ QueueUrls []string }
			ResponseMetadata struct{ RequestId string }
		}
	}
	if err := json.Unmarshal(inJSON.body, &list); err != nil {
		t.Fatal(err)
	}
	want := []string{"http://sqs.test:8080/000000000000/q"}
	if response := list.ListQueuesResponse; !cmp.Equal(response.ListQueuesResult.QueueUrls, want) || response.ResponseMetadata.RequestId == "" {
		t.Errorf("answered %s, want %q and a request id", inJSON.body, want)
	}
	if ct := inJSON.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type = %q, want application/json", ct)
	}
	refused := s.get("/?Action=GetQueueUrl&QueueName=none", "Accept", "application/json")
	refused.has(`"Code":"` + noQueue + `"`).has(`"Type":"Sender"`)
	s.get("/000000000000/q?Action=PurgeQueue", "Accept", "application/json").has(`{"PurgeQueueResponse":{"ResponseMetadata":{"RequestId":"`)
}

func TestFact019QueueURLBeatsThePath(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("q", nil)
	other := s.queue("other", nil)
	s.form("/000000000000/q", url.Values{"Action": {"SendMessage"}, "MessageBody": {"to other"}, "QueueUrl": {other}}).ok()
	s.form("/000000000000/q", url.Values{"Action": {"SendMessage"}, "MessageBody": {"to q"}}).ok()
	for queue, want := range map[string]string{"q": "to q", "other": "to other"} {
		got := s.json("ReceiveMessage", params{"QueueUrl": queue, "MaxNumberOfMessages": 10}).ok().list("Messages")
		if len(got) != 1 || got[0].text("Body") != want {
			t.Errorf("%s has %v, want %q", queue, got, want)
		}
	}
}

func TestFact020NoMessageBody(t *testing.T) {
	t.Parallel()
	s := start(t)
	got := s.query("SendMessage", params{"QueueUrl": s.queue("q", nil)})
	got.refused(http.StatusBadRequest, "MissingParameter", "The request must contain the parameter MessageBody.")
	got.has("<Code>MissingParameter</Code>").has("<Type>Sender</Type>")
}

func TestFact021EmptyReceive(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.queue("q", nil)
	got := s.query("ReceiveMessage", params{"QueueUrl": u})
	got.ok()
	got.has("<ReceiveMessageResult/>")
	if body := s.json("ReceiveMessage", params{"QueueUrl": u}).body; string(body) != "{}" {
		t.Errorf("an empty receive answered %s, want {}", body)
	}
}

func TestFact022EmptyCollections(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		u := s.queue("q", nil)
		s.do("ListQueues", params{"QueueNamePrefix": "none"}).ok().want(t, params{})
		s.do("ListQueueTags", params{"QueueUrl": u}).ok().want(t, params{})
		s.do("GetQueueAttributes", params{"QueueUrl": u, "AttributeNames": []string{"RedrivePolicy"}}).ok().want(t, params{})
	})
}

func TestFact023FlatLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.form("/", url.Values{
		"Action": {"CreateQueue"}, "QueueName": {"q"},
		"Attribute.2.Name": {"DelaySeconds"}, "Attribute.2.Value": {"0"},
		"Attribute.7.Name": {"VisibilityTimeout"}, "Attribute.7.Value": {"41"},
		"Tag.1.Key": {"team"}, "Tag.1.Value": {"blue"},
	}).ok()
	got := s.form("/000000000000/q", url.Values{
		"Action":          {"GetQueueAttributes"},
		"AttributeName.1": {"VisibilityTimeout"}, "AttributeName.2": {"DelaySeconds"},
	})
	got.has("<GetQueueAttributesResult><Attribute><Name>DelaySeconds</Name><Value>0</Value></Attribute>" +
		"<Attribute><Name>VisibilityTimeout</Name><Value>41</Value></Attribute></GetQueueAttributesResult>")
	s.form("/000000000000/q", url.Values{"Action": {"ListQueueTags"}}).
		has("<ListQueueTagsResult><Tag><Key>team</Key><Value>blue</Value></Tag></ListQueueTagsResult>")

	got = s.form("/000000000000/q", url.Values{
		"Action":                            {"SendMessageBatch"},
		"SendMessageBatchRequestEntry.2.Id": {"b"}, "SendMessageBatchRequestEntry.2.MessageBody": {"second"},
		"SendMessageBatchRequestEntry.10.Id": {"c"}, "SendMessageBatchRequestEntry.10.MessageBody": {"third"},
		"SendMessageBatchRequestEntry.1.Id": {"a"}, "SendMessageBatchRequestEntry.1.MessageBody": {"first"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.1.Name":              {"n"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType":    {"Number"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue": {"1"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.2.Name":              {"b"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.2.Value.DataType":    {"Binary"},
		"SendMessageBatchRequestEntry.1.MessageAttribute.2.Value.BinaryValue": {"AAE="},
	})
	got.has("<SendMessageBatchResult><SendMessageBatchResultEntry><Id>a</Id><MessageId>")
	got = s.form("/000000000000/q", url.Values{
		"Action": {"ReceiveMessage"}, "MaxNumberOfMessages": {"10"}, "MessageAttributeName.1": {"All"},
	})
	got.has("<ReceiveMessageResult><Message><MessageId>").has("<Body>second</Body></Message><Message>").
		has("<MessageAttribute><Name>b</Name><Value><DataType>Binary</DataType><BinaryValue>AAE=</BinaryValue></Value></MessageAttribute>" +
			"<MessageAttribute><Name>n</Name><Value><DataType>Number</DataType><StringValue>1</StringValue></Value></MessageAttribute>")
	s.form("/", url.Values{"Action": {"ListQueues"}}).
		has("<ListQueuesResult><QueueUrl>http://sqs.test:8080/000000000000/q</QueueUrl></ListQueuesResult>")
}

// Attributes of one may do without a number, as in the SQS API reference's older examples.
func TestFact023AttributesWithoutANumber(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("q", nil)
	s.form("/000000000000/q", url.Values{"Action": {"SetQueueAttributes"}, "Attribute.Name": {"VisibilityTimeout"}, "Attribute.Value": {"35"}}).ok()
	s.form("/000000000000/q", url.Values{"Action": {"GetQueueAttributes"}, "AttributeName": {"VisibilityTimeout"}}).ok().
		want(t, params{"Attributes": params{"VisibilityTimeout": "35"}})
}

func TestFact024LowerCaseNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.json("CreateQueue", params{"QueueName": "q", "tags": attrs{"team": "blue"}}).ok()
	s.json("ListQueueTags", params{"QueueUrl": "q"}).ok().want(t, params{"Tags": params{"team": "blue"}})
	if got := s.json("ListDeadLetterSourceQueues", params{"QueueUrl": "q"}).body; string(got) != `{"queueUrls":[]}` {
		t.Errorf("answered %s, want an empty queueUrls", got)
	}
	s.json("CreateQueue", params{"QueueName": "source", "Attributes": attrs{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:q","maxReceiveCount":2}`,
	}}).ok()
	want := params{"queueUrls": []any{"http://sqs.test:8080/000000000000/source"}}
	s.json("ListDeadLetterSourceQueues", params{"QueueUrl": "q"}).ok().want(t, want)
	s.query("ListDeadLetterSourceQueues", params{"QueueUrl": "q"}).ok().want(t, want)
}

func TestFact025BareQueueName(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.queue("my-queue", nil)
		s.do("SendMessage", params{"QueueUrl": "my-queue", "MessageBody": "m"}).ok()
		s.do("SetQueueAttributes", params{"QueueUrl": "my-queue", "Attributes": attrs{"VisibilityTimeout": "7"}}).ok()
		s.do("GetQueueAttributes", params{"QueueUrl": "my-queue", "AttributeNames": []string{"VisibilityTimeout"}}).ok().
			want(t, params{"Attributes": params{"VisibilityTimeout": "7"}})
		if got := s.do("ReceiveMessage", params{"QueueUrl": "my-queue"}).ok().list("Messages"); len(got) != 1 {
			t.Errorf("received %v, want one message", got)
		}
	})
}

func TestFact026TextSurvivesXML(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.queue("q", nil)
	for _, body := range []string{`"`, `&quot;`, `<a b="c">&amp;</a>`, "\r", "a\r\nb\n\tc", "]]>", "é😀\ufffd", " x ", `{"a":"\u0007"}`} {
		sent := s.query("SendMessage", params{"QueueUrl": u, "MessageBody": body, "MessageAttributes": params{
			"text": params{"DataType": "String", "StringValue": body},
		}}).ok()
		got := s.query("ReceiveMessage", params{"QueueUrl": u, "MessageAttributeNames": []string{"All"}}).ok().list("Messages")
		if len(got) != 1 {
			t.Fatalf("received %v, want one message", got)
		}
		m := got[0]
		if m.text("Body") != body || m.text("MD5OfBody") != sent.text("MD5OfMessageBody") {
			t.Errorf("sent %q, received %q", body, m.text("Body"))
		}
		if value := m.object("MessageAttributes").object("text").text("StringValue"); value != body {
			t.Errorf("sent the attribute %q, received %q", body, value)
		}
		s.query("DeleteMessage", params{"QueueUrl": u, "ReceiptHandle": m["ReceiptHandle"]}).ok()
	}
}

func TestFact132QueueURLsAreAsTheClientCame(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.host = "localhost:14566"
		u := s.queue("q", nil)
		if want := "http://localhost:14566/000000000000/q"; u != want {
			t.Errorf("QueueUrl = %s, want %s", u, want)
		}
		s.host = "proxy.example"
		s.do("SendMessage", params{"QueueUrl": u, "MessageBody": "m"}).ok()
		s.do("SendMessage", params{"QueueUrl": "https://elsewhere:1/000000000000/q", "MessageBody": "m"}).ok()
		got := s.do("ListQueues", params{}).ok().texts("QueueUrls")
		if want := []string{"http://proxy.example/000000000000/q"}; !cmp.Equal(got, want) {
			t.Errorf("QueueUrls = %q, want %q", got, want)
		}
	})
}

func TestFact132PublicURL(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sqs.Config) { c.PublicURL = "https://queues.example/sqs"; c.Account = "123456789012" })
	u := s.queue("q", nil)
	if want := "https://queues.example/sqs/123456789012/q"; u != want {
		t.Errorf("QueueUrl = %s, want %s", u, want)
	}
	s.json("SendMessage", params{"QueueUrl": u, "MessageBody": "m"}).ok()
}

func TestFact133NoAttributesNoMap(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		u := s.queue("q", nil)
		sent := s.do("SendMessage", params{"QueueUrl": u, "MessageBody": "m", "MessageAttributes": params{}}).ok()
		if _, ok := sent["MD5OfMessageAttributes"]; ok {
			t.Errorf("a send without attributes answered %v", sent)
		}
		got := s.do("ReceiveMessage", params{"QueueUrl": u, "MessageAttributeNames": []string{"All"}}).ok().list("Messages")
		if len(got) != 1 {
			t.Fatalf("received %v, want one message", got)
		}
		for _, name := range []string{"MessageAttributes", "MD5OfMessageAttributes", "Attributes"} {
			if _, ok := got[0][name]; ok {
				t.Errorf("a message without attributes has %s: %v", name, got[0])
			}
		}
	})
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.queue("q", nil)
	for _, tc := range []struct{ body, want string }{
		{`{"QueueUrl":1}`, "The parameter QueueUrl must be a string (line 1, column 13)."},
		{`{"QueueUrl":"q","DelaySeconds":"1"}`, "The parameter DelaySeconds must be a whole number (line 1, column 32)."},
		{`{"QueueUrl":"q","DelaySeconds":1e99}`, "The parameter DelaySeconds must be a whole number (line 1, column 32)."},
		{`{"QueueUrl":"q","DelaySeconds":99999999999999999999}`, "The parameter DelaySeconds must be a whole number of at most 64 bits (line 1, column 32)."},
		{`{"QueueUrl":"q","MessageAttributes":{"a":{"BinaryValue":"?"}}}`, "The parameter MessageAttributes.a.BinaryValue must be base64 (the standard alphabet, with padding) (line 1, column 57)."},
		{`[]`, "The request body must be an object (line 1, column 1)."},
		{`null`, "The request body must be a JSON object."},
		{`{"QueueUrl":"q"`, "The request body is not valid JSON: it ends too early (line 1, column 16)."},
		{`{"QueueUrl":"q","QueueUrl":"q"}`, "The parameter QueueUrl is given twice (line 1, column 17)."},
		{`{"StringListValues":[` + strings.Repeat(`1,`, 20_000) + `1]}`, "The request has more than 10000 values; split it into several."},
	} {
		got := s.rawJSON("SendMessage", "/", tc.body)
		got.refused(http.StatusBadRequest, "MalformedInput", tc.want)
		got.has(`"__type":"com.amazon.coral.service#SerializationException"`)
	}
	for _, tc := range []struct{ name, value, want string }{
		{"DelaySeconds", "1.5", "The parameter DelaySeconds must be a whole number."},
		{"DelaySeconds", "99999999999999999999", "The parameter DelaySeconds must be a whole number."},
		{"MessageAttribute.1.Value.BinaryValue", "?", "The parameter MessageAttribute.1.Value.BinaryValue must be base64 (the standard alphabet, with padding)."},
	} {
		s.form("/", url.Values{"Action": {"SendMessage"}, "QueueUrl": {u}, tc.name: {tc.value}}).
			refused(http.StatusBadRequest, "MalformedInput", tc.want)
	}
	s.rawJSON("CreateQueue", "/", "{\"QueueName\":\"\xff\"}").
		refused(http.StatusBadRequest, "MalformedInput", "The request body is not valid JSON: invalid UTF-8 (line 1, column 15).")
	s.rawJSON("TagQueue", "/", `{"QueueUrl":"q","Tags":{"a":"\ud800"}}`).refused(http.StatusBadRequest, "MalformedInput", "")
	s.form("/", url.Values{"Action": {"TagQueue"}, "QueueUrl": {u}, "Tag.Key": {"a"}, "Tag.Value": {"\xff"}}).
		refused(http.StatusBadRequest, "MalformedInput", "The value of the parameter Tag.Value is not UTF-8 in the encoding of URLs.")
	s.form("/", url.Values{"Action": {"SendMessage"}, "QueueUrl": {u}, "MessageBody": {"m"}, "MessageAttribute.3.Value.DataType": {"String"}}).
		refused(http.StatusBadRequest, "MissingParameter", "The request must contain the parameter MessageAttribute.3.Name.")

	many := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("Action=SendMessage"+strings.Repeat("&a", 10_000)))
	s.send(many).refused(http.StatusBadRequest, "MalformedInput", "The request has more than 10000 values; split it into several.")
	gzipped := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("x"))
	gzipped.Header.Set("Content-Encoding", "gzip")
	s.send(gzipped).refused(http.StatusBadRequest, "InvalidParameterValue", "")

	long := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	long.ContentLength = 1 << 30
	s.send(long).refused(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "")

	// Commas in a message are no values.
	s.json("SendMessage", params{"QueueUrl": u, "MessageBody": strings.Repeat(",", 100_000)}).ok()
}
