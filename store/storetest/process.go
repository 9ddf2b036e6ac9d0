package storetest

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store/internal/disk"
)

// errKilled is what calls of a killed process get, if anybody looks.
var errKilled = errors.New("the process was killed")

// process is a file system as one process sees it. Killing the process ends its calls and frees its locks, but what it
// wrote stays in the page cache, synced or not.
type process struct {
	disk.FS
	dead atomic.Bool

	mu    sync.RWMutex // held for reading during each call
	locks []io.Closer
}

func newProcess(fs disk.FS) *process { return &process{FS: fs} }

// kill lets all calls from now on fail. It may be called in the middle of one.
func (p *process) kill() { p.dead.Store(true) }

// bury waits for the last calls of a killed process and frees its locks.
func (p *process) bury() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.locks {
		_ = l.Close()
	}
	p.locks = nil
}

// alive makes one call unless the process is dead.
func alive[T any](p *process, do func() (T, error)) (T, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.dead.Load() {
		var none T
		return none, errKilled
	}
	return do()
}

func (p *process) Create(name string) (disk.File, error) {
	f, err := alive(p, func() (disk.File, error) { return p.FS.Create(name) })
	return p.wrap(f, err)
}

func (p *process) Open(name string) (disk.File, error) {
	f, err := alive(p, func() (disk.File, error) { return p.FS.Open(name) })
	return p.wrap(f, err)
}

func (p *process) wrap(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return &processFile{f, p}, nil
}

// void makes a call that returns only an error.
func (p *process) void(do func() error) error {
	_, err := alive(p, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (p *process) Rename(oldName, newName string) error {
	return p.void(func() error { return p.FS.Rename(oldName, newName) })
}

func (p *process) Remove(name string) error {
	return p.void(func() error { return p.FS.Remove(name) })
}

func (p *process) List(dir string) ([]string, error) {
	return alive(p, func() ([]string, error) { return p.FS.List(dir) })
}

func (p *process) MkdirAll(dir string) error {
	return p.void(func() error { return p.FS.MkdirAll(dir) })
}

func (p *process) SyncDir(dir string) error {
	return p.void(func() error { return p.FS.SyncDir(dir) })
}

func (p *process) Free(dir string) (int64, error) {
	return alive(p, func() (int64, error) { return p.FS.Free(dir) })
}

func (p *process) Lock(name string) (io.Closer, error) {
	l, err := alive(p, func() (io.Closer, error) { return p.FS.Lock(name) })
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks = append(p.locks, l)
	return l, nil
}

// processFile is an open file of a process.
type processFile struct {
	disk.File
	process *process
}

func (f *processFile) ReadAt(b []byte, off int64) (int, error) {
	return alive(f.process, func() (int, error) { return f.File.ReadAt(b, off) })
}

func (f *processFile) WriteAt(b []byte, off int64) (int, error) {
	return alive(f.process, func() (int, error) { return f.File.WriteAt(b, off) })
}

func (f *processFile) Sync() error { return f.process.void(f.File.Sync) }

func (f *processFile) Truncate(size int64) error {
	return f.process.void(func() error { return f.File.Truncate(size) })
}

func (f *processFile) Size() (int64, error) { return alive(f.process, f.File.Size) }

func (f *processFile) Close() error { return f.process.void(f.File.Close) }
