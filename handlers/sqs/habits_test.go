package sqs_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// shapes are URLs of the queue "orders" as this server, others and people write them.
var shapes = []string{
	"http://sqs.test:8080/000000000000/orders",
	"http://sqs.test:8080/000000000000/orders/",
	"http://sqs.test:8080/000000000000/orders//",
	"http://sqs.test:8080//000000000000//orders",
	"HTTPS://ELSEWHERE/000000000000/orders",
	"http://localhost:9324/queue/orders",
	"http://localhost:9324/queue/orders/",
	"http://localhost:4100/orders",
	"http://localhost:4100/orders/",
	"http://localhost:3001/1/orders",
	"http://localhost:4566/queue/us-east-1/000000000000/orders",
	"http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/orders",
	"http://us-east-1.queue.localhost.localstack.cloud:4566/000000000000/orders",
	"https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
	"https://queue.amazonaws.com/123456789012/orders",
	"http://proxy.example/some/prefix/000000000000/orders",
	"http://sqs.test:8080/000000000000/orders?Version=2012-11-05",
	"http://sqs.test:8080/000000000000/orders#fragment",
	"http://sqs.test:8080/000000000000/%6Frders",
	"http://[::1]:8080/000000000000/orders",
	"localhost:8080/000000000000/orders",
	"//sqs.test:8080/000000000000/orders",
	"/000000000000/orders",
	"000000000000/orders",
	"/orders",
}

// unusable are values of QueueUrl that name no queue there is.
var unusable = []string{
	"", "/", "//", "http://bad", "http://bad/", "http://bad:80//", "https://", "http%3A%2F%2Fbad", "http://orders", "http://sqs.test:8080/?orders",
	"bad name", "ord%65rs%", "http://sqs.test:8080/000000000000/none", "http://sqs.test:8080/000000000000/orders%2Fx",
	"http://sqs.test:8080/000000000000/orders/x", "http://sqs.test:8080/000000000000/..", "arn:aws:sqs:us-east-1:000000000000:orders",
	"orders,paid", strings.Repeat("x", 81), "\u00e9",
}

func TestQueueURLsOfAllShapesReachTheQueue(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.queue("orders", nil)
		for _, u := range append([]string{"orders", "ord%65rs", url.QueryEscape(shapes[0])}, shapes...) {
			s.do("SendMessage", params{"QueueUrl": u, "MessageBody": u}).ok()
			got := s.do("ReceiveMessage", params{"QueueUrl": u}).ok().list("Messages")
			if len(got) != 1 || got[0].text("Body") != u {
				t.Fatalf("received %v by %s, want the message sent by it", got, u)
			}
			s.do("DeleteMessage", params{"QueueUrl": u, "ReceiptHandle": got[0].text("ReceiptHandle")}).ok()
		}
	})
}

func TestPathsOfAllShapesReachTheQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("orders", nil)
	for _, u := range shapes {
		_, rest, absolute := strings.Cut(u, "://")
		if !absolute {
			continue
		}
		path := rest[strings.Index(rest, "/"):]
		path, _, _ = strings.Cut(path, "#")
		path, query, _ := strings.Cut(path, "?")
		get := path + "?Action=SendMessage&MessageBody=m&" + query
		for name, got := range map[string]*answer{
			"JSON":       s.rawJSON("SendMessage", path, `{"MessageBody":"m"}`),
			"JSON, null": s.rawJSON("SendMessage", path, `{"MessageBody":"m","QueueUrl":null}`),
			"form":       s.form(path, url.Values{"Action": {"SendMessage"}, "MessageBody": {"m"}}),
			"GET":        s.get(get),
			"both":       s.form(path+"?Action=SendMessage", url.Values{"MessageBody": {"m"}}),
		} {
			if got.status != http.StatusOK {
				t.Errorf("%s at %s: answered %d %s", name, path, got.status, got.body)
			}
		}
	}
}

func TestAnUnusableQueueURLIsNoQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("orders", nil)
	inForm := func(operation, u string) url.Values {
		return url.Values{"Action": {operation}, "QueueUrl": {u}, "MessageBody": {"m"}, "AttributeName.1": {"All"}}
	}
	for _, u := range unusable {
		for _, path := range []string{"/", "/000000000000/orders", "/queue/orders"} {
			for _, operation := range []string{"SendMessage", "ReceiveMessage", "PurgeQueue", "GetQueueAttributes", "DeleteQueue"} {
				s.rawJSON(operation, path, `{"MessageBody":"m","QueueUrl":"`+u+`"}`).refused(400, noQueue, "The specified queue does not exist.")
				const inQuery = "The specified queue does not exist for this wsdl version."
				s.form(path, inForm(operation, u)).refused(400, noQueue, inQuery)
				s.get(path+"?"+inForm(operation, u).Encode()).refused(400, noQueue, inQuery)
			}
		}
	}
	shown := s.json("GetQueueAttributes", params{"QueueUrl": "orders", "AttributeNames": []string{"ApproximateNumberOfMessages"}}).ok()
	if got := shown.object("Attributes").text("ApproximateNumberOfMessages"); got != "0" {
		t.Errorf("the queue of the path has %s messages, want none", got)
	}
}

func TestCreateQueueIsOfTheServiceOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	create := url.Values{"Action": {"CreateQueue"}, "QueueName": {"q"}}
	for _, path := range []string{"/", "//", "/sqs", "/sqs/"} {
		s.form(path, create).ok()
	}
	for _, path := range []string{"/000000000000/q", "/000000000000/q/", "//000000000000//q", "/queue/q"} {
		s.form(path, create).refused(400, "InvalidAction", "The action CreateQueue is not valid for this endpoint.")
	}
}

func TestHTTP10WithoutAHostGetsAUsableURL(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.host = ""
		web := httptest.NewServer(s.handler)
		t.Cleanup(web.Close)
		address := strings.TrimPrefix(web.URL, "http://")
		for _, operation := range []string{"CreateQueue", "GetQueueUrl", "ListQueues"} {
			body := `{"QueueName":"q"}`
			head := "POST / HTTP/1.0\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS." + operation + "\r\n"
			if s.queries {
				body = "Action=" + operation + "&QueueName=q"
				head = "POST / HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\n"
			}
			got := overTheWire(t, address, head+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
			if want := web.URL + "/000000000000/q"; !strings.Contains(got, want) {
				t.Errorf("%s answered %s\nwant %s in it", operation, got, want)
			}
		}
	})
}

// What a request is read as, by its Content-Type, X-Amz-Target and body.
func TestProtocolOfARequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("q", nil)
	const (
		inXML  = "text/xml"
		inJSON = "application/x-amz-json-1.0"
		form   = "application/x-www-form-urlencoded"
	)
	for _, tc := range []struct {
		name, path, label, target, body string
		status                          int
		want                            string
	}{
		{"Query with a target", "/", form, "AmazonSQS.ListQueues", "Action=ListQueues", 200, inXML},
		{"Query with a charset and a target", "/", form + "; charset=utf-8", "AmazonSQS.ListQueues", "Action=ListQueues", 200, inXML},
		{"Query with its action in the URL and a target", "/?Action=ListQueues", form, "AmazonSQS.ListQueues", "", 200, inXML},
		{"an error in Query with a target", "/", form, "AmazonSQS.GetQueueUrl", "Action=GetQueueUrl&QueueName=none", 400, inXML},
		{"Query without a label, with a target", "/", "", "AmazonSQS.ListQueues", "Action=ListQueues", 200, inXML},
		{"Query without a label", "/", "", "", "Action=ListQueues", 200, inXML},
		{"Query with a label of text", "/", "text/plain", "", "Action=ListQueues", 200, inXML},
		{"JSON labeled as a form", "/", form, "AmazonSQS.ListQueues", `{"QueueNamePrefix":"&Action=DeleteQueue"}`, 200, inJSON},
		{"JSON labeled as a form, after spaces", "/", form, "AmazonSQS.ListQueues", " \r\n{}", 200, inJSON},
		{"an empty body labeled as a form", "/", form, "AmazonSQS.ListQueues", "", 200, inJSON},
		{"JSON without a label", "/", "", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"an empty body without a label", "/", "", "AmazonSQS.ListQueues", "", 200, inJSON},
		{"plain JSON with a target", "/", "application/json", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"a charset", "/", inJSON + "; charset=UTF-8", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"a broken parameter", "/", inJSON + "; charset", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"upper case", "/", "Application/X-AMZ-JSON-1.0", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"the later version", "/", "application/x-amz-json-1.1", "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"JSON with an action in the URL", "/?Action=DeleteQueue", inJSON, "AmazonSQS.ListQueues", `{}`, 200, inJSON},
		{"plain JSON without a target", "/", "application/json", "", `{}`, 400, inJSON},
		{"Amazon's JSON without a target", "/", inJSON, "", `{}`, 400, inJSON},
		{"plain JSON with an action in the URL", "/?Action=ListQueues", "application/json", "", "", 200, inXML},
		{"a form without an action", "/", form, "", "QueueName=q", 404, inXML},
		{"the target of another service", "/", inJSON, "DynamoDB_20120810.ListTables", `{}`, 400, inJSON},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tc.path, strings.NewReader(tc.body))
		if tc.label != "" {
			r.Header["Content-Type"] = []string{tc.label}
		}
		if tc.target != "" {
			r.Header.Set("x-amz-target", tc.target)
		}
		got := s.send(r)
		if got.status != tc.status || got.header.Get("Content-Type") != tc.want {
			t.Errorf("%s: answered %d %s %s\nwant %d %s", tc.name, got.status, got.header.Get("Content-Type"), got.body, tc.status, tc.want)
		}
		if got.header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s: the answer has no request id", tc.name)
		}
	}
}

