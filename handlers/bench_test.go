package handlers_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store/memory"
)

// The benchmarks below compare the whole stack, engine and memory store included, with a chi handler that does
// nothing but read and decode one message with encoding/json. Both are driven over loopback by the same raw clients,
// in turns; the metric is messages a second of the stack divided by requests a second of the empty handler.

const (
	benchConns  = 16
	benchRounds = 5
)

// client is one connection.
type client struct {
	conn   net.Conn
	r      *bufio.Reader
	answer []byte
}

// turn is what a client does over and over.
type turn func(*client) error

func BenchmarkSend(b *testing.B) {
	compare(b, 1, func(*engine.Engine, int) turn { return post("messages", one) })
}

func BenchmarkSendTen(b *testing.B) {
	compare(b, 10, func(*engine.Engine, int) turn { return post("messages", ten) })
}

func BenchmarkReceiveTenAckTen(b *testing.B) {
	compare(b, 10, func(e *engine.Engine, turns int) turn {
		fill(b, e, turns*10)
		receive := post("receive", `{"max":10}`)
		return func(c *client) error {
			if err := receive(c); err != nil {
				return err
			}
			return post("ack", `{"receipts":[`+receipts(c.answer)+`]}`)(c)
		}
	})
}

var (
	one = `{"body":"` + strings.Repeat("x", 1024) + `"}`
	ten = `{"messages":[` + strings.Repeat(one+",", 9) + one + `]}`
)

// compare drives both servers in turns; each turn of ours moves the given number of messages. prepare gets the number
// of turns that follow.
func compare(b *testing.B, messages int, prepare func(e *engine.Engine, turns int) turn) {
	e, h := stack(b)
	ours, empty := listen(b, h), listen(b, emptyHandler())
	n := max(10, b.N/benchRounds/benchConns)
	drive(b, ours, n, prepare(e, n*benchConns))

	var ratios []float64
	var took time.Duration
	b.ResetTimer()
	for range benchRounds {
		b.StopTimer()
		next := prepare(e, n*benchConns)
		b.StartTimer()
		base := drive(b, empty, n, post("messages", one))
		mine := drive(b, ours, n, next)
		took += mine
		ratios = append(ratios, float64(messages)*float64(base)/float64(mine))
	}
	b.StopTimer()
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "messages/request")
	b.ReportMetric(float64(benchRounds*n*benchConns*messages)/took.Seconds(), "messages/s")
}

// fill makes messages ready.
func fill(b *testing.B, e *engine.Engine, n int) {
	b.Helper()
	batch := make([]engine.Message, 500)
	for i := range batch {
		batch[i].Body = bytes.Repeat([]byte("x"), 1024)
	}
	for ; n > 0; n -= len(batch) {
		req := engine.SendRequest{Messages: batch[:min(n, len(batch))]}
		if _, err := e.Send(b.Context(), engine.Ref{Tenant: "default", Name: "q"}, req); err != nil {
			b.Fatal(err)
		}
	}
}

// receipts are those of an answer, quoted and with commas, as an ack wants them.
func receipts(answer []byte) string {
	var list []byte
	for {
		_, after, ok := bytes.Cut(answer, []byte(`"receipt":`))
		if !ok {
			return string(list)
		}
		receipt, rest, _ := bytes.Cut(after, []byte(`,`))
		if list != nil {
			list = append(list, ',')
		}
		list, answer = append(list, receipt...), rest
	}
}

// emptyHandler is what an answer costs that does nothing.
func emptyHandler() http.Handler {
	r := chi.NewRouter()
	r.Post("/v1/queues/{q}/messages", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Body       string            `json:"body"`
			Attributes map[string]string `json:"attributes"`
		}
		content, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(content, &m)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"00000000-0000-0000-0000-000000000000"}`)
	})
	return r
}

func stack(b *testing.B) (*engine.Engine, http.Handler) {
	b.Helper()
	counted := metrics.New()
	e, err := engine.Open(b.Context(), memory.New(memory.Options{Now: time.Now}), engine.Options{
		Now: time.Now, Rand: rand.Reader, Events: counted.Events(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close(b.Context()) })
	if _, _, err := e.PutQueue(b.Context(), engine.Ref{Tenant: "default", Name: "q"}, engine.DefaultConfig(), engine.Condition{}); err != nil {
		b.Fatal(err)
	}
	return e, handlers.New(handlers.Config{
		Engine:    e,
		Metrics:   counted,
		Log:       slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})), //nolint:sloglint // as in the program
		Readiness: &rest.Readiness{},
	})
}

func listen(b *testing.B, h http.Handler) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := handlers.NewServer(h, slog.New(slog.DiscardHandler), memlimit.New(memlimit.Usual))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	b.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return l.Addr().String()
}

// post is a turn of one request to the queue.
func post(verb, body string) turn {
	request := fmt.Sprintf("POST /v1/queues/q/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		verb, len(body), body)
	return func(c *client) error {
		if _, err := io.WriteString(c.conn, request); err != nil {
			return err
		}
		return c.read()
	}
}

// drive lets every client take n turns and says how long that took.
func drive(b *testing.B, addr string, n int, do turn) time.Duration {
	b.Helper()
	var clients sync.WaitGroup
	failed := make(chan error, benchConns)
	start := make(chan struct{})
	for range benchConns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		clients.Go(func() {
			<-start
			c := &client{conn: conn, r: bufio.NewReader(conn)}
			for range n {
				if err := do(c); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	begun := time.Now()
	close(start)
	clients.Wait()
	took := time.Since(begun)
	select {
	case err := <-failed:
		b.Fatal(err)
	default:
	}
	return took
}

// read takes in one answer that has a length.
func (c *client) read() error {
	status, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answered %s", status)
	}
	length := 0
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	c.answer = slices.Grow(c.answer[:0], length)[:length]
	_, err = io.ReadFull(c.r, c.answer)
	return err
}
