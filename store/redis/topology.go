package redis

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// topology says which server has a key.
type topology interface {
	// route finds the server that has a key.
	route(ctx context.Context, key string) (*server, error)
	// at finds the server at an address that another one named.
	at(addr string) *server
	// failed says that a server did not answer, or named another one.
	failed()
	// left says that a server takes no calls at the moment.
	left(v *server) bool
	// masters are the servers that take calls.
	masters(ctx context.Context) ([]*server, error)
	// known are those of the last time that this was asked.
	known() []*server
}

// bufferSize is that of a connection's reads and writes: about what a script takes and gives, so that each is one system call.
const bufferSize = 128 << 10

// connect makes what an address names: the topology, and a client for plain calls that may be repeated.
func (s *Store) connect() (topology, redis.UniversalClient) {
	o := s.endpoint.each
	o.MaxRetries = -1 // a script that was sent may have run
	o.DialerRetries = 1
	o.DialTimeout = time.Second
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 10*time.Second) // a server that is busy for long answers late
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, 5*time.Second)
	o.ContextTimeoutEnabled = true
	o.ReadBufferSize = cmp.Or(o.ReadBufferSize, bufferSize)
	o.WriteBufferSize = cmp.Or(o.WriteBufferSize, bufferSize)
	o.DisableIdentity = true
	o.PoolSize = max(o.PoolSize, ordinaryLanes+ackedLanes+4*runtime.GOMAXPROCS(0))
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch s.endpoint.kind {
	case sentinel:
		return s.connectSentinel(o)
	case cluster:
		return s.connectCluster(o)
	case single:
	}
	v := newServer(s, o.Addr)
	v.asking = func() *redis.Client { return redis.NewClient(askingOptions(o)) }
	own := *o
	own.Dialer, own.OnConnect = v.pulse.dialer(redis.NewDialer(o)), v.meet
	v.use(redis.NewClient(&own))
	return lone{v}, v.client
}

// use has calls to the server made with a client.
func (v *server) use(c *redis.Client) {
	v.client, v.pulse.server = c, v.name
	c.AddHook(v.pulse)
	c.AddHook(dialing{v.store.endpoint})
}

// askingOptions are those of a client with a single connection.
func askingOptions(o *redis.Options) *redis.Options {
	own := *o
	own.PoolSize, own.MinIdleConns, own.PipelinePoolSize = 1, 0, -1
	own.ReadBufferSize, own.WriteBufferSize = 0, 0 // as the client has them
	return &own
}

// lone is one server for everything, which may be a different process in turn.
type lone struct{ server *server }

func (l lone) route(context.Context, string) (*server, error) { return l.server, nil }
func (l lone) at(string) *server                              { return nil }
func (l lone) failed()                                        {}
func (l lone) left(*server) bool                              { return false }
func (l lone) masters(context.Context) ([]*server, error)     { return l.known(), nil }
func (l lone) known() []*server                               { return []*server{l.server} }

// connectSentinel asks sentinels for the master, again with each new connection and whenever they announce another one.
func (s *Store) connectSentinel(o *redis.Options) (topology, redis.UniversalClient) {
	v := newServer(s, s.endpoint.master)
	options := func(o *redis.Options) *redis.FailoverOptions {
		return &redis.FailoverOptions{
			MasterName: s.endpoint.master, SentinelAddrs: s.endpoint.hosts,
			SentinelUsername: s.endpoint.sentinelUsername, SentinelPassword: s.endpoint.sentinelPassword,
			Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig, Dialer: redis.NewDialer(o),
			MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries, DialTimeout: o.DialTimeout,
			ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
			ReadBufferSize: o.ReadBufferSize, WriteBufferSize: o.WriteBufferSize,
			PoolTimeout: o.PoolTimeout, PoolSize: o.PoolSize, PipelinePoolSize: o.PipelinePoolSize, MinIdleConns: o.MinIdleConns,
			DisableIdentity: o.DisableIdentity,
		}
	}
	v.asking = func() *redis.Client {
		c := redis.NewFailoverClient(options(askingOptions(o)))
		c.AddHook(dialing{s.endpoint})
		return c
	}
	own := options(o)
	own.Dialer, own.OnConnect = v.pulse.dialer(own.Dialer), v.meet
	v.use(redis.NewFailoverClient(own))
	return lone{v}, v.client
}

// clustered are the masters of a cluster, each for a part of the slots.
type clustered struct {
	client *redis.ClusterClient

	mu     sync.Mutex
	byAddr map[string]*server
	byNode map[*redis.Client]*server
	last   []*server // masters, when they were asked for
}

func (s *Store) connectCluster(o *redis.Options) (topology, redis.UniversalClient) {
	t := &clustered{byAddr: make(map[string]*server), byNode: make(map[*redis.Client]*server)}
	t.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: s.endpoint.hosts, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries, DialTimeout: o.DialTimeout,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		ReadBufferSize: o.ReadBufferSize, WriteBufferSize: o.WriteBufferSize,
		PoolTimeout: o.PoolTimeout, PoolSize: o.PoolSize, DisableIdentity: o.DisableIdentity,
		MaintNotificationsConfig: o.MaintNotificationsConfig, FailingTimeoutSeconds: 1,
		NewClient: func(o *redis.Options) *redis.Client {
			v := newServer(s, o.Addr)
			v.asking = func() *redis.Client { return redis.NewClient(askingOptions(o)) }
			own := *o
			own.Dialer, own.OnConnect = v.pulse.dialer(redis.NewDialer(o)), v.meet
			v.use(redis.NewClient(&own))
			t.mu.Lock()
			defer t.mu.Unlock()
			if old := t.byAddr[o.Addr]; old != nil {
				delete(t.byNode, old.client)
			}
			t.byAddr[o.Addr], t.byNode[v.client] = v, v
			return v.client
		},
	})
	return t, t.client
}

func (t *clustered) route(ctx context.Context, key string) (*server, error) {
	node, err := t.client.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.byNode[node]; v != nil {
		return v, nil
	}
	return nil, errors.New("the layout of the cluster has just changed")
}

func (t *clustered) at(addr string) *server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byAddr[addr]
}

func (t *clustered) failed() { t.client.ReloadState(context.Background()) } //nolint:forbidigo // it only asks for a reload

func (t *clustered) left(*server) bool { return true }

func (t *clustered) masters(ctx context.Context) ([]*server, error) {
	var list []*server
	err := t.client.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if v := t.byNode[node]; v != nil {
			list = append(list, v)
		}
		return nil
	})
	if err == nil && len(list) == 0 {
		err = errors.New("no server of the cluster has any slots; look whether it is complete (redis-cli --cluster check)")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.last = list
	}
	return list, err
}

func (t *clustered) known() []*server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// redirection is what a server says that does not have a key: which one does, and whether only for this call.
func redirection(err error) (addr string, once, ok bool) {
	answer := redis.Error(nil)
	if err == nil || !errors.As(err, &answer) {
		return "", false, false
	}
	words := strings.Fields(answer.Error())
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return "", false, false
	}
	return words[2], words[0] == "ASK", true
}
