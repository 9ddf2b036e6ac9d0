package sqs

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// queryRequest is a request with the parameters in its body.
func queryRequest(body string) *queryProtocol {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	return newQuery(r, []byte(body))
}

var unexported = cmp.AllowUnexported(sendMessageRequest{}, sendMessageEntry{}, outgoing{}, sentEntry{}, sent{})

func TestQueryDecode(t *testing.T) {
	t.Parallel()
	three, a, b := 3, "a", "b"
	for _, tc := range []struct {
		name, body string
		want       any
	}{
		{"no parameters", "", &listQueuesRequest{}},
		{"unknown ones", "Action=x&Unknown.1=2&X-Amz-Date=3&=&.&%zz=1&&MaxResults.1=7", &listQueuesRequest{}},
		{"scalars", "QueueNamePrefix=a%20b+c&MaxResults=3", &listQueuesRequest{QueueNamePrefix: "a b c", MaxResults: &three}},
		{"the last of several", "QueueNamePrefix=1&QueueNamePrefix=2", &listQueuesRequest{QueueNamePrefix: "2"}},
		{"escaped names", "Queue%4eamePrefix=1", &listQueuesRequest{QueueNamePrefix: "1"}},
		{"a list with gaps, unordered", "TagKey.10=c&TagKey.9=b&TagKey.1=a", &untagQueueRequest{TagKeys: []string{"a", "b", "c"}}},
		{"a list with member", "TagKey.member.2=b&TagKey.member.1=a", &untagQueueRequest{TagKeys: []string{"a", "b"}}},
		{"a list without a number", "TagKey=a", &untagQueueRequest{TagKeys: []string{"a"}}},
		{"an empty list", "TagKey=", &untagQueueRequest{TagKeys: []string{}}},
		{"an empty entry", "TagKey.1=", &untagQueueRequest{TagKeys: []string{""}}},
		{"no numbers", "TagKey.x=a&TagKey.-1=a&TagKey.1a=a&TagKey.99999999999999999999=a", &untagQueueRequest{}},
		{"names longer than any", "TagKey" + strings.Repeat(".member", 30) + ".1=a&TagKey." + strings.Repeat("0", 200) + "1=a", &untagQueueRequest{}},
		{"a map", "Tag.1.Key=a&Tag.1.Value=1&Tag.2.Value=2&Tag.2.Key=b&Tag.3.Key=c", &tagQueueRequest{Tags: map[string]string{"a": "1", "b": "2", "c": ""}}},
		{"a map with member", "Tag.member.1.Key=a&Tag.member.1.Value=1", &tagQueueRequest{Tags: map[string]string{"a": "1"}}},
		{"a map without a number", "Tag.Value=1&Tag.Key=a", &tagQueueRequest{Tags: map[string]string{"a": "1"}}},
		{
			"a map of structs without a number", "MessageAttribute.Name=n&MessageAttribute.Value.DataType=String&MessageAttribute.Value.StringValue=a",
			&sendMessageRequest{outgoing: outgoing{MessageAttributes: map[string]messageAttribute{"n": {DataType: "String", StringValue: &a}}}},
		},
		{
			"structs in a list",
			"SendMessageBatchRequestEntry.2.Id=2&SendMessageBatchRequestEntry.1.Id=1&SendMessageBatchRequestEntry.1.MessageGroupId=b&SendMessageBatchRequestEntry=",
			&sendMessageBatchRequest{Entries: []sendMessageEntry{{ID: "1", outgoing: outgoing{MessageGroupID: &b}}, {ID: "2"}}},
		},
		{"a list in an attribute", "MessageAttribute.1.Name=n&MessageAttribute.1.Value.BinaryListValue.1=AAE=", &sendMessageRequest{outgoing: outgoing{
			MessageAttributes: map[string]messageAttribute{"n": {BinaryListValues: [][]byte{{0, 1}}}},
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := reflect.New(reflect.TypeOf(tc.want).Elem()).Interface()
			if err := queryRequest(tc.body).decode(got); err != nil {
				t.Fatalf("decode(%s): %v", tc.body, err)
			}
			if diff := cmp.Diff(tc.want, got, unexported); diff != "" {
				t.Errorf("decode(%s) (-want +got):\n%s", tc.body, diff)
			}
		})
	}
}

func TestQueryDecodeReadsURLAndBody(t *testing.T) {
	t.Parallel()
	body := "Action=SendMessage&MessageBody=b"
	r := httptest.NewRequest(http.MethodPost, "/1/q?QueueUrl=u&MessageGroupId=g", strings.NewReader(body))
	var got sendMessageRequest
	q := newQuery(r, []byte(body))
	if err := q.decode(&got); err != nil {
		t.Fatal(err)
	}
	if q.operation() != "SendMessage" || *got.QueueURL != "u" || got.MessageBody != "b" || *got.MessageGroupID != "g" {
		t.Errorf("%s: %+v, want the parameters of URL and body", q.operation(), got)
	}
}

// filler fills values so that no two are the same.
type filler struct {
	random *rand.Rand
	// noLists leaves out the lists of attributes, which no answer has.
	noLists bool
	n       int
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !f.noLists || !strings.HasSuffix(v.Type().Field(i).Name, "ListValues") {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.String:
		texts := []string{" ", "<&>\"'\r\n\t", "é😀", "a.b.1", "]]>", "+%26=&"}
		v.SetString(texts[f.random.IntN(len(texts))] + strconv.Itoa(f.n))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 255, byte(f.n), byte(f.n >> 8)})
			return
		}
		for range 1 + f.random.IntN(12) {
			entry := reflect.New(v.Type().Elem()).Elem()
			f.fill(entry)
			v.Set(reflect.Append(v, entry))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + f.random.IntN(12) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("no value of type " + v.Type().String())
	}
}

