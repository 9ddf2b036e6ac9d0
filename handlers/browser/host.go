package browser

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParseHost returns a host as requests are compared with it: lower case, a name or an IP address, with a port if
// only that one is meant. [Any] stands for all.
func ParseHost(s string) (string, error) {
	if s == Any {
		return s, nil
	}
	host := strings.ToLower(s)
	if _, err := netip.ParseAddr(host); err == nil { // IPv6 without brackets
		return host, nil
	}
	name, port := splitHost(host)
	if name == "" || strings.ContainsAny(name, "/@*?# ") {
		return "", fmt.Errorf("a host is like queues.lan, 192.0.2.7 or queues.lan:8080, and * is all of them, not %q", s)
	}
	if port == "" {
		return name, nil
	}
	return host, nil
}

// usualHosts are what most requests have as their Host, which spares them to be taken apart.
func usualHosts(listening netip.AddrPort) map[string]bool {
	port := ":" + strconv.Itoa(int(listening.Port()))
	return map[string]bool{"": true, "localhost" + port: true, "127.0.0.1" + port: true}
}

// serves says whether a Host header names this server. Requests of HTTP/1.0 need not have one; those of browsers do.
//
// An IP address cannot be rebound: a page whose host it is came from there. A server that listens on all addresses
// answers to every one, since a machine does not know all of its own behind a router or around a container. One that
// listens on the loopback address is reached under no other: browsers send no fetch metadata to 0.0.0.0 or
// ::ffff:127.0.0.1, which lead there on some systems.
func (g *Guard) serves(host string) bool {
	if g.usual[host] || isLoopback(host) {
		return true
	}
	host = strings.ToLower(host)
	name, _ := splitHost(host)
	if name == "" {
		return false
	}
	if g.hosts[name] || g.hosts[host] {
		return true
	}
	own := g.Address.Addr()
	if !own.IsValid() || own.Unmap().IsLoopback() {
		return false
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (own.IsUnspecified() || ip.WithZone("") == own.Unmap().WithZone(""))
}

// isLoopback says whether host:port or a host alone names the loopback address.
func isLoopback(host string) bool {
	name, _ := splitHost(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if name == "" || name[0] != '1' && name[0] != ':' && name[0] != '0' { // no IP address of that kind: spares the error
		return false
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && !ip.Is4In6() && ip.IsLoopback()
}

// splitHost takes a Host header apart: the host without brackets, and the port, which may be missing. The host is
// empty if it has another form.
func splitHost(s string) (host, port string) {
	end := strings.LastIndexByte(s, ':')
	host = s
	if end >= 0 && digits(s[end+1:]) {
		host, port = s[:end], s[end+1:]
	}
	if rest, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(rest, "]")
		if !ok {
			return "", ""
		}
		return host, port
	}
	if strings.ContainsAny(host, ":]") {
		return "", ""
	}
	return host, port
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
