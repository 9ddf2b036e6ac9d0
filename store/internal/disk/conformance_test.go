package disk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// each runs a test on every file system, with a directory to work in.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Helper()
	t.Run("os", func(t *testing.T) { t.Parallel(); test(t, OS{}, path.Join(t.TempDir(), "deep", "er")) })
	t.Run("sim", func(t *testing.T) { t.Parallel(); test(t, NewSim(), "/data/deep/er") })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, fsys FS, name, content string) File {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// content reads a file by name; ok is false if there is none.
func content(t *testing.T, fsys FS, name string) (_ string, ok bool) {
	t.Helper()
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n != len(b) || (err != nil && !errors.Is(err, io.EOF)) {
		t.Fatalf("ReadAt(%s) = %d, %v, want %d", name, n, err, size)
	}
	must(t, f.Close())
	return string(b), true
}

func TestFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(dir))
		must(t, fsys.MkdirAll(dir))
		a, b := path.Join(dir, "a"), path.Join(dir, "b")
		if _, err := fsys.Open(a); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of nothing = %v, want fs.ErrNotExist", err)
		}
		f := create(t, fsys, a, "hello")
		if _, err := fsys.Create(a); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create of an existing file = %v, want fs.ErrExist", err)
		}
		if _, err := f.WriteAt([]byte("world"), 5000); err != nil {
			t.Fatal(err)
		}
		must(t, f.Sync())
		want := "hello" + string(make([]byte, 4995)) + "world"
		if got, _ := content(t, fsys, a); got != want {
			t.Errorf("content with a gap is %d bytes and wrong", len(got))
		}
		buf := make([]byte, 10)
		if n, err := f.ReadAt(buf, 5003); n != 2 || !errors.Is(err, io.EOF) || string(buf[:2]) != "ld" {
			t.Errorf("ReadAt over the end = %d %q, %v, want 2 bytes and io.EOF", n, buf[:n], err)
		}
		if n, err := f.ReadAt(buf, 6000); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt past the end = %d, %v, want 0 bytes and io.EOF", n, err)
		}
		must(t, f.Truncate(3))
		must(t, f.Truncate(6))
		if got, _ := content(t, fsys, a); got != "hel\x00\x00\x00" {
			t.Errorf("after shrinking and growing: %q", got)
		}
		must(t, create(t, fsys, b, "other").Close())
		must(t, fsys.Rename(a, b))
		must(t, fsys.SyncDir(dir))
		names, err := fsys.List(dir)
		if diff := cmp.Diff([]string{"b"}, names); diff != "" || err != nil {
			t.Errorf("List = %v, %s", err, diff)
		}
		if _, err := f.WriteAt([]byte("HEL"), 0); err != nil {
			t.Errorf("write through a handle after rename: %v", err)
		}
		if got, _ := content(t, fsys, b); got != "HEL\x00\x00\x00" {
			t.Errorf("after rename: %q", got)
		}
		must(t, fsys.Remove(b))
		if _, ok := content(t, fsys, b); ok {
			t.Error("a removed file is still there")
		}
		if n, err := f.ReadAt(buf[:3], 0); n != 3 || err != nil {
			t.Errorf("read through a handle after remove = %d, %v", n, err)
		}
		must(t, f.Close())
		if err := f.Sync(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Sync of a closed file = %v, want fs.ErrClosed", err)
		}
		if err := fsys.Remove(b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove of nothing = %v, want fs.ErrNotExist", err)
		}
		if err := fsys.Rename(a, b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Rename of nothing = %v, want fs.ErrNotExist", err)
		}
		if _, err := fsys.Create(path.Join(dir, "none", "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Create in no directory = %v, want fs.ErrNotExist", err)
		}
		if free, err := fsys.Free(dir); free <= 0 || err != nil {
			t.Errorf("Free = %d, %v", free, err)
		}
	})
}

func TestListLeavesOutDirectories(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(path.Join(dir, "sub")))
		must(t, create(t, fsys, path.Join(dir, "z"), "").Close())
		must(t, create(t, fsys, path.Join(dir, "y"), "").Close())
		must(t, create(t, fsys, path.Join(dir, "sub", "x"), "").Close())
		names, err := fsys.List(dir)
		if diff := cmp.Diff([]string{"y", "z"}, names); diff != "" || err != nil {
			t.Errorf("List = %v, %s", err, diff)
		}
		if err := fsys.MkdirAll(path.Join(dir, "z", "below")); err == nil {
			t.Error("MkdirAll beneath a file succeeded")
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(dir))
		name := path.Join(dir, "LOCK")
		held, err := fsys.Lock(name)
		must(t, err)
		if _, err := fsys.Lock(name); !errors.Is(err, ErrLocked) {
			t.Errorf("second Lock = %v, want ErrLocked", err)
		}
		must(t, held.Close())
		again, err := fsys.Lock(name)
		must(t, err)
		must(t, again.Close())
	})
}

func TestWritesAcrossBlocks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(dir))
		want := make([]byte, 20000)
		f := create(t, fsys, path.Join(dir, "f"), string(want))
		for i, at := range []int{0, 4090, 8192, 12287, 511, 19000} {
			piece := bytes.Repeat([]byte{byte(i + 1)}, 700+i)
			n, err := f.WriteAt(piece, int64(at))
			if n != len(piece) || err != nil {
				t.Fatalf("WriteAt(%d) = %d, %v", at, n, err)
			}
			copy(want[at:], piece)
			if i%2 == 0 {
				must(t, f.Sync())
			}
		}
		if got, _ := content(t, fsys, path.Join(dir, "f")); got != string(want) {
			t.Error("content differs from what was written")
		}
		must(t, f.Close())
	})
}
