package sigv4_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// FuzzParse: whatever the header and the query are, there is a signature with all its parts or a typed refusal, and a
// region is never more than a word.
func FuzzParse(f *testing.F) {
	f.Add(whole, "20261129T120000Z", "")
	f.Add("Bearer x", "", presignedQuery(nil)[1:])
	f.Add("AWS4-HMAC-SHA256 ,,, Credential=/////, SignedHeaders=;, Signature==", "x", "X-Amz-Signature=%")
	f.Add("", "", presignedQuery(map[string]string{"X-Amz-Credential": "a%2Fb%2F..%2Fsqs%2Fc"})[1:])
	f.Fuzz(func(t *testing.T, authorization, date, query string) {
		r := &http.Request{
			Method: http.MethodPost,
			Host:   "h",
			URL:    &url.URL{Path: "/", RawQuery: query},
			Header: http.Header{"Authorization": {authorization}, "X-Amz-Date": {date}},
		}
		s, err := sigv4.Parse(r)
		if strings.ContainsAny(s.Region, "/. %\x00") {
			t.Errorf("region %q", s.Region)
		}
		var e *sigv4.Error
		switch {
		case err == nil:
			if s.AccessKeyID == "" || s.Region == "" || s.Service == "" {
				t.Errorf("Parse = %+v without an error", s)
			}
			if s.Verify(r, secret, nil, s.Date) == nil {
				t.Errorf("%q with the query %q passes, and nobody signed it", authorization, query)
			}
		case !errors.As(err, &e) || e.Code == "" || e.Message == "":
			t.Errorf("refused with %#v", err)
		}
	})
}

// meaning is what a server does with a request, and what must not be changed after it was signed.
type meaning struct {
	Method, Host, Path, Target, Body string
	Query                            url.Values
}

func meaningOf(r *http.Request, body []byte) meaning {
	m := meaning{
		Method: r.Method,
		Host:   strings.Join(strings.Fields(r.Host), " "),
		Target: strings.Join(strings.Fields(strings.Join(r.Header["X-Amz-Target"], ",")), " "),
		Body:   string(body),
		Query:  r.URL.Query(),
	}
	for s := range strings.SplitSeq(r.URL.EscapedPath(), "/") {
		switch s {
		case "", ".":
		case "..":
			m.Path = m.Path[:max(0, strings.LastIndexByte(m.Path, '/'))]
		default:
			m.Path += "/" + s
		}
	}
	m.Query.Del("X-Amz-Signature")
	for _, values := range m.Query {
		slices.Sort(values)
	}
	return m
}

// FuzzVerify changes signed requests. Whatever passes must mean the same as one that was signed.
func FuzzVerify(f *testing.F) {
	wires := []string{
		signed(f, strings.Replace(inHeader(scope, "host;x-amz-date;x-amz-target", "X-Amz-Target: AmazonSQS.SendMessage\n"), "/q", "/0//q?a=b+c&a=%C3%A9", 1)),
		signed(f, inQuery("")),
	}
	var known []meaning
	for _, wire := range wires {
		r, body := request(f, wire)
		known = append(known, meaningOf(r, body))
		f.Add(r.Method, r.RequestURI, r.Host, r.Header.Get("Authorization"), r.Header.Get("X-Amz-Target"), r.Header.Get("X-Amz-Date"), "", body)
		f.Add(r.Method, r.RequestURI+"&x=1", r.Host, r.Header.Get("Authorization"), "", r.Header.Get("X-Amz-Date"), "UNSIGNED-PAYLOAD", body)
		f.Add(r.Method, "/x/.."+r.RequestURI, " "+r.Host, r.Header.Get("Authorization")+",", r.Header.Get("X-Amz-Target")+" ", r.Header.Get("X-Amz-Date"), "", body)
	}
	f.Fuzz(func(t *testing.T, method, target, host, authorization, amzTarget, date, hash string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := &http.Request{Method: method, URL: u, Host: host, Header: http.Header{}}
		for name, v := range map[string]string{"Authorization": authorization, "X-Amz-Target": amzTarget, "X-Amz-Date": date, "X-Amz-Content-Sha256": hash} {
			if v != "" {
				r.Header.Set(name, v)
			}
		}
		s, err := sigv4.Parse(r)
		if err != nil || s.Verify(r, secret, body, signedAt) != nil {
			return
		}
		got := meaningOf(r, body)
		if !slices.ContainsFunc(known, func(m meaning) bool { return cmp.Equal(m, got) }) {
			t.Errorf("this passes and was not signed: %+v", got)
		}
	})
}
