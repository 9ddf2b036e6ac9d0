package redis

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// dialing is a hook that says for people why a connection cannot be made. Some of what the client says of it looks like
// something else: that the sentinels know no such master like a server's answer that a key is missing, and that nobody answers
// in time like a caller that has given up.
type dialing struct{ endpoint endpoint }

// DialHook implements [redis.Hook].
func (d dialing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, d.explain(addr, err)
		}
		return c, nil
	}
}

// explain says what an error in connecting to a server means. With sentinels their answers, and what prevents them, come so, too.
func (d dialing) explain(addr string, err error) error {
	_, answer := errors.AsType[redis.Error](err)
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	late, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("no sentinel that answers knows a master called %q; correct the name at the end of the URL", d.endpoint.master)
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
		return errors.New("the sentinels want a password of their own, or another one; correct sentinel_password in the URL")
	case answer, errors.Is(err, context.Canceled):
		return err
	case untrusted:
		err = fmt.Errorf("%w; name a file with the certificate of that authority in SSL_CERT_FILE", err)
	case network && late.Timeout():
		said := strings.ReplaceAll(oneLine(err), context.DeadlineExceeded.Error(), "no answer in time")
		if d.endpoint.each.TLSConfig != nil {
			said += "; if there is no TLS, begin the URL with redis instead of rediss"
		}
		err = unreachedError{said}
	}
	switch {
	case d.endpoint.kind == sentinel && !strings.Contains(err.Error(), "sentinel"):
		err = fmt.Errorf("%w (as the sentinels name it)", err)
	case d.endpoint.kind == cluster && !slices.Contains(d.endpoint.hosts, addr):
		err = fmt.Errorf("%w (as the cluster names it)", err)
	}
	return err
}

// oneLine is what an error says, also if it consists of several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// unreachedError is of a connection that could not be made in time. It is a [net.Error], and no context's.
type unreachedError struct{ said string }

func (e unreachedError) Error() string   { return e.said }
func (e unreachedError) Timeout() bool   { return true }
func (e unreachedError) Temporary() bool { return true }

// ProcessHook implements [redis.Hook].
func (d dialing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (d dialing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
