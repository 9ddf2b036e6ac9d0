//go:build unix

package auth

import (
	"io/fs"
	"syscall"
)

// ownerOf is the id of the user that a file belongs to; -1 if that is unknown.
func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
