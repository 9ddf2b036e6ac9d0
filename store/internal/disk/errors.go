package disk

import (
	"errors"
	"syscall"
)

// ErrLocked is returned by [FS.Lock] when the lock is taken.
var ErrLocked = errors.New("file is locked")

// NoSpace says whether an error means that files can take no more bytes: the file system, or what the user may have of
// it, is used up. It may be otherwise later.
func NoSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// NoDescriptors says whether an error means that no more files can be open at once. It may be otherwise later.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Shortage says whether an error means that something is short that may be there again later.
func Shortage(err error) bool {
	return NoSpace(err) || NoDescriptors(err) || errors.Is(err, syscall.ENOMEM)
}
