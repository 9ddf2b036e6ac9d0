package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The queues of the load. What is rejected in the first ends up in the second.
const (
	jobs    = "jobs"
	rejects = "rejects"
)

// station says how far a message has come that is in a queue other than the first: messages only move on.
var station = map[string]int{rejects: 1, "dead": 1, "dead.fifo": 1, "again": 2, "again.fifo": 2}

// load is a number of clients at work on a server that may be gone at any moment.
type load struct {
	ledger *ledger
	seed   uint64
	base   string
	http   *http.Client
	// answers counts what was answered; it says when to kill.
	answers atomic.Int64
	// dying is set just before the kill: from then on requests may fail.
	dying atomic.Bool
	tags  *atomic.Int64
}

// outcome is what became of one item of an ack, nack or extend.
type outcome struct {
	OK    bool
	Error struct{ Code, Detail string }
}

// errCutOff says that no whole answer came.
var errCutOff = errors.New("cut off")

// call posts a request. Anything but success, and any failure of a server that was not killed, is a fault.
func (l *load) call(ctx context.Context, path, contentType, body string, header ...string) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := l.http.Do(req)
	var content []byte
	if err == nil {
		content, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err != nil {
		if !l.dying.Load() && ctx.Err() == nil {
			l.ledger.t.Errorf("POST %s failed while the server was alive: %v", path, err)
		}
		return nil, nil, errCutOff
	}
	if res.StatusCode/100 != 2 {
		l.ledger.t.Errorf("POST %s = %d: %s", path, res.StatusCode, content)
		return nil, nil, errCutOff
	}
	l.answers.Add(1)
	return content, res.Header, nil
}

// work is what a client does over and over until it fails, which it does when the server is gone.
type work func(ctx context.Context, r *rand.Rand) error

