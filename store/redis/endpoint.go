package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// endpoint is what a URL says of where the servers are.
type endpoint struct {
	// each is how every server is spoken to; its Addr is the first host.
	each *redis.Options
	// hosts are all that were named, with ports: the server, some sentinels, or some servers of a cluster.
	hosts []string
	kind  kind
	// master is what the sentinels call it.
	master                             string
	sentinelUsername, sentinelPassword string
}

// kind is how the servers work together.
type kind uint8

const (
	single kind = iota
	sentinel
	cluster
)

// schemes say how the servers work together, which scheme the client knows that speaks to one of them likewise, and the
// port of hosts without one.
var schemes = map[string]struct {
	kind        kind
	plain, port string
}{
	"redis":           {single, "redis", "6379"},
	"rediss":          {single, "rediss", "6379"},
	"redis-sentinel":  {sentinel, "redis", "26379"},
	"rediss-sentinel": {sentinel, "rediss", "26379"},
	"redis-cluster":   {cluster, "redis", "6379"},
	"rediss-cluster":  {cluster, "rediss", "6379"},
}

// parseEndpoint reads the forms of [Options.URL]. Its errors do not repeat it, since it may hold a password.
func parseEndpoint(text string) (endpoint, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	form, known := schemes[scheme]
	if !known {
		return endpoint{}, errors.New("it begins with redis://, redis-sentinel:// or redis-cluster://, or with rediss for redis when there is TLS")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	user, hosts := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, hosts = authority[:i+1], authority[i+1:]
	}
	a := endpoint{kind: form.kind}
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), form.port)
		}
		a.hosts = append(a.hosts, host)
	}
	if a.kind == single && len(a.hosts) > 1 {
		return endpoint{}, errors.New("redis:// names one server; write redis-cluster:// or redis-sentinel:// for several")
	}
	u, err := url.Parse(form.plain + "://" + user + a.hosts[0] + tail)
	if err != nil {
		return endpoint{}, errors.New("it cannot be read; write / and : in a password as %2F and %3A")
	}
	if a.kind == sentinel {
		a.master, u.Path, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		if a.master == "" {
			return endpoint{}, errors.New("the name that the sentinels have for the master is missing: redis-sentinel://host:26379/<name>")
		}
		q := u.Query()
		a.sentinelUsername, a.sentinelPassword = q.Get("sentinel_username"), q.Get("sentinel_password")
		q.Del("sentinel_username")
		q.Del("sentinel_password")
		u.RawQuery = q.Encode()
	}
	if n := strings.Trim(u.Path, "/"); strings.Trim(n, "0123456789") != "" {
		return endpoint{}, errors.New("after the host comes the number of a database, as in redis://host:6379/0; write / and : in a password as %2F and %3A")
	}
	if a.each, err = redis.ParseURL(u.String()); err != nil {
		return endpoint{}, fmt.Errorf("%w (it is like redis://user:password@host:6379/0)", err)
	}
	if a.kind == cluster && a.each.DB != 0 {
		return endpoint{}, errors.New("a cluster has database 0 only; leave the number out")
	}
	if a.kind != single && a.each.TLSConfig != nil {
		a.each.TLSConfig.ServerName = "" // each server is called by its own name
	}
	return a, nil
}

// plainly is how a client speaks to the servers that is no [Store]: with nothing between.
func (a endpoint) plainly() *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: a.hosts, MasterName: a.master, IsClusterMode: a.kind == cluster,
		Username: a.each.Username, Password: a.each.Password, DB: a.each.DB, TLSConfig: a.each.TLSConfig,
		SentinelUsername: a.sentinelUsername, SentinelPassword: a.sentinelPassword,
		MaxRetries: a.each.MaxRetries, ReadTimeout: a.each.ReadTimeout, WriteTimeout: a.each.WriteTimeout,
		PoolTimeout: a.each.PoolTimeout, DisableIdentity: true,
		MaintNotificationsConfig: a.each.MaintNotificationsConfig,
	}
}
