//go:build unix

package exchange

import (
	"errors"
	"syscall"
)

// peerClosed looks at a socket without taking anything from it: whether its end or an error is what comes next.
func peerClosed(fd uintptr) bool {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == nil:
		return n == 0
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return false
	default:
		return true
	}
}
