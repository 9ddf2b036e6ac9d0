package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// errDrained: there is nothing left to receive; the phase ends for all connections.
var errDrained = errors.New("drained")

// patience is how long one answer may take.
const patience = 30 * time.Second

// work does one unit of a phase on a connection and says how many messages it moved.
type work func(*wire) (messages int, err error)

// load is a set of keep-alive connections to one server.
type load struct {
	addr, token string
	wires       []*wire
}

// measured is what one phase of one server came to.
type measured struct {
	messages int
	elapsed  time.Duration
	// latencies of the units of work, sorted.
	latencies []time.Duration
	// cpu is the server's processor time, and syncs its number of disk syncs; negative when unknown.
	cpu   time.Duration
	syncs int64
}

func (m measured) perSecond() float64 { return float64(m.messages) / m.elapsed.Seconds() }

func (m measured) quantile(q float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	return m.latencies[int(q*float64(len(m.latencies)-1))]
}

func dial(ctx context.Context, addr, token string, connections int) (*load, error) {
	l := &load{addr: addr, token: token}
	for range connections {
		conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", addr)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("connect to the server: %w", err)
		}
		l.wires = append(l.wires, &wire{conn: conn, in: make([]byte, 0, 64<<10)})
	}
	return l, nil
}

func (l *load) close() {
	for _, w := range l.wires {
		_ = w.conn.Close()
	}
}

// run repeats the work on all connections at once until the time is over, or the first of them finds the queue
// drained.
func (l *load) run(ctx context.Context, d time.Duration, do work) (measured, error) {
	return repeat(ctx, len(l.wires), d, func(i int) (int, error) { return do(l.wires[i]) })
}

// repeat has so many callers do a unit of work again and again, as [load.run] does.
func repeat(ctx context.Context, callers int, d time.Duration, do func(caller int) (int, error)) (measured, error) {
	var (
		wg       sync.WaitGroup
		over     atomic.Bool
		messages = make([]int, callers)
		taken    = make([][]time.Duration, callers)
		failed   = make([]error, callers)
	)
	start := time.Now()
	end := start.Add(d)
	stop := context.AfterFunc(ctx, func() { over.Store(true) })
	defer stop()
	for i := range callers {
		wg.Go(func() {
			for at := time.Now(); at.Before(end) && !over.Load(); {
				n, err := do(i)
				if err != nil {
					over.Store(true)
					failed[i] = err
					return
				}
				now := time.Now()
				messages[i] += n
				taken[i] = append(taken[i], now.Sub(at))
				at = now
			}
		})
	}
	wg.Wait()
	m := measured{elapsed: time.Since(start), latencies: slices.Concat(taken...)}
	for _, n := range messages {
		m.messages += n
	}
	slices.Sort(m.latencies)
	for _, err := range failed {
		if err != nil && !errors.Is(err, errDrained) {
			return m, err
		}
	}
	return m, ctx.Err()
}

// post is a whole request.
func (l *load) post(path, body string) []byte {
	return append(l.head(nil, path, plainJSON, len(body)), body...)
}

const plainJSON = "Content-Type: application/json"

// head appends the head of a request, with headers that say what the body is.
func (l *load) head(b []byte, path, headers string, length int) []byte {
	b = append(b, "POST "...)
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, l.addr...)
	if l.token != "" {
		b = append(b, "\r\nAuthorization: Bearer "...)
		b = append(b, l.token...)
	}
	b = append(append(b, "\r\n"...), headers...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(length), 10)
	return append(b, "\r\n\r\n"...)
}

// wire is one connection. It understands no more of HTTP than the answers need that it asks for, since every cycle it
// spends is missing to the server beside it.
type wire struct {
	conn     net.Conn
	in       []byte
	body, ou []byte
	deadline time.Time
}

var (
	endOfHead = []byte("\r\n\r\n")
	lengthIs  = []byte("\r\nContent-Length: ")
	receiptIs = []byte(`"receipt":"`)
)

// roundTrip writes a request and returns the body of the answer, valid until the next one. An answer that is not a
// success is an error with what it says.
func (w *wire) roundTrip(request []byte) ([]byte, error) {
	if now := time.Now(); w.deadline.Sub(now) < patience/2 {
		w.deadline = now.Add(patience)
		if err := w.conn.SetDeadline(w.deadline); err != nil {
			return nil, err
		}
	}
	if _, err := w.conn.Write(request); err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	w.in = w.in[:0]
	head := -1
	for head < 0 {
		seen := max(0, len(w.in)-len(endOfHead))
		if err := w.more(); err != nil {
			return nil, err
		}
		if at := bytes.Index(w.in[seen:], endOfHead); at >= 0 {
			head = seen + at
		}
	}
	length, err := contentLength(w.in[:head])
	if err != nil {
		return nil, err
	}
	begin := head + len(endOfHead)
	for len(w.in) < begin+length {
		if err := w.more(); err != nil {
			return nil, err
		}
	}
	body := w.in[begin : begin+length]
	if status := w.in[len("HTTP/1.1 "):head]; status[0] != '2' {
		return nil, fmt.Errorf("the server answered %.3s: %s", status, body)
	}
	return body, nil
}

func (w *wire) more() error {
	w.in = slices.Grow(w.in, 4<<10)
	n, err := w.conn.Read(w.in[len(w.in):cap(w.in)])
	if err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	w.in = w.in[:len(w.in)+n]
	return nil
}

func contentLength(head []byte) (int, error) {
	if len(head) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("not an HTTP answer: %q", head)
	}
	_, value, ok := bytes.Cut(head, lengthIs)
	if !ok {
		return 0, fmt.Errorf("an answer without Content-Length: %q", head)
	}
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 || n > maxAnswer {
		return 0, fmt.Errorf("an answer with Content-Length %q", value)
	}
	return n, nil
}

// acks cuts the receipts out of a receive's answer and makes the request that acknowledges them.
func (w *wire) acks(l *load, path string, answer []byte) (request []byte, receipts int) {
	w.body = append(w.body[:0], `{"receipts":[`...)
	for {
		at := bytes.Index(answer, receiptIs)
		if at < 0 {
			break
		}
		answer = answer[at+len(receiptIs)-1:] // from the quote on
		end := bytes.IndexByte(answer[1:], '"')
		if end < 0 {
			break
		}
		if receipts > 0 {
			w.body = append(w.body, ',')
		}
		w.body = append(w.body, answer[:end+2]...)
		answer = answer[end+2:]
		receipts++
	}
	w.body = append(w.body, `]}`...)
	w.ou = append(l.head(w.ou[:0], path, plainJSON, len(w.body)), w.body...)
	return w.ou, receipts
}
