package disk

import (
	"errors"
	"io"
	"io/fs"
)

// simFile is an open file of a Sim.
type simFile struct {
	sim   *Sim
	inode *inode
	// closed is guarded by sim.mu.
	closed bool
}

// do performs a call on an open file.
func (f *simFile) do(op Op, effect func() error) error {
	op.Name = f.name()
	return f.sim.do(op, func() error {
		if f.closed {
			return fs.ErrClosed
		}
		return effect()
	})
}

// name is the one the file has now, or had last.
func (f *simFile) name() string {
	f.sim.mu.Lock()
	defer f.sim.mu.Unlock()
	return f.inode.name
}

func (f *simFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do(Op{Kind: OpRead, Offset: off, Len: len(p)}, func() error {
		if off < 0 {
			return fs.ErrInvalid
		}
		n = f.inode.cur.read(p, off)
		return nil
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *simFile) WriteAt(p []byte, off int64) (n int, err error) {
	write := func() (err error) {
		if off < 0 {
			return fs.ErrInvalid
		}
		n, err = f.inode.write(p, off)
		return err
	}
	err = f.do(Op{Kind: OpWrite, Offset: off, Len: len(p)}, write)
	var short *ShortWrite
	if n == 0 && errors.As(err, &short) {
		p = p[:min(short.N, len(p))]
		if err := f.sim.locked(write); err != nil {
			return n, err
		}
	}
	return n, err
}

func (f *simFile) Sync() error {
	done := false
	err := f.do(Op{Kind: OpSync}, func() error {
		done = true
		f.inode.sync()
		return nil
	})
	var fault *SyncFault
	if done || !errors.As(err, &fault) {
		return err
	}
	lied := f.sim.locked(func() error {
		f.inode.failSync(fault.Mode)
		return nil
	})
	if fault.Mode == Lied {
		return lied
	}
	return err
}

func (f *simFile) Truncate(size int64) error {
	return f.do(Op{Kind: OpTruncate, Offset: size}, func() error {
		if size < 0 {
			return fs.ErrInvalid
		}
		f.inode.truncate(size)
		return nil
	})
}

func (f *simFile) Size() (size int64, err error) {
	err = f.do(Op{Kind: OpSize}, func() error {
		size = f.inode.cur.size
		return nil
	})
	return size, err
}

func (f *simFile) Close() error {
	return f.do(Op{Kind: OpClose}, func() error {
		f.closed = true
		f.inode.handles--
		f.inode.release()
		return nil
	})
}
