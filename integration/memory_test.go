package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// shape is a kind of load that is allowed, and that takes much memory.
type shape struct {
	name    string
	clients int
	// rare says that only a long run has time for it.
	rare bool
	// prepare makes what the load needs; nil for nothing.
	prepare func(l *memoryLoad)
	// turn is what each client does over and over.
	turn func(l *memoryLoad, n int)
}

// memoryLoad is one shape under way.
type memoryLoad struct {
	*server
	ctx  context.Context //nolint:containedctx // it is the time that the shape has
	http *http.Client
	t    testing.TB
	answers
}

// answers counts them by status.
type answers struct {
	mu       *sync.Mutex
	statuses map[int]int
}

func noAnswers() answers { return answers{new(sync.Mutex), map[int]int{}} }

func (a answers) add(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[status]++
}

// ask sends a request and reads the answer, but keeps nothing of it.
func (l *memoryLoad) ask(method, path, contentType string, body []byte, headers ...string) int {
	// What was begun is finished, so that all of it is in memory at some time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, l.base+path, bytes.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return 0
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	status := 0 // no answer, as when a refusal comes while the body is still being sent
	if res, err := l.http.Do(req); err == nil {
		status = res.StatusCode
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			status = 0
		}
		_ = res.Body.Close()
		if status == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
			l.t.Errorf("%s %s = 503 without Retry-After", method, path)
		}
	}
	l.add(status)
	return status
}

func (l *memoryLoad) json(path string, body []byte) int {
	return l.ask(http.MethodPost, path, "application/json", body)
}

func (l *memoryLoad) sqs(operation string, body []byte) int {
	return l.ask(http.MethodPost, "/", "application/x-amz-json-1.0", body, "X-Amz-Target", "AmazonSQS."+operation)
}

// queue makes a queue; n messages with this body are sent to it, as many as are taken.
func (l *memoryLoad) queue(name, config string, n int, contentType string, body []byte) {
	l.ask(http.MethodPut, "/v1/queues/"+name, "application/json", []byte(config))
	for range n {
		for range 20 {
			if l.ask(http.MethodPost, "/v1/queues/"+name+"/messages", contentType, body) != http.StatusServiceUnavailable {
				break
			}
			<-time.After(100 * time.Millisecond)
		}
	}
}

const largest = `{"max_message_bytes":67108864}`

// attributes is a batch with so many messages and so many attributes of each.
func attributes(messages, each int) []byte {
	var one strings.Builder
	for i := range each {
		fmt.Fprintf(&one, `,"a%d":""`, i)
	}
	m := `{"body":"x","attributes":{` + one.String()[1:] + `}}`
	return []byte(`{"messages":[` + strings.Repeat(m+",", messages-1) + m + `]}`)
}

// batch is one of so many messages with this body, as it stands in JSON.
func batch(messages int, body string) []byte {
	m := `{"body":"` + body + `"}`
	return []byte(`{"messages":[` + strings.Repeat(m+",", messages-1) + m + `]}`)
}

