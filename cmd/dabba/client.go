package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

const (
	// defaultURL is where dabba serve listens unless told otherwise.
	defaultURL = "http://127.0.0.1:8080"
	// dialTime is how long connecting may take; an answer may take as long as it likes, since receives wait.
	dialTime = 10 * time.Second
	// maxAnswer bounds what is read of one answer: more than any receive gives.
	maxAnswer = 256 << 20
	// attempts is how often a repeatable request is tried, and backoff* how long to pause between.
	attempts     = 8
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 5 * time.Second
)

// clientOptions are the flags that all client commands share.
type clientOptions struct {
	url, token string
}

func (o *clientOptions) register(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&o.url, "url", defaultURL, "`address` of the server ("+envName("url")+")")
	f.StringVar(&o.token, "token", "", "bearer `token` ("+envName("token")+")")
}

// client speaks the native API.
type client struct {
	base  string
	token string
	http  *http.Client
}

// client reads what the flags leave open from the environment.
func (o *clientOptions) client(p program, cmd *cobra.Command) (*client, error) {
	if err := p.fromEnv(cmd.Flags()); err != nil {
		return nil, err
	}
	u, err := url.Parse(o.url)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--url is an address like http://127.0.0.1:8080, not %q", o.url)
	}
	return &client{
		base:  strings.TrimSuffix(o.url, "/"),
		token: strings.TrimSpace(o.token),
		http: &http.Client{Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			DialContext:     (&net.Dialer{Timeout: dialTime}).DialContext,
			IdleConnTimeout: time.Minute,
		}},
	}, nil
}

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	// body is encoded as JSON; nil for none.
	body any
	// key, the idempotency key, makes the call repeatable, and repeat says that it is so by itself: it is tried again
	// while its outcome is unknown or the server is busy.
	key    string
	repeat bool
	// header is sent besides what every request has.
	header http.Header
}

// answerError is a problem document (RFC 9457) as an error.
type answerError struct {
	Status     int    `json:"status"`
	Code       string `json:"code"`
	Title      string `json:"title"`
	Detail     string `json:"detail"`
	Field      string `json:"field"`
	Outcome    string `json:"outcome"`
	retryAfter time.Duration
}

func (e *answerError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server answered %d %s: is --url that of a Dabba server?", e.Status, http.StatusText(e.Status))
	}
	return e.Detail
}

// call performs a request and decodes the answer into out, unless that is nil.
func (c *client) call(ctx context.Context, r request, out any) error {
	var content []byte
	if r.body != nil {
		var err error
		if content, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	pause := backoffFirst
	for try := 1; ; try++ {
		err := c.once(ctx, r, content, out)
		if err == nil || (r.key == "" && !r.repeat) || try == attempts || ctx.Err() != nil || !worthRepeating(err, try) {
			return c.explain(err)
		}
		wait := pause/2 + rand.N(pause/2+1) //nolint:gosec,forbidigo // spreading retries needs no secrecy
		if a, ok := errors.AsType[*answerError](err); ok {
			wait = max(wait, min(a.retryAfter, backoffMost))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return c.explain(err)
		}
		pause = min(2*pause, backoffMost)
	}
}

// errForeign: the answer is not one of a Dabba server.
var errForeign = errors.New("does not answer like a Dabba server: is --url right?")

// worthRepeating: the server may answer differently soon. That nobody listens at all is told at once the first time.
func worthRepeating(err error, try int) bool {
	if errors.Is(err, errForeign) {
		return false
	}
	if a, ok := errors.AsType[*answerError](err); ok {
		return a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
	}
	return try > 1 || !errors.Is(err, syscall.ECONNREFUSED)
}

func (c *client) once(ctx context.Context, r request, content []byte, out any) error {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("prepare the request: %w", err)
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("User-Agent", "dabba/"+version())
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		e := problemOf(resp, answer)
		if e.Code == "unauthenticated" && c.token == "" {
			e.Detail = "The server wants a token: give one with --token or " + envName("token") + "; dabba token issues one."
		}
		return e
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %w (%w)", c.base, errForeign, err)
	}
	return nil
}

func problemOf(resp *http.Response, answer []byte) *answerError {
	e := &answerError{}
	if err := json.Unmarshal(answer, e); err != nil || e.Detail == "" {
		e = &answerError{}
	}
	e.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.retryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// explain says what to do about a server that cannot be reached.
func (c *client) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server answers at %s: start one with dabba serve, or name another with --url or %s", c.base, envName("url"))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("reach the server at %s: %w", c.base, u.Err)
	}
	return err
}

// queuePath is the path of a queue, or of something in it.
func queuePath(name, rest string) string {
	return "/v1/queues/" + url.PathEscape(name) + rest
}
