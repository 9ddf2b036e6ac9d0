package redistest

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
)

// inode asks the system for that of one end of a TCP connection, see sock_diag(7). Reading /proc/net/tcp takes some ten
// milliseconds, since that is all connections of the machine.
func inode(local, remote *net.TCPAddr) (uint32, error) {
	const (
		sockDiag     = 4  // NETLINK_SOCK_DIAG
		byFamily     = 20 // SOCK_DIAG_BY_FAMILY
		header       = 16 // bytes of nlmsghdr
		request      = 56 // bytes of inet_diag_req_v2
		inodeAt      = header + 68
		anyCookie    = 0xffffffffffffffff
		allStates    = 0xffffffff
		errorMessage = 2 // NLMSG_ERROR
	)
	s, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, sockDiag)
	if err != nil {
		return 0, fmt.Errorf("open a socket for sock_diag: %w", err)
	}
	defer syscall.Close(s) //nolint:errcheck // only asked
	var b []byte
	native, wire := binary.NativeEndian, binary.BigEndian
	b = native.AppendUint32(b, header+request)
	b = native.AppendUint16(b, byFamily)
	b = native.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = native.AppendUint64(b, 0) // sequence, port
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, allStates)
	b = wire.AppendUint16(b, uint16(local.Port))
	b = wire.AppendUint16(b, uint16(remote.Port))
	for _, a := range []*net.TCPAddr{local, remote} {
		b = append(append(b, a.IP.To4()...), make([]byte, 12)...)
	}
	b = native.AppendUint32(b, 0) // interface
	b = native.AppendUint64(b, anyCookie)
	if err := syscall.Sendto(s, b, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("ask sock_diag: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(s, answer, 0)
	if err != nil {
		return 0, fmt.Errorf("hear from sock_diag: %w", err)
	}
	if n < inodeAt+4 || native.Uint16(answer[4:]) == errorMessage {
		return 0, fmt.Errorf("sock_diag knows no connection from %v to %v", local, remote)
	}
	return native.Uint32(answer[inodeAt:]), nil
}