// sqsBatch has ten messages.
func sqsBatch(queue, body, more string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"QueueUrl":"http://x/000000000000/%s","Entries":[`, queue)
	for i := range 10 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"Id":"%d","MessageBody":"%s"%s}`, i, body, more)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func sqsForm(queue, body string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Action=SendMessageBatch&Version=2012-11-05&QueueUrl=http%%3A%%2F%%2Fx%%2F000000000000%%2F%s", queue)
	for i := range 10 {
		fmt.Fprintf(&b, "&SendMessageBatchRequestEntry.%d.Id=%d&SendMessageBatchRequestEntry.%d.MessageBody=%s", i+1, i, i+1, body)
	}
	return []byte(b.String())
}

func shapes() []shape {
	const often, rarely = false, true
	raw := bytes.Repeat([]byte("x"), 57<<20)
	many := attributes(900, 900) // each is refused, but only after it was decoded
	allowed := attributes(900, 250)
	full := batch(1000, strings.Repeat("x", 14<<10))
	in64 := []byte(`{"body_base64":"` + base64.StdEncoding.EncodeToString(raw) + `"}`)
	escaped := []byte(`{"body":"` + strings.Repeat(`\u0041`, 13<<20) + `"}`)
	control := bytes.Repeat([]byte{1}, 15<<10)
	post := func(path, contentType string, body []byte) func(*memoryLoad, int) {
		return func(l *memoryLoad, _ int) { l.ask(http.MethodPost, path, contentType, body) }
	}
	plainQueue := func(name, config string) func(*memoryLoad) {
		return func(l *memoryLoad) { l.queue(name, config, 0, "", nil) }
	}
	return []shape{
		{"batches with many attributes", 8, often, plainQueue("attributes", ""), post("/v1/queues/attributes/messages", "application/json", many)},
		{"batches with attributes that are allowed", 8, rarely, plainQueue("attributes256", ""), post("/v1/queues/attributes256/messages", "application/json", allowed)},
		{"full batches", 24, often, plainQueue("batches", ""), post("/v1/queues/batches/messages", "application/json", full)},
		{"raw bodies of 57 MiB", 8, often, plainQueue("raw", largest), post("/v1/queues/raw/messages", "text/plain", raw)},
		{"bodies of 57 MiB in base64", 8, rarely, plainQueue("base64", largest), post("/v1/queues/base64/messages", "application/json", in64)},
		{"escaped bodies", 8, rarely, plainQueue("escaped", largest), post("/v1/queues/escaped/messages", "application/json", escaped)},
		{"attributes of SQS", 24, rarely, plainQueue("sqs1", ""), func(l *memoryLoad, _ int) {
			l.sqs("SendMessageBatch", sqsAttributes)
		}},
		{"batches of SQS", 24, rarely, plainQueue("sqs2", ""), func(l *memoryLoad, _ int) { l.sqs("SendMessageBatch", sqsFull) }},
		{"escaped batches of SQS", 24, often, plainQueue("sqs3", ""), func(l *memoryLoad, _ int) { l.sqs("SendMessageBatch", sqsEscaped) }},
		{"forms of SQS", 24, rarely, plainQueue("sqs4", ""), post("/", "application/x-www-form-urlencoded", sqsEncoded)},
		{"bodies that are too large for SQS", 24, rarely, plainQueue("sqs5", ""), func(l *memoryLoad, _ int) { l.sqs("SendMessage", sqsHuge) }},
		{"slow bodies", 300, often, plainQueue("slow", `{"max_message_bytes":16777216}`), slowBody},
		{
			"receives of 57 MiB", 8, often, func(l *memoryLoad) { l.queue("receives", largest, 2, "text/plain", raw) },
			post("/v1/queues/receives/receive?visibility=0", "", nil),
		},
		{
			"raw receives of 57 MiB", 8, rarely, func(l *memoryLoad) { l.queue("rawreceives", largest, 2, "text/plain", raw) },
			func(l *memoryLoad, _ int) {
				l.ask(http.MethodPost, "/v1/queues/rawreceives/receive?visibility=0", "", nil, "Accept", "application/octet-stream")
			},
		},
		{
			"receives of 16 MiB that are escaped", 16, often, func(l *memoryLoad) { l.queue("control", "", 1000, "text/plain", control) },
			post("/v1/queues/control/receive?visibility=0&max=1000", "", nil),
		},
		{"receives of many attributes", 16, rarely, func(l *memoryLoad) {
			for range 10 {
				l.queue("received", "", 1, "application/json", attributes(500, 250))
			}
		}, post("/v1/queues/received/receive?visibility=0&max=1000", "", nil)},
		{"receives of SQS", 16, rarely, func(l *memoryLoad) {
			l.queue("sqs6", "", 10, "text/plain", bytes.Repeat([]byte("\n"), 1<<20))
		}, func(l *memoryLoad, _ int) {
			l.sqs("ReceiveMessage", []byte(`{"QueueUrl":"http://x/000000000000/sqs6","MaxNumberOfMessages":10,"VisibilityTimeout":0}`))
		}},
		{"readers that do not read", 60, rarely, func(l *memoryLoad) { l.queue("stuck", largest, 1, "text/plain", raw[:15<<20]) }, stuckReader},
		{
			"browsing", 16, often, func(l *memoryLoad) {
				l.queue("browsed", "", 30, "application/json", batch(30, strings.Repeat("x", 100<<10)))
			},
			func(l *memoryLoad, _ int) { l.ask(http.MethodGet, "/v1/queues/browsed/messages?limit=1000", "", nil) },
		},
		{
			"searches", 16, rarely, func(l *memoryLoad) {
				l.queue("searched", "", 30, "application/json", batch(30, strings.Repeat("x", 100<<10)))
			},
			func(l *memoryLoad, _ int) {
				l.ask(http.MethodGet, "/v1/queues/searched/messages?limit=1000&contains=y", "", nil)
			},
		},
		{"topic reads", 16, rarely, func(l *memoryLoad) {
			l.ask(http.MethodPut, "/v1/topics/read", "application/json", []byte(`{"partitions":1}`))
			for range 40 {
				l.ask(http.MethodPost, "/v1/topics/read/records", "text/plain", raw[:1000<<10])
			}
		}, func(l *memoryLoad, _ int) {
			l.ask(http.MethodGet, "/v1/topics/read/partitions/0/records?offset=earliest&max=1000", "", nil)
		}},
		{"records with many headers", 8, rarely, func(l *memoryLoad) {
			l.ask(http.MethodPut, "/v1/topics/headers", "application/json", []byte(`{"partitions":1}`))
		}, post("/v1/topics/headers/records", "application/json", recordHeaders)},
		{"acks of strangers' receipts", 24, rarely, plainQueue("acks", ""), post("/v1/queues/acks/ack", "application/json", longReceipts)},
		{"idle connections", 5000, often, nil, idle("")},
		{"long polls", 3000, rarely, plainQueue("polls", ""), idle("POST /v1/queues/polls/receive?wait=10m HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")},
		{"large long polls of SQS", 1000, rarely, plainQueue("polls", ""), longPoll},
		{"scrapes and lists of many queues", 16, rarely, func(l *memoryLoad) {
			for i := range size(300, 3000) {
				l.queue(fmt.Sprintf("one-of-many-%d", i), "", 0, "", nil)
			}
		}, func(l *memoryLoad, n int) {
			l.ask(http.MethodGet, []string{"/metrics", "/v1/queues?limit=1000"}[n%2], "", nil)
		}},
		{"redrives and purges of 15 MiB", 4, rarely, plainQueue("moved", largest), func(l *memoryLoad, n int) {
			q := fmt.Sprintf("moved%d", n)
			l.queue(q, largest, 3, "text/plain", raw[:15<<20])
			l.ask(http.MethodPost, "/v1/queues/"+q+"/redrive", "application/json", []byte(`{"to":"moved","filter":{"state":"ready"}}`))
			l.ask(http.MethodPost, "/v1/queues/"+q+"/redrive", "application/json", []byte(`{"dry_run":true}`))
			l.ask(http.MethodPost, "/v1/queues/"+q+"/purge", "application/json", nil)
			l.ask(http.MethodPost, "/v1/queues/moved/purge", "application/json", nil)
		}},
	}
}

var (
	sqsAttributes = func() []byte {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, `,"a%d":{"DataType":"String","StringValue":"x"}`, i)
		}
		return sqsBatch("sqs1", "x", `,"MessageAttributes":{`+b.String()[1:]+`}`)
	}()
	sqsFull       = sqsBatch("sqs2", strings.Repeat("x", 100<<10), "")
	sqsEscaped    = sqsBatch("sqs3", strings.Repeat(`\u0041`, 100<<10), "")
	sqsEncoded    = sqsForm("sqs4", strings.Repeat(`%41`, 100<<10))
	sqsHuge       = []byte(`{"QueueUrl":"http://x/000000000000/sqs5","MessageBody":"` + strings.Repeat("x", 15<<20) + `"}`)
	recordHeaders = func() []byte {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, `,"h%d":""`, i)
		}
		m := `{"value":"x","headers":{` + b.String()[1:] + `}}`
		return []byte(`{"records":[` + strings.Repeat(m+",", 899) + m + `]}`)
	}()
	longReceipts = []byte(`{"receipts":["` + strings.Repeat(strings.Repeat("x", 15<<10)+`","`, 999) + `x"]}`)
)

