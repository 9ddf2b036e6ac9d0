package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// ErrCrashed is returned by every call to a [Sim] that was frozen or has crashed.
var ErrCrashed = errors.New("the simulated disk has crashed")

// Sim is a disk in memory that can lose power. It keeps apart what was written from what was synced, for the content of
// files in sectors of 512 bytes and for the entries of directories, so that [Sim.Crash] can take away any part of what
// is not durable. Through [Sim.Hook] calls can be made to fail, and the world stopped at any of them.
//
// It is quick for small files: blocks are shared between what is written, what is durable and the disks that crashes
// leave behind.
type Sim struct {
	// Hook, if set, is called before and after each call, with no lock held, perhaps by many goroutines at once. An error
	// before makes the call fail with it and without effect (see [ShortWrite] and [SyncFault] for exceptions); an error
	// after makes it fail although it took effect. It may call Freeze. Set it while the disk is idle; when it may be busy,
	// use SetHook.
	Hook func(op Op) error
	// Capacity is the number of bytes that files may take, in blocks of 4096; 0 means no limit. Only blocks that were
	// not written before need room. Set it while the disk is idle; when it may be busy, use SetCapacity.
	Capacity int64

	// hooked is what SetHook was given.
	hooked atomic.Pointer[func(Op) error]
	calls  atomic.Int64
	frozen atomic.Bool

	mu sync.Mutex
	// epoch is the last one that was given to an inode.
	epoch uint64
	// blocks is the number of blocks in use.
	blocks int64
	dirs   map[string]bool
	locks  map[string]bool
	// names is what programs see, durable what a crash certainly leaves, pending what lies between, in order.
	names, durable map[string]*inode
	pending        []dirOp
}

var _ FS = (*Sim)(nil)

// dirOp is an operation on directories that is not durable yet.
type dirOp struct {
	// file becomes newName, if that is set; oldName goes away, if that is set.
	file             *inode
	oldName, newName string
}

// NewSim returns an empty disk.
func NewSim() *Sim {
	return &Sim{
		dirs:    map[string]bool{".": true, "/": true},
		locks:   map[string]bool{},
		names:   map[string]*inode{},
		durable: map[string]*inode{},
	}
}

// SetHook sets a function that takes the place of Hook from now on, also while calls are under way; nil takes it away
// again.
func (s *Sim) SetHook(hook func(op Op) error) {
	if hook == nil {
		s.hooked.Store(nil)
		return
	}
	s.hooked.Store(&hook)
}

// SetCapacity sets Capacity, also while calls are under way.
func (s *Sim) SetCapacity(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Capacity = bytes
}

// Calls is the number of calls so far: the last Op.N.
func (s *Sim) Calls() int { return int(s.calls.Load()) }

// Freeze stops the world: this call, if it is made from Hook, and all later ones fail with [ErrCrashed], and nothing
// has an effect any more.
func (s *Sim) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen.Store(true)
}

// do performs one call: the hook, the effect under the lock, the hook again.
func (s *Sim) do(op Op, effect func() error) error {
	op.N = int(s.calls.Add(1))
	if err := s.hook(op); err != nil {
		return op.fail(err)
	}
	if err := s.locked(effect); err != nil {
		return op.fail(err)
	}
	op.After = true
	if err := s.hook(op); err != nil {
		return op.fail(err)
	}
	return nil
}

// hook asks about a call, unless the disk is frozen or the hook freezes it.
func (s *Sim) hook(op Op) error {
	if s.frozen.Load() {
		return ErrCrashed
	}
	var hook func(Op) error
	if set := s.hooked.Load(); set != nil {
		hook = *set
	} else {
		hook = s.Hook
	}
	if hook == nil {
		return nil
	}
	err := hook(op)
	if s.frozen.Load() {
		return ErrCrashed
	}
	return err
}

func (s *Sim) locked(effect func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen.Load() {
		return ErrCrashed
	}
	return effect()
}

