package sqs

import (
	"encoding/base64"
	"encoding/xml"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// element is any element of XML.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (e element) all(name string) []element {
	var found []element
	for _, c := range e.Children {
		if c.XMLName.Local == name {
			found = append(found, c)
		}
	}
	return found
}

// read fills an answer from its XML, by its tags.
func (e element) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, flat := member(v.Type().Field(i))
			field := v.Field(i)
			if v.Type().Field(i).Anonymous {
				e.read(field)
				continue
			}
			if flat == nil {
				for _, c := range e.all(name) {
					c.read(field)
				}
				continue
			}
			for _, c := range e.all(flat[0]) {
				entry := reflect.New(field.Type().Elem()).Elem()
				if len(flat) == 1 {
					c.read(entry)
					field.Set(reflect.Append(field, entry))
					continue
				}
				if field.IsNil() {
					field.Set(reflect.MakeMap(field.Type()))
				}
				c.all(flat[2])[0].read(entry)
				field.SetMapIndex(reflect.ValueOf(c.all(flat[1])[0].Text), entry)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		e.read(v.Elem())
	case reflect.String:
		v.SetString(e.Text)
	case reflect.Slice:
		content, _ := base64.StdEncoding.DecodeString(e.Text)
		v.SetBytes(content)
	case reflect.Int, reflect.Int64:
		n, _ := strconv.ParseInt(e.Text, 10, 64)
		v.SetInt(n)
	case reflect.Bool:
		v.SetBool(e.Text == "true")
	default:
		panic("no element of type " + v.Type().String())
	}
}

// Every answer reads the same after it was written as XML.
func TestAnswersInXML(t *testing.T) {
	t.Parallel()
	for _, empty := range answers {
		for seed := range uint64(4) {
			want := reflect.New(reflect.TypeOf(empty).Elem())
			if seed > 0 {
				(&filler{random: rand.New(rand.NewPCG(seed, 0))}).fill(want.Elem())
			}
			written := (&queryProtocol{action: "Op"}).answer(nil, want.Interface(), "id<1>")
			var root element
			if err := xml.Unmarshal(written, &root); err != nil {
				t.Fatalf("%T is written as %s: %v", empty, written, err)
			}
			if root.XMLName.Local != "OpResponse" || root.XMLName.Space != "http://queue.amazonaws.com/doc/2012-11-05/" {
				t.Fatalf("the root of %s is %v", written, root.XMLName)
			}
			if id := root.all("ResponseMetadata")[0].all("RequestId")[0].Text; id != "id<1>" {
				t.Fatalf("request id = %q, want id<1>", id)
			}
			got := reflect.New(reflect.TypeOf(empty).Elem())
			results := root.all("OpResult")
			if _, none := empty.(*nothing); none {
				if len(results) != 0 {
					t.Fatalf("%s has a result, want none", written)
				}
				continue
			}
			results[0].read(got.Elem())
			if diff := cmp.Diff(want.Interface(), got.Interface(), unexported); diff != "" {
				t.Fatalf("%T, seed %d (-want +got):\n%s", empty, seed, diff)
			}
		}
	}
}

func TestEmptyResultsAreClosed(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{&receiveMessageAnswer{}, &listQueuesAnswer{}, &listDeadLetterSourceQueuesAnswer{}, &getQueueAttributesAnswer{}, &sendMessageBatchAnswer{}} {
		if got := string((&queryProtocol{action: "Op"}).answer(nil, answer, "id")); !strings.Contains(got, `2012-11-05/"><OpResult/><ResponseMetadata>`) {
			t.Errorf("%T is written as %s, want an empty result", answer, got)
		}
	}
}

func TestFaultsInXML(t *testing.T) {
	t.Parallel()
	var root element
	written := (&queryProtocol{action: "Op"}).fault(nil, internalFailure.is("a <b> & \x01"), "id")
	if err := xml.Unmarshal(written, &root); err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	failure := root.all("Error")[0]
	if failure.all("Type")[0].Text != "Receiver" || failure.all("Message")[0].Text != "a <b> & \ufffd" {
		t.Errorf("written as %s", written)
	}
}

// What XML can carry reads the same, and nothing breaks it.
func FuzzXMLText(f *testing.F) {
	for _, seed := range []string{"", "a<b>&amp;\"'", "\r\n\r", "\x00\x1f", "]]>", "\xff\xfe", "\ufffe\uffff\ufffd", "é😀", "\xed\xa0\x80", "\u0085\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		written := appendElement(nil, "a", s)
		var got string
		if err := xml.Unmarshal(written, &got); err != nil || !utf8.Valid(written) {
			t.Fatalf("%q is written as %q: %v", s, written, err)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
				return '\ufffd'
			}
			return r
		}, string([]rune(s)))
		if got != want {
			t.Fatalf("%q reads as %q, want %q", s, got, want)
		}
	})
}
