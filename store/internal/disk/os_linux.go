package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// datasync does not flush the inode when only its times changed: on a file written beforehand that spares the file
// system's own journal.
func datasync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	closed := conn.Control(func(fd uintptr) {
		for {
			result = unix.Fdatasync(int(fd))
			if result != unix.EINTR {
				return
			}
		}
	})
	if closed != nil {
		return fs.ErrClosed
	}
	return result
}

func syncDir(d *os.File) error { return d.Sync() }

func free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, nil
}
