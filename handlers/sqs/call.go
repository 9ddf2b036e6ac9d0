package sqs

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// call is one request under way. It belongs to one goroutine.
type call struct {
	*API
	w http.ResponseWriter
	r *http.Request
	// principal makes the request, in a region.
	principal auth.Principal
	region    string
	// signed says that the principal is true only if the signature was made with the secret.
	signed    bool
	signature sigv4.Signature
	secret    string
	// received are messages that the client must get with the answer, or that are given back.
	received *engine.Received
}

func (c *call) ctx() context.Context { return c.r.Context() }

// tenant is the engine's namespace for a region of the principal's tenant. The native API shows that of the server's own
// region, so it has the tenant's name.
func (c *call) tenant() string {
	if c.region == c.Region {
		return c.principal.Tenant
	}
	return c.principal.Tenant + "/" + c.region
}

// queue is the queue that a request is about, if the principal may perform the action on it: send, receive, read or
// manage. The parameter QueueUrl, if there is one, names it, whatever the path is; one that names none never falls back
// to the path, which may be of another queue. Only the last segment of either counts: clients sit behind proxies, and come
// with URLs of other servers.
func (c *call) queue(parameter *string, action string) (engine.Ref, error) {
	var name string
	if parameter != nil {
		name = nameInURL(*parameter)
	} else if name = nameInPath(c.r.URL.EscapedPath()); name == "" {
		return engine.Ref{}, missing("QueueUrl")
	}
	if !validQueueName(name) {
		return engine.Ref{}, noQueue()
	}
	return c.named(name, action)
}

// named is [call.queue] by name.
func (c *call) named(name, action string) (engine.Ref, error) {
	if err := c.principal.Require("queues", action, name); err != nil {
		return engine.Ref{}, err
	}
	return engine.Ref{Tenant: c.tenant(), Name: name}, nil
}

// maySend says whether the principal may send to a queue, and so name it as the target of another one's messages.
func (c *call) maySend(queue string) error { return c.principal.Require("queues", "send", queue) }

// existing is [call.queue] of one that there is, with its configuration, which is shared. That a queue is missing comes before
// whatever else is wrong with a request.
func (c *call) existing(parameter *string, action string) (engine.Ref, *engine.QueueConfig, error) {
	ref, err := c.queue(parameter, action)
	if err != nil {
		return engine.Ref{}, nil, err
	}
	look := c.Engine.Config
	if action == "send" || action == "receive" {
		look = c.Engine.KnownConfig // a call on the messages follows, which finds out what has changed
	}
	config, err := look(c.ctx(), ref)
	return ref, config, err
}

// configure changes the configuration of a queue. Maps and slices in it are shared: what do wants to change, it
// replaces. do must not call the engine, and may be called more than once.
func (c *call) configure(ref engine.Ref, do func(*engine.QueueConfig) error) (*nothing, error) {
	_, err := c.Engine.ChangeQueue(c.ctx(), ref, engine.Condition{MaySend: c.maySend}, func(config engine.QueueConfig) (engine.QueueConfig, error) {
		err := do(&config)
		return config, err
	})
	if err != nil {
		return nil, err
	}
	return &nothing{}, nil
}

// nameInURL is the queue's name in a QueueUrl parameter: the last segment of a URL's path, whose scheme and host do not
// matter and may be missing, or a bare name. It is empty when there is none.
func nameInURL(s string) string {
	if end := strings.IndexAny(s, "?#"); end >= 0 {
		s = s[:end]
	}
	if !strings.Contains(s, "/") { // a name, or a URL that was escaped once too often
		s = unescaped(s)
	}
	if _, rest, absolute := strings.Cut(s, "://"); absolute {
		_, s, _ = strings.Cut(rest, "/")
	}
	return nameInPath(s)
}

// nameInPath is the last segment of an escaped path. What comes before it is an account, or what other servers and proxies
// put there. Slashes may be doubled and may follow it.
func nameInPath(path string) string {
	path = strings.TrimRight(path, "/")
	return unescaped(path[strings.LastIndexByte(path, '/')+1:])
}

// unescaped is s without escapes; s itself if they are wrong, which no name of a queue has.
func unescaped(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	plain, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return plain
}

// isService says whether the path is the service's own and not the URL of a queue, which has an account before the name.
func isService(path string) bool { return !strings.Contains(strings.Trim(path, "/"), "/") }

// url is the URL of a queue: as the client reached the server, unless the server knows better.
func (c *call) url(name string) string {
	base := c.PublicURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil || c.r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		base = scheme + "://" + c.host()
	}
	return base + "/" + c.Account + "/" + name
}

// host is how the client reached the server. A client of HTTP/1.0 need not name it: it reached the address it is connected to.
func (c *call) host() string {
	if c.r.Host != "" {
		return c.r.Host
	}
	if at, ok := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.String()
	}
	return "localhost"
}

// arn is the Amazon Resource Name of a queue in the request's region.
func (c *call) arn(name string) string {
	return "arn:aws:sqs:" + c.region + ":" + c.Account + ":" + name
}

// nameInARN is the queue's name in the ARN of a queue of the request's region; false for anything else.
func (c *call) nameInARN(arn string) (string, bool) {
	name, ok := strings.CutPrefix(arn, c.arn(""))
	return name, ok && name != ""
}