// member is how the tags of a field say it is written.
func member(f reflect.StructField) (name string, flat []string) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	if tag := f.Tag.Get("flat"); tag != "" {
		flat = strings.Split(tag, ",")
	}
	return name, flat
}

// flatten writes a request as parameters, numbering entries from some number on with gaps.
func (f *filler) flatten(form url.Values, prefix string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, flat := member(v.Type().Field(i))
			field, number := v.Field(i), f.random.IntN(3)
			at := strings.TrimPrefix(prefix+".", ".")
			switch {
			case v.Type().Field(i).Anonymous:
				f.flatten(form, prefix, field)
			case flat == nil:
				f.flatten(form, at+name, field)
			case len(flat) == 1:
				for n := range field.Len() {
					number += 1 + f.random.IntN(3)
					f.flatten(form, at+flat[0]+"."+strconv.Itoa(number), field.Index(n))
				}
			default:
				for _, key := range field.MapKeys() {
					number += 1 + f.random.IntN(3)
					entry := at + flat[0] + "." + strconv.Itoa(number) + "."
					f.flatten(form, entry+flat[1], key)
					f.flatten(form, entry+flat[2], field.MapIndex(key))
				}
			}
		}
	case reflect.Pointer:
		f.flatten(form, prefix, v.Elem())
	case reflect.Slice:
		form.Set(prefix, base64Of(v.Bytes()))
	case reflect.String:
		form.Set(prefix, v.String())
	case reflect.Int:
		form.Set(prefix, strconv.FormatInt(v.Int(), 10))
	default:
		panic("no parameter of type " + v.Type().String())
	}
}

// Every member of every request can be given in Query.
func TestRequestsInQuery(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				f := filler{random: rand.New(rand.NewPCG(seed, 0))}
				want := operations[name].input()
				f.fill(reflect.ValueOf(want).Elem())
				form := url.Values{"Action": {name}}
				f.flatten(form, "", reflect.ValueOf(want).Elem())
				pairs := strings.Split(form.Encode(), "&")
				f.random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
				got := operations[name].input()
				if err := queryRequest(strings.Join(pairs, "&")).decode(got); err != nil {
					t.Fatalf("seed %d: decode(%s): %v", seed, pairs, err)
				}
				if diff := cmp.Diff(want, got, unexported); diff != "" {
					t.Fatalf("seed %d: decode(%s) (-want +got):\n%s", seed, pairs, diff)
				}
			}
		})
	}
}

// values counts what a request was decoded into.
func values(v reflect.Value) int {
	n := 1
	switch v.Kind() {
	case reflect.Struct:
		n = 0
		for _, field := range v.Fields() {
			n += values(field)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return values(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 1
		}
		for i := range v.Len() {
			n += values(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			n += values(v.MapIndex(key))
		}
	default:
	}
	return n
}

// mostValues is how many a request with so many separators can be decoded into: one of them can begin an entry with a
// struct of structs.
func mostValues(separators int) int { return 100 + 50*separators }

func FuzzQueryDecode(f *testing.F) {
	for _, seed := range []string{
		"QueueUrl=q&MessageBody=a+b%26&DelaySeconds=1", "TagKey.2=b&TagKey.1=a&TagKey=c", "Attribute.Name=a&Attribute.Value=b",
		"MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AAE%3D",
		"SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageAttribute.member.1.Name=n",
		"Tag.1.Value=x", "TagKey.member.member.1=x", "Tag.1.Key.Key=x&Tag.01.Key=y", "%", "=&=", "MaxResults=1&MaxResults=x",
	} {
		for name := range operations {
			f.Add(name, seed)
		}
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		op, ok := operations[name]
		if !ok {
			t.Skip()
		}
		in, again := op.input(), op.input()
		err := queryRequest(body).decode(in)
		if err == nil {
			if got, most := values(reflect.ValueOf(in)), mostValues(strings.Count(body, "&")); got > most {
				t.Fatalf("%s: %d values of %d bytes, want at most %d", name, got, len(body), most)
			}
		}
		// Which of several parameters with one name counts depends on their order, which stays the same.
		if other := queryRequest(body).decode(again); (err == nil) != (other == nil) || err == nil && !reflect.DeepEqual(in, again) {
			t.Fatalf("%s: %s decodes into %+v (%v), then into %+v (%v)", name, body, in, err, again, other)
		}
	})
}

func BenchmarkSendMessageQuery(b *testing.B) {
	body := []byte(url.Values{
		"Action": {"SendMessage"}, "Version": {"2012-11-05"}, "QueueUrl": {"http://127.0.0.1:8080/000000000000/q"}, "MessageBody": {strings.Repeat("x", 1024)},
	}.Encode())
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	answer := &sent{MessageID: "c428e60d-941f-6c8c-bba0-94d0c9168279", MD5OfMessageBody: "8b04d5e3775d298e78455efc5ca404d5"}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		p := newProtocol(r, body)
		in := operations[p.operation()].input()
		if err := p.decode(in); err != nil {
			b.Fatal(err)
		}
		out = p.answer(out[:0], answer, "id")
	}
}
