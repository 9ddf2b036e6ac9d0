package redistest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// host is where everything listens.
const host = "127.0.0.1"

// Ports are taken from below those that systems give to outgoing connections: one of these could take the port of a server
// that was killed before it is started again. Each process begins elsewhere.
const (
	firstPort = 10_000
	ports     = 20_000
)

var portsTried atomic.Int64

// freePort is one that nobody listens on, and that this process has not given out for long.
func freePort() (string, error) {
	for range ports {
		n := int64(os.Getpid())*131 + portsTried.Add(1)
		port := strconv.FormatInt(firstPort+n%ports, 10)
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err == nil {
			return port, l.Close()
		}
	}
	return "", errors.New("no free port on " + host)
}