// slowBody sends 3 of 16 MB and then nothing.
func slowBody(l *memoryLoad, _ int) {
	conn, err := l.connect()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/queues/slow/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 16000000\r\n\r\n")
	_, _ = conn.Write(make([]byte, 3_000_000))
	l.linger(conn)
}

// stuckReader asks for 15 MiB and reads nothing.
func stuckReader(l *memoryLoad, _ int) {
	conn, err := l.connect()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "POST /v1/queues/stuck/receive?visibility=0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	<-l.ctx.Done()
}

// idle opens a connection, sends no more than this, and waits.
func idle(request string) func(*memoryLoad, int) {
	return func(l *memoryLoad, _ int) {
		conn, err := l.connect()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, request)
		l.linger(conn)
	}
}

// longPoll names many attributes that it wants.
func longPoll(l *memoryLoad, _ int) {
	conn, err := l.connect()
	if err != nil {
		return
	}
	defer conn.Close()
	body := `{"QueueUrl":"http://x/000000000000/polls","WaitTimeSeconds":20,"MessageAttributeNames":["` + strings.Repeat("x", 60<<10) + `"]}`
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	l.linger(conn)
}

func (l *memoryLoad) connect() (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(l.ctx, "tcp", strings.TrimPrefix(l.base, "http://"))
	if err != nil {
		// Not to connect too fast to a server that refuses.
		select {
		case <-l.ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return conn, err
}

// linger waits until the server has something to say or the time is up.
func (l *memoryLoad) linger(conn net.Conn) {
	defer context.AfterFunc(l.ctx, func() { _ = conn.Close() })()
	var b [64]byte
	n, _ := io.ReadFull(conn, b[:len("HTTP/1.1 503")])
	status := 0
	if n == len("HTTP/1.1 503") {
		_, _ = fmt.Sscan(string(b[9:12]), &status)
	}
	if l.ctx.Err() != nil {
		return
	}
	l.add(status)
	select {
	case <-l.ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// others is a client that moves small messages meanwhile.
type others struct {
	served, refused atomic.Int64
	slowest         atomic.Int64
}

// run sends, receives and acks until the context ends, on connections of its own.
func (o *others) run(ctx context.Context, l *memoryLoad) {
	quiet := *l
	quiet.answers = noAnswers()
	quiet.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer quiet.http.CloseIdleConnections()
	quiet.ctx = ctx
	for ctx.Err() == nil {
		begun := time.Now() // what is begun counts, also when it ends after the time
		sent := quiet.json("/v1/queues/others/messages", []byte(`{"body":"small"}`))
		got := quiet.ask(http.MethodPost, "/v1/queues/others/receive", "", nil)
		if sent != http.StatusOK || got != http.StatusOK {
			o.refused.Add(1)
			continue
		}
		o.served.Add(1)
		o.slowest.Store(max(o.slowest.Load(), int64(time.Since(begun))))
	}
}

// run lets the shape's clients loose for a while and says what came of it.
func (s shape) run(t *testing.T, srv *server, c *cage, during time.Duration) (alive bool) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	defer transport.CloseIdleConnections()
	l := &memoryLoad{server: srv, t: t, ctx: t.Context(), http: &http.Client{Transport: transport, Timeout: patience}, answers: noAnswers()}
	if s.prepare != nil {
		s.prepare(l)
	}
	_ = c.peak(srv)
	prepared := maps.Clone(l.statuses)
	l.answers = noAnswers()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	l.ctx = ctx
	var o others
	var all sync.WaitGroup
	all.Go(func() { o.run(ctx, l) })
	for n := range s.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				s.turn(l, n)
			}
		})
	}
	all.Wait()
	alive = true
	peak := int64(0)
	select {
	case <-srv.ended:
		alive = false
	default:
		peak = c.peak(srv)
	}
	killed := c.killed(peak)
	t.Logf("| %d MiB | %s | %d | %d MiB | %s | %d served, %d refused, slowest %v | %v | %v",
		c.limit>>20, s.name, s.clients, peak>>20, show(l.statuses), o.served.Load(), o.refused.Load(),
		time.Duration(o.slowest.Load()).Round(time.Millisecond), killed, show(prepared))
	if killed || !alive {
		t.Errorf("%s killed a server that may have %d MiB", s.name, c.limit>>20)
		return false
	}
	if o.served.Load() == 0 || o.refused.Load() > o.served.Load()/10 {
		t.Errorf("%s: others were served %d times and refused %d times", s.name, o.served.Load(), o.refused.Load())
	}
	return true
}

