package disk

import "errors"

// ErrLocked is returned by [FS.Lock] when the lock is taken.
var ErrLocked = errors.New("file is locked")
