package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// OS is the file system of the machine. Files are made readable by their owner only.
type OS struct{}

var _ FS = OS{}

// Create implements [FS].
func (OS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements [FS].
func (OS) Open(name string) (File, error) {
	return open(name, os.O_RDWR)
}

// Rename implements [FS].
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove implements [FS]. It removes files only.
func (OS) Remove(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("remove %s: it is a directory", name)
	}
	return os.Remove(name)
}

// List implements [FS].
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// MkdirAll implements [FS]. Each directory it makes is synced into its parent before the next is made.
func (o OS) MkdirAll(dir string) error {
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("make directory %s: a file with this name is in the way", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := o.MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.SyncDir(parent)
}

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(d), d.Close())
}

// Free implements [FS].
func (OS) Free(dir string) (int64, error) { return free(dir) }

// Lock implements [FS]. The lock belongs to the open file, so it is also taken from others in this process, and the
// system drops it when the process ends in whatever way.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}

func open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

// osFile adds the sync the store needs to an open file: data and length, not the times of change.
type osFile struct{ *os.File }

func (f *osFile) Sync() error {
	if err := datasync(f.File); err != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