func show(statuses map[int]int) string {
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		fmt.Fprintf(&b, " %d×%d", statuses[status], status)
	}
	return strings.TrimSpace(b.String())
}

// TestMemory lets every shape of load that takes much memory loose on a server whose memory is limited: it is never
// killed, refuses what it has no room for with 503, and serves others all the time. DABBA_SHAPE chooses shapes by a part of
// their names.
func TestMemory(t *testing.T) {
	limits := []int64{1 << 30}
	during := 500 * time.Millisecond
	if torture() {
		limits, during = []int64{256 << 20, 512 << 20, 1 << 30}, 5*time.Second
	}
	for _, limit := range limits {
		t.Run(fmt.Sprintf("%d MiB", limit>>20), func(t *testing.T) { runShapes(t, limit, during) })
	}
	if torture() {
		memoryOfOtherStores(t, during)
	}
}

// memoryOfOtherStores is the same with servers that keep messages elsewhere.
func memoryOfOtherStores(t *testing.T, during time.Duration) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t, "--maxmemory", "1gb", "--maxmemory-policy", "noeviction")
		runShapes(t, 512<<20, during, "--store", r.URL+"/0")
	})
	t.Run("memory", func(t *testing.T) { runShapes(t, 512<<20, during, "--store", "memory") })
}

func runShapes(t *testing.T, limit int64, during time.Duration, args ...string) {
	var srv *server
	var c *cage
	for _, s := range shapes() {
		if want := os.Getenv("DABBA_SHAPE"); !strings.Contains(s.name, want) || want == "" && s.rare && !torture() {
			continue
		}
		if srv == nil {
			c = newCage(t, limit)
			srv = c.start(filepath.Join(t.TempDir(), "data"), append([]string{"--journal-size", "16MiB"}, args...)...)
			srv.client().create("others", "")
		}
		if !s.run(t, srv, c, during) {
			srv.kill()
			srv = nil
		}
	}
}
