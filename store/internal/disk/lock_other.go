//go:build !unix || solaris || aix

package disk

import (
	"errors"
	"os"
)

// lock refuses to work unprotected: two processes on one data folder would destroy it.
func lock(*os.File) error { return errors.ErrUnsupported }