// run lets clients work until the context ends or the server is gone.
func (l *load) run(ctx context.Context, clients []work) {
	var wg sync.WaitGroup
	for i, work := range clients {
		r := random(l.seed, uint64(i))
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := work(ctx, r); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// sendOne makes up a request and sends it, perhaps more than once.
func (l *load) sendOne(ctx context.Context, r *rand.Rand) error { return l.sendNew(ctx, r, l.compose) }

// sendNew sends what compose makes up, perhaps more than once if it can be repeated.
func (l *load) sendNew(ctx context.Context, r *rand.Rand, compose func(*rand.Rand) *request) error {
	req := compose(r)
	l.ledger.intend(req)
	ids, duplicate, err := l.send(ctx, req)
	if err != nil {
		l.ledger.doubt(req)
		return err
	}
	if duplicate {
		l.ledger.t.Errorf("a new request (%s) was answered as a duplicate", req.entries[0].tag)
	}
	l.ledger.confirm(req, ids)
	if !req.repeatable() {
		return nil
	}
	if r.IntN(4) == 0 {
		return l.repeatAtOnce(ctx, req)
	}
	if r.IntN(8) == 0 {
		return l.race(ctx, compose(r))
	}
	return nil
}

// repeatAtOnce repeats a request that was answered.
func (l *load) repeatAtOnce(ctx context.Context, req *request) error {
	ids, duplicate, err := l.send(ctx, req)
	if err != nil {
		return err
	}
	if !duplicate {
		l.ledger.t.Errorf("the repeat of a request (%s) was not answered as a duplicate", req.entries[0].tag)
	}
	l.ledger.confirm(req, ids)
	l.ledger.add(func(t *tally) { t.repeatedAtOnce++ })
	return nil
}

// race sends a new request twice at the same time: exactly one of them counts.
func (l *load) race(ctx context.Context, req *request) error {
	if !req.repeatable() {
		req.key = req.entries[0].tag
	}
	l.ledger.intend(req)
	var both sync.WaitGroup
	var duplicates, failed atomic.Int64
	for range 2 {
		both.Go(func() {
			ids, duplicate, err := l.send(ctx, req)
			if err != nil {
				failed.Add(1)
				return
			}
			if duplicate {
				duplicates.Add(1)
			}
			l.ledger.confirm(req, ids)
		})
	}
	both.Wait()
	if failed.Load() > 0 {
		l.ledger.doubt(req)
		return errCutOff
	}
	if n := duplicates.Load(); n != 1 {
		l.ledger.t.Errorf("of two equal requests (%s) %d were answered as a duplicate", req.entries[0].tag, n)
	}
	l.ledger.add(func(t *tally) { t.repeatRace++ })
	return nil
}

// compose makes up a request: one message or many, text or bytes, in JSON or raw, with a key or without.
func (l *load) compose(r *rand.Rand) *request {
	req := &request{path: "/v1/queues/" + jobs + "/messages", contentType: "application/json"}
	switch r.IntN(4) {
	case 0:
		e, content := l.newEntry(r)
		req.entries = []*entry{e}
		req.contentType = "application/x-load"
		req.body = string(content)
	case 1:
		var many []string
		for range 1 + r.IntN(20) {
			e, content := l.newEntry(r)
			req.entries = append(req.entries, e)
			many = append(many, describe(e, content, someDelay(r)))
		}
		req.many = true
		req.body = `{"messages":[` + strings.Join(many, ",") + `]}`
	default:
		e, content := l.newEntry(r)
		req.entries = []*entry{e}
		req.body = describe(e, content, someDelay(r))
	}
	if r.IntN(2) == 0 {
		req.key = req.entries[0].tag
	}
	return req
}

// newEntry makes up a message. Some are larger than a journal file.
func (l *load) newEntry(r *rand.Rand) (*entry, []byte) {
	most := 2 << 10
	switch r.IntN(100) {
	case 0:
		most = 200 << 10
	case 1, 2, 3, 4, 5:
		most = 20 << 10
	}
	content := make([]byte, r.IntN(most))
	if r.IntN(2) == 0 {
		for i := range content {
			content[i] = byte(' ' + r.IntN(90))
		}
	} else {
		for i := range content {
			content[i] = byte(r.Uint32())
		}
	}
	tag := "m" + strconv.FormatInt(l.tags.Add(1), 10)
	return &entry{tag: tag, hash: sha256.Sum256(content)}, content
}

// someDelay is a field of a message, for a few of them.
func someDelay(r *rand.Rand) string {
	if r.IntN(20) > 0 {
		return ""
	}
	return fmt.Sprintf(`,"delay":"%dms"`, r.IntN(300))
}

// describe writes a message as JSON, with more fields.
func describe(e *entry, content []byte, more string) string {
	text, err := json.Marshal(string(content))
	if err != nil || bytes.ContainsFunc(content, func(c rune) bool { return c > '~' }) {
		text = nil
	}
	if text == nil {
		return fmt.Sprintf(`{"body_base64":%q,"attributes":{"tag":%q}%s}`, base64.StdEncoding.EncodeToString(content), e.tag, more)
	}
	return fmt.Sprintf(`{"body":%s,"attributes":{"tag":%q}%s}`, text, e.tag, more)
}

// send sends a request and returns the ids of its messages.
func (l *load) send(ctx context.Context, req *request) (ids []string, duplicate bool, err error) {
	var header []string
	if req.key != "" {
		header = append(header, "Idempotency-Key", req.key)
	}
	if req.contentType != "application/json" {
		header = append(header, "Dabba-Attr-Tag", req.entries[0].tag)
		if req.dedup {
			header = append(header, "Dabba-Dedup-Id", req.entries[0].tag, "Dabba-Group", req.entries[0].group)
		}
	}
	content, _, err := l.call(ctx, req.path, req.contentType, req.body, header...)
	if err != nil {
		return nil, false, err
	}
	var sent struct {
		ID        string
		Duplicate bool
		Results   []struct {
			ID        string
			Duplicate bool
			Error     *struct{ Code, Detail string }
		}
	}
	if err := json.Unmarshal(content, &sent); err != nil {
		l.ledger.t.Errorf("a send was answered with %s: %v", content, err)
		return nil, false, errCutOff
	}
	if !req.many {
		return []string{sent.ID}, sent.Duplicate, nil
	}
	duplicate = sent.Duplicate || req.dedup && len(sent.Results) > 0 && sent.Results[0].Duplicate
	for _, result := range sent.Results {
		if result.Error != nil || result.Duplicate != duplicate {
			l.ledger.t.Errorf("a send was answered with %s", content)
		}
		ids = append(ids, result.ID)
	}
	return ids, duplicate, nil
}

// consumeOne receives and settles what came.
func (l *load) consumeOne(ctx context.Context, r *rand.Rand) error {
	queue := jobs
	if r.IntN(10) == 0 {
		queue = rejects
	}
	var messages []message
	var err error
	if r.IntN(5) == 0 {
		messages, err = l.receiveRaw(ctx, queue)
	} else {
		messages, err = l.receive(ctx, queue, fmt.Sprintf(`{"max":%d,"wait":"%dms","consumer":"load"}`, 1+r.IntN(30), r.IntN(300)))
	}
	if err != nil || len(messages) == 0 {
		return err
	}
	l.ledger.deliver(queue, messages)
	switch r.IntN(10) {
	case 0:
		return l.nack(ctx, r, queue, messages)
	case 1:
		return l.extend(ctx, r, queue, messages)
	case 2:
		return nil // like a consumer that crashed: the lease ends by itself
	case 3:
		return l.ackLate(ctx, queue)
	default:
		return l.ack(ctx, queue, messages)
	}
}

func (l *load) receive(ctx context.Context, queue, request string) ([]message, error) {
	content, _, err := l.call(ctx, "/v1/queues/"+queue+"/receive", "application/json", request)
	if err != nil {
		return nil, err
	}
	var got received
	if err := json.Unmarshal(content, &got); err != nil {
		l.ledger.t.Errorf("a receive was answered with %.1000s: %v", content, err)
		return nil, errCutOff
	}
	return got.Messages, nil
}

// receiveRaw gets one message as it is.
func (l *load) receiveRaw(ctx context.Context, queue string) ([]message, error) {
	content, header, err := l.call(ctx, "/v1/queues/"+queue+"/receive?wait=100ms", "application/json", "", "Accept", "application/octet-stream")
	if err != nil || header.Get("Dabba-Id") == "" {
		return nil, err
	}
	m := message{
		ID:         header.Get("Dabba-Id"),
		Receipt:    header.Get("Dabba-Receipt"),
		BodyBase64: content,
		Attributes: map[string]string{"tag": header.Get("Dabba-Attr-Tag")},
	}
	token, err1 := strconv.ParseUint(header.Get("Dabba-Lease-Token"), 10, 64)
	ends, err2 := time.Parse(time.RFC3339, header.Get("Dabba-Lease-Expires-At"))
	if err := errors.Join(err1, err2); err != nil {
		l.ledger.t.Errorf("a raw receive was answered with %v: %v", header, err)
		return nil, errCutOff
	}
	m.Lease.Token, m.Lease.ExpiresAt = token, ends
	return []message{m}, nil
}

func (l *load) ack(ctx context.Context, queue string, messages []message) error {
	l.ledger.acking(messages)
	done, err := l.results(ctx, queue, "ack", `{"receipts":`+receipts(messages)+`}`)
	if err != nil {
		return err
	}
	l.ledger.answered(queue, messages, done)
	return nil
}

// ackLate lets short leases end before it acks: the receipts may be worth nothing by then.
func (l *load) ackLate(ctx context.Context, queue string) error {
	messages, err := l.receive(ctx, queue, `{"max":3,"visibility":"20ms"}`)
	if err != nil || len(messages) == 0 {
		return err
	}
	l.ledger.deliver(queue, messages)
	<-time.After(time.Until(messages[0].Lease.ExpiresAt))
	return l.ack(ctx, queue, messages)
}

func (l *load) nack(ctx context.Context, r *rand.Rand, queue string, messages []message) error {
	l.ledger.giveUp(messages)
	how := fmt.Sprintf(`"delay":"%dms"`, r.IntN(200))
	if station[queue] == 0 && r.IntN(3) == 0 {
		how = `"dead":true,"reason":"rejected by the load"`
	}
	_, err := l.results(ctx, queue, "nack", `{"receipts":`+receipts(messages)+`,`+how+`}`)
	return err
}

func (l *load) extend(ctx context.Context, r *rand.Rand, queue string, messages []message) error {
	l.ledger.giveUp(messages)
	_, err := l.results(ctx, queue, "extend", fmt.Sprintf(`{"receipts":%s,"visibility":"%dms"}`, receipts(messages), r.IntN(2)*200))
	return err
}

// results settles, and says what became of each item.
func (l *load) results(ctx context.Context, queue, verb, request string) ([]outcome, error) {
	content, _, err := l.call(ctx, "/v1/queues/"+queue+"/"+verb, "application/json", request)
	if err != nil {
		return nil, err
	}
	var done struct{ Results []outcome }
	if err := json.Unmarshal(content, &done); err != nil {
		l.ledger.t.Errorf("%s was answered with %.1000s: %v", verb, content, err)
		return nil, errCutOff
	}
	return done.Results, nil
}

// receipts lists those of messages as JSON.
func receipts(messages []message) string {
	list := make([]string, len(messages))
	for i := range messages {
		list[i] = quote(messages[i].Receipt)
	}
	return "[" + strings.Join(list, ",") + "]"
}