// Create implements [FS].
func (s *Sim) Create(name string) (File, error) {
	name = path.Clean(name)
	var f *simFile
	err := s.do(Op{Kind: OpCreate, Name: name}, func() error {
		if !s.dirs[path.Dir(name)] {
			return fs.ErrNotExist
		}
		if s.names[name] != nil || s.dirs[name] {
			return fs.ErrExist
		}
		f = s.handle(s.link(name))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// link makes a new empty file.
func (s *Sim) link(name string) *inode {
	n := &inode{sim: s, name: name, links: 1, epoch: s.nextEpoch()}
	s.names[name] = n
	s.pending = append(s.pending, dirOp{file: n, newName: name})
	return n
}

// Open implements [FS].
func (s *Sim) Open(name string) (File, error) {
	name = path.Clean(name)
	var f *simFile
	err := s.do(Op{Kind: OpOpen, Name: name}, func() error {
		n := s.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		f = s.handle(n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (s *Sim) handle(n *inode) *simFile {
	n.handles++
	return &simFile{sim: s, inode: n}
}

// Rename implements [FS].
func (s *Sim) Rename(oldName, newName string) error {
	oldName, newName = path.Clean(oldName), path.Clean(newName)
	return s.do(Op{Kind: OpRename, Name: oldName, To: newName}, func() error {
		n := s.names[oldName]
		if n == nil || !s.dirs[path.Dir(newName)] {
			return fs.ErrNotExist
		}
		if s.dirs[newName] {
			return fs.ErrExist
		}
		if oldName == newName {
			return nil
		}
		if replaced := s.names[newName]; replaced != nil {
			replaced.links--
			replaced.release()
		}
		delete(s.names, oldName)
		s.names[newName] = n
		n.name = newName
		s.pending = append(s.pending, dirOp{file: n, oldName: oldName, newName: newName})
		return nil
	})
}

// Remove implements [FS].
func (s *Sim) Remove(name string) error {
	name = path.Clean(name)
	return s.do(Op{Kind: OpRemove, Name: name}, func() error {
		n := s.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		delete(s.names, name)
		n.links--
		n.release()
		s.pending = append(s.pending, dirOp{file: n, oldName: name})
		return nil
	})
}

// List implements [FS].
func (s *Sim) List(dir string) ([]string, error) {
	dir = path.Clean(dir)
	var names []string
	err := s.do(Op{Kind: OpList, Name: dir}, func() error {
		if !s.dirs[dir] {
			return fs.ErrNotExist
		}
		for name := range s.names {
			if path.Dir(name) == dir {
				names = append(names, path.Base(name))
			}
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// MkdirAll implements [FS].
func (s *Sim) MkdirAll(dir string) error {
	dir = path.Clean(dir)
	return s.do(Op{Kind: OpMkdirAll, Name: dir}, func() error {
		for d := dir; !s.dirs[d]; d = path.Dir(d) {
			if s.names[d] != nil {
				return fmt.Errorf("%s: %w", d, syscall.ENOTDIR)
			}
		}
		for d := dir; !s.dirs[d]; d = path.Dir(d) {
			s.dirs[d] = true
		}
		return nil
	})
}

// SyncDir implements [FS].
func (s *Sim) SyncDir(dir string) error {
	dir = path.Clean(dir)
	return s.do(Op{Kind: OpSyncDir, Name: dir}, func() error {
		if !s.dirs[dir] {
			return fs.ErrNotExist
		}
		s.pending = slices.DeleteFunc(s.pending, func(op dirOp) bool {
			if !op.touches(dir) {
				return false
			}
			op.apply(s.durable)
			return true
		})
		return nil
	})
}

func (op dirOp) touches(dir string) bool {
	return (op.oldName != "" && path.Dir(op.oldName) == dir) || (op.newName != "" && path.Dir(op.newName) == dir)
}

// apply performs the operation on a set of names in which earlier ones may be missing.
func (op dirOp) apply(names map[string]*inode) {
	if op.oldName != "" && names[op.oldName] == op.file {
		delete(names, op.oldName)
	}
	if op.newName != "" {
		names[op.newName] = op.file
	}
}

// Free implements [FS].
func (s *Sim) Free(dir string) (int64, error) {
	dir = path.Clean(dir)
	var free int64
	err := s.do(Op{Kind: OpFree, Name: dir}, func() error {
		if !s.dirs[dir] {
			return fs.ErrNotExist
		}
		free = math.MaxInt64
		if s.Capacity > 0 {
			free = max(0, s.Capacity/blockSize-s.blocks) * blockSize
		}
		return nil
	})
	return free, err
}

// Lock implements [FS].
func (s *Sim) Lock(name string) (io.Closer, error) {
	name = path.Clean(name)
	err := s.do(Op{Kind: OpLock, Name: name}, func() error {
		if !s.dirs[path.Dir(name)] {
			return fs.ErrNotExist
		}
		if s.locks[name] {
			return ErrLocked
		}
		if s.names[name] == nil {
			s.link(name)
		}
		s.locks[name] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &simLock{sim: s, name: name}, nil
}

type simLock struct {
	sim  *Sim
	name string
	once sync.Once
}

func (l *simLock) Close() error {
	l.once.Do(func() {
		l.sim.mu.Lock()
		defer l.sim.mu.Unlock()
		delete(l.sim.locks, l.name)
	})
	return nil
}

// Evict drops from the page cache what a sync with [KeptUntilEvicted] or [Dying] failed to write: reads give what is on
// the disk.
func (s *Sim) Evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.names {
		n.evict()
	}
}

// allocate takes room for a block.
func (s *Sim) allocate() error {
	if s.Capacity > 0 && (s.blocks+1)*blockSize > s.Capacity {
		return syscall.ENOSPC
	}
	s.blocks++
	return nil
}

func (s *Sim) nextEpoch() uint64 {
	s.epoch++
	return s.epoch
}

// String lists what is on the disk, for messages of failed tests.
func (s *Sim) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		n := s.names[name]
		fmt.Fprintf(&b, "%s: %d bytes, %d durable\n", name, n.cur.size, n.dur.size)
	}
	return b.String()
}
