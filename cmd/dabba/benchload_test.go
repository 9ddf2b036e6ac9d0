package main

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conversation is a wire whose other end answers one request with the given pieces, each in a write of its own.
func conversation(t testing.TB, pieces ...string) *wire {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		if _, err := theirs.Read(make([]byte, 4096)); err != nil {
			return
		}
		for _, piece := range pieces {
			if _, err := io.WriteString(theirs, piece); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = ours.Close()
		<-done
	})
	return &wire{conn: ours}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	whole := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\nDate: now\r\n\r\nhello"
	big := strings.Repeat("x", 300_000)
	tests := map[string]struct {
		pieces []string
		want   string
		err    string
	}{
		"whole":            {[]string{whole}, "hello", ""},
		"byte by byte":     {strings.Split(whole, ""), "hello", ""},
		"large":            {[]string{"HTTP/1.1 201 Created\r\nContent-Length: 300000\r\n\r\n", big}, big, ""},
		"refused":          {[]string{"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"}, "", "the server answered 404: no"},
		"chunked":          {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}, "", "without Content-Length"},
		"length a word":    {[]string{"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n"}, "", "Content-Length"},
		"length too large": {[]string{"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n"}, "", "Content-Length"},
		"cut in the head":  {[]string{"HTTP/1.1 200 OK\r\nCont"}, "", "read an answer"},
		"cut in the body":  {[]string{whole[:len(whole)-1]}, "", "read an answer"},
		"no HTTP":          {[]string{"\r\n\r\n"}, "", "not an HTTP answer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := conversation(t, tt.pieces...).roundTrip([]byte("request"))
			switch {
			case tt.err == "" && (err != nil || string(got) != tt.want):
				t.Errorf("roundTrip = %d bytes, %v; want %d bytes", len(got), err, len(tt.want))
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("roundTrip = %q, %v; want an error with %q", got, err, tt.err)
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"receipt\":\"abc\"}......")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")
	f.Add("\r\n\r\n\r\nContent-Length: 0\r\n\r\n")
	f.Fuzz(func(t *testing.T, answer string) {
		w := conversation(t, answer)
		body, err := w.roundTrip([]byte("request"))
		if err != nil {
			return
		}
		if !strings.Contains(answer, string(body)) {
			t.Errorf("a body %q that was not in the answer %q", body, answer)
		}
		w.acks(&load{}, "/ack", body)
	})
}

func TestAcks(t *testing.T) {
	t.Parallel()
	l := &load{addr: "host:1", token: "tok"}
	w := &wire{}
	got, n := w.acks(l, "/v1/queues/q/ack", []byte(`{"messages":[{"id":"1","receipt":"r-1","body":"x"},{"id":"2","receipt":"r-2"}]}`))
	want := "POST /v1/queues/q/ack HTTP/1.1\r\nHost: host:1\r\nAuthorization: Bearer tok\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n" +
		`{"receipts":["r-1","r-2"]}`
	if string(got) != want || n != 2 {
		t.Errorf("acks = %q, %d; want %q, 2", got, n, want)
	}
	if _, n := w.acks(l, "/ack", []byte(`{"messages":[]}`)); n != 0 {
		t.Errorf("acks of an empty answer: %d receipts, want 0", n)
	}
}

func TestLoadStops(t *testing.T) {
	t.Parallel()
	l := &load{wires: []*wire{{}, {}, {}}}
	tests := map[string]struct {
		work work
		err  error
		min  int
	}{
		"drained": {func() work {
			left := make(chan int, 100)
			for i := range 100 {
				left <- i
			}
			return func(*wire) (int, error) {
				select {
				case <-left:
					return 1, nil
				default:
					return 0, errDrained
				}
			}
		}(), nil, 100},
		"failed":   {func(*wire) (int, error) { return 0, io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF, 0},
		"over":     {func(*wire) (int, error) { <-time.After(time.Hour / 4); return 2, nil }, nil, 3 * 4 * 2},
		"canceled": {nil, context.Canceled, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.work == nil {
					tt.work = func(*wire) (int, error) { cancel(); return 1, nil }
				}
				m, err := l.run(ctx, time.Hour, tt.work)
				if !errors.Is(err, tt.err) || m.messages < tt.min || (name == "drained" && m.messages != 100) {
					t.Errorf("run = %d messages, %v; want at least %d, %v", m.messages, err, tt.min, tt.err)
				}
			})
		})
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	if got := median([]float64{5, 1, 3}); got != 3 {
		t.Errorf("median of 5, 1, 3 = %v, want 3", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of 4, 1, 3, 2 = %v, want 2.5", got)
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(v); got != want {
			t.Errorf("thousands(%v) = %q, want %q", v, got, want)
		}
	}
	m := measured{messages: 100, elapsed: 2 * time.Second, cpu: time.Second, syncs: 20, latencies: []time.Duration{1, 2, 3, 4, 5}}
	if m.perSecond() != 50 || microsPer(m) != 10_000 || perSync(m) != 5 || m.quantile(0.5) != 3 || m.quantile(1) != 5 {
		t.Errorf("figures of %+v: %v/s, %v µs, %v a sync, p50 %v, p100 %v", m, m.perSecond(), microsPer(m), perSync(m), m.quantile(0.5), m.quantile(1))
	}
	if unknown := (measured{messages: 1, cpu: -1, syncs: -1}); microsPer(unknown) != 0 || perSync(unknown) != 0 {
		t.Error("figures that could not be measured must be absent")
	}
}

func TestDeletes(t *testing.T) {
	t.Parallel()
	l := &load{addr: "host:1"}
	w := &wire{}
	got, n := w.deletes(l, `{"QueueUrl":"q",`, []byte(`{"Messages":[{"MessageId":"1","ReceiptHandle":"h-1","Body":"x"},{"ReceiptHandle":"h-2"}]}`))
	want := "POST / HTTP/1.1\r\nHost: host:1\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.DeleteMessageBatch\r\nContent-Length: 94\r\n\r\n" +
		`{"QueueUrl":"q","Entries":[{"Id":"0","ReceiptHandle":"h-1"},{"Id":"1","ReceiptHandle":"h-2"}]}`
	if string(got) != want || n != 2 {
		t.Errorf("deletes = %q, %d; want %q, 2", got, n, want)
	}
	if _, n := w.deletes(l, `{"QueueUrl":"q",`, []byte(`{}`)); n != 0 {
		t.Errorf("deletes of an empty answer: %d handles, want 0", n)
	}
}