// overTheWire is the whole answer to a request that the client of net/http would not send.
func overTheWire(t *testing.T, address, request string) string {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAnAttemptOnAStandardQueueIsIgnored(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.batch(url, []string{"a", "b"}).ok()
		for _, id := range []string{"try-1", "try-1", "a b", "", strings.Repeat("x", 129)} {
			s.do("ReceiveMessage", params{"QueueUrl": url, "ReceiveRequestAttemptId": id}).ok()
		}
		s.counts(url, 0, 2, 0)
	})
}

func TestAPolicyWithoutStatementsIsKept(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for _, text := range []string{`{"Version":"2012-10-17"}`, `{"Test":"Test"}`, `{}`, `{"Version":"2012-10-17","Id":"x","Statement":[]}`} {
			s.set(url, attrs{"Policy": text}).ok()
			s.shows(url, attrs{"Policy": text})
		}
		s.queue("q", attrs{"Policy": `{"Version":"2012-10-17","Id":"x","Statement":[]}`})
		s.set(url, attrs{"Policy": `{"Id": "mine"}`}).ok()
		s.do("RemovePermission", params{"QueueUrl": url, "Label": "a"}).refused(400, badValue, "")
		s.shows(url, attrs{"Policy": `{"Id":"mine"}`})
		s.permit(url, "a", []string{"111122223333"}, []string{"SendMessage"}).ok()
		s.shows(url, attrs{"Policy": `{"Version":"2008-10-17","Id":"mine","Statement":[{"Sid":"a","Effect":"Allow",` +
			`"Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"SQS:SendMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:q"}]}`})
		s.do("RemovePermission", params{"QueueUrl": url, "Label": "a"}).ok()
		if got := s.shown(url, "Policy"); len(got) > 0 {
			t.Errorf("without its last permission the queue shows %v", got)
		}
	})
}

func TestListValuesFailTheWholeCall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for _, url := range []string{s.queue("q", nil), s.fifo("q", nil)} {
			fine := params{"Id": "fine", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
			for name, list := range map[string]params{
				"texts":          {"StringListValues": []string{"x"}},
				"no texts":       {"StringListValues": []string{}},
				"bytes":          {"BinaryListValues": [][]byte{{1}}},
				"no bytes":       {"BinaryListValues": [][]byte{}},
				"beside a value": {"StringValue": "x", "StringListValues": []string{"y"}},
			} {
				attribute := with(params{"DataType": "String"}, list)
				for _, member := range []string{"MessageAttributes", "MessageSystemAttributes"} {
					if s.queries && strings.HasPrefix(name, "no ") {
						continue // flatten leaves out empty lists: see below
					}
					bad := with(fine, params{"Id": "bad", "MessageDeduplicationId": "e", member: params{"AWSTraceHeader": attribute}})
					s.do("SendMessage", with(bad, params{"QueueUrl": url})).refused(400, "AWS.SimpleQueueService.UnsupportedOperation",
						"Message attribute list values in SendMessage operation are not supported.")
					s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": []params{fine, bad}}).refused(400,
						"AWS.SimpleQueueService.UnsupportedOperation", "Message attribute list values in SendMessageBatch operation are not supported.")
				}
			}
			for _, list := range []string{"StringListValue", "BinaryListValue"} {
				s.form("/", map[string][]string{
					"Action": {"SendMessage"}, "QueueUrl": {url}, "MessageBody": {"m"}, "MessageGroupId": {"g"},
					"MessageAttribute.1.Name": {"a"}, "MessageAttribute.1.Value.DataType": {"String"}, "MessageAttribute.1.Value." + list: {""},
				}).
					refused(400, "AWS.SimpleQueueService.UnsupportedOperation", "")
				entry := "SendMessageBatchRequestEntry.2."
				s.form("/", map[string][]string{
					"Action": {"SendMessageBatch"}, "QueueUrl": {url},
					"SendMessageBatchRequestEntry.1.Id": {"a"}, "SendMessageBatchRequestEntry.1.MessageBody": {"m"},
					entry + "Id": {"b"}, entry + "MessageBody": {"m"}, entry + "MessageAttribute.1.Name": {"a"}, entry + "MessageAttribute.1.Value." + list: {""},
				}).
					refused(400, "AWS.SimpleQueueService.UnsupportedOperation", "")
			}
			s.counts(url, 0, 0, 0)
		}
	})
}

