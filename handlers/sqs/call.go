package sqs

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
)

// call is one request under way. It belongs to one goroutine.
type call struct {
	*API
	w http.ResponseWriter
	r *http.Request
	// principal makes the request, in a region.
	principal auth.Principal
	region    string
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
// manage. The parameter may be a URL, of which only the path counts since clients sit behind proxies, or a bare name.
func (c *call) queue(parameter, action string) (engine.Ref, error) {
	name := nameInURL(parameter)
	if name == "" {
		name = nameInPath(c.r.URL.Path)
	}
	if name == "" {
		return engine.Ref{}, missing("QueueUrl")
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

// existing is [call.queue] of one that there is, with its configuration, which is shared. That a queue is missing comes before
// whatever else is wrong with a request.
func (c *call) existing(parameter, action string) (engine.Ref, *engine.QueueConfig, error) {
	ref, err := c.queue(parameter, action)
	if err != nil {
		return engine.Ref{}, nil, err
	}
	config, err := c.Engine.Config(c.ctx(), ref)
	return ref, config, err
}

// configure changes the configuration of a queue. Maps and slices in it are shared: what do wants to change, it
// replaces. do must not call the engine, and may be called more than once.
func (c *call) configure(ref engine.Ref, do func(*engine.QueueConfig) error) (*nothing, error) {
	_, err := c.Engine.ChangeQueue(c.ctx(), ref, engine.Condition{}, func(config engine.QueueConfig) (engine.QueueConfig, error) {
		err := do(&config)
		return config, err
	})
	if err != nil {
		return nil, err
	}
	return &nothing{}, nil
}

// nameInURL is the queue's name in the URL of a queue; empty for a URL that is of none.
func nameInURL(s string) string {
	if !strings.Contains(s, "/") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	return nameInPath(u.Path)
}

// nameInPath is what follows the account, before which a proxy may have its own part of the path.
func nameInPath(path string) string {
	path = strings.Trim(path, "/")
	account := strings.LastIndexByte(path, '/')
	if account < 0 {
		return ""
	}
	return path[account+1:]
}

// url is the URL of a queue: as the client reached the server, unless the server knows better.
func (c *call) url(name string) string {
	base := c.PublicURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil || c.r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		base = scheme + "://" + c.r.Host
	}
	return base + "/" + c.Account + "/" + name
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