func TestALoneSurrogateFailsItsEntry(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("q", nil)
	for _, bad := range []string{`\ud800`, `\uDFFF`, `a\ud83d`, `\ud83d\ud83d\ude00`, `\ud83dx\ude00`, `\\\ud800`, "\xed\xa0\x80", "\xff", `\ud800` + "\xff"} {
		s.rawJSON("SendMessage", "/", `{"QueueUrl":"q","MessageBody":"`+bad+`"}`).refused(400, "InvalidMessageContents", "")
		got := s.rawJSON("SendMessageBatch", "/", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"fine"},`+
			`{"Id":"bad","MessageBody":"`+bad+`"},{"Id":"b","MessageBody":"\ud83d\ude00 \\ud800"}]}`).ok()
		same(t, "successful with "+bad, ids(got.list("Successful")), []string{"a", "b"})
		same(t, "failed with "+bad, ids(got.list("Failed")), []string{"bad"})
		same(t, "code", got.list("Failed")[0].text("Code"), "InvalidMessageContents")
		s.gives(url, "fine", `😀 \ud800`)

		attribute := `"MessageAttributes":{"a":{"DataType":"String","StringValue":"` + bad + `"}}`
		got = s.rawJSON("SendMessageBatch", "/", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"fine"},`+
			`{"Id":"bad","MessageBody":"x",`+attribute+`}]}`).ok()
		same(t, "failed with "+bad, ids(got.list("Failed")), []string{"bad"})
		s.gives(url, "fine")

		for _, operation := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			s.put(url, "m")
			m := s.one(url)
			got = s.rawJSON(operation, "/", `{"QueueUrl":"q","Entries":[{"Id":"bad","ReceiptHandle":"`+bad+`","VisibilityTimeout":5},`+
				`{"Id":"a","ReceiptHandle":"`+handle(m)+`","VisibilityTimeout":5}]}`).ok()
			same(t, "successful", ids(got.list("Successful")), []string{"a"})
			same(t, "code", got.list("Failed")[0].text("Code"), "ReceiptHandleIsInvalid")
			s.remove(url, handle(m)).ok()
		}
	}
	for _, bad := range []string{"%ED%A0%80", "%FF", "a%C3"} {
		post := func(body string) *answer {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			return s.send(r)
		}
		post("Action=SendMessage&QueueUrl=q&MessageBody="+bad).refused(400, "InvalidMessageContents", "")
		got := post("Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=fine" +
			"&SendMessageBatchRequestEntry.2.Id=bad&SendMessageBatchRequestEntry.2.MessageBody=" + bad).ok()
		same(t, "successful with "+bad, ids(got.list("Successful")), []string{"a"})
		same(t, "failed with "+bad, ids(got.list("Failed")), []string{"bad"})
		s.gives(url, "fine")
	}
}

func TestAQueueAsItsOwnDeadLetterQueue(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for _, url := range []string{s.queue("q", nil), s.fifo("q", attrs{"ContentBasedDeduplication": "true"})} {
			name := url[strings.LastIndexByte(url, '/')+1:]
			s.set(url, attrs{"RedrivePolicy": redriveTo(name, 2)}).ok()
			s.shows(url, attrs{"RedrivePolicy": redriveTo(name, 2)})
			same(t, "sources", s.do("ListDeadLetterSourceQueues", params{"QueueUrl": url}).ok().texts("queueUrls"), []string{url})
			in := params{"QueueUrl": url, "MessageBody": "m"}
			if strings.HasSuffix(name, ".fifo") {
				in["MessageGroupId"] = "g"
			}
			id := s.do("SendMessage", in).ok().text("MessageId")
			for round := range 3 {
				for n := range 2 {
					m := s.one(url, params{"VisibilityTimeout": 0, "AttributeNames": []string{"All"}})
					same(t, "id", m.text("MessageId"), id)
					same(t, "count", m.object("Attributes").text("ApproximateReceiveCount"), strconv.Itoa(2*round+n+1))
				}
				same(t, "past the count", len(s.receive(url)), 0)
				s.counts(url, 1, 0, 0)
			}
			m := s.one(url, params{"AttributeNames": []string{"All"}})
			same(t, "source", m.object("Attributes").text("DeadLetterQueueSourceArn"), arnOf(name))
			s.remove(url, handle(m)).ok()
			s.counts(url, 0, 0, 0)
			s.set(url, attrs{"RedrivePolicy": ""}).ok()
			s.shows(url, attrs{"RedrivePolicy": ""})
			s.set(url, attrs{"RedrivePolicy": redriveTo(name, 1)}).ok()
			s.delete(url)
		}
		s.create("new", attrs{"RedrivePolicy": redriveTo("new", 1)}).ok()
		s.set(s.queue("closed", nil), attrs{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`}).ok()
		s.set(s.queue("closed", nil), attrs{"RedrivePolicy": redriveTo("closed", 1)}).refused(400, badValue, "")
	})
}
