package disk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errInjected = errors.New("injected")

func newSim(t *testing.T) *Sim {
	t.Helper()
	s := NewSim()
	must(t, s.MkdirAll("/d"))
	return s
}

// synced makes a file whose content and name are durable.
func synced(t *testing.T, s *Sim, name, content string) File {
	t.Helper()
	f := create(t, s, name, content)
	must(t, f.Sync())
	must(t, s.SyncDir(path.Dir(name)))
	return f
}

func write(t *testing.T, f File, off int64, content string) {
	t.Helper()
	if _, err := f.WriteAt([]byte(content), off); err != nil {
		t.Fatal(err)
	}
}

func testRNG() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func sectors(letters string) string {
	var b strings.Builder
	for _, l := range letters {
		b.WriteString(strings.Repeat(string(l), sectorSize))
	}
	return b.String()
}

// summary writes one letter for each sector, or ? for one that is not uniform.
func summary(content string) string {
	var b strings.Builder
	for len(content) > 0 {
		s := content[:min(sectorSize, len(content))]
		content = content[len(s):]
		if strings.Trim(s, s[:1]) != "" {
			b.WriteByte('?')
			continue
		}
		b.WriteString(strings.ReplaceAll(s[:1], "\x00", "0"))
	}
	return b.String()
}

func TestCrashLosesOrKeepsUnsyncedData(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	f := synced(t, s, "/d/f", sectors("aaaaaaaaaa"))
	write(t, f, 0, sectors("bb"))
	write(t, f, 9*sectorSize, sectors("cc")) // one sector is new
	for _, c := range []struct {
		fate Fate
		want string
	}{{Lost, "aaaaaaaaaa"}, {Kept, "bbaaaaaaacc"}} {
		after := s.Crash(Mode{Data: c.fate}, testRNG())
		got, _ := content(t, after, "/d/f")
		if diff := cmp.Diff(c.want, summary(got)); diff != "" {
			t.Errorf("%v: %s", c.fate, diff)
		}
	}
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, ErrCrashed) {
		t.Errorf("write through an old handle = %v, want ErrCrashed", err)
	}
	if _, err := s.Open("/d/f"); !errors.Is(err, ErrCrashed) {
		t.Errorf("Open on the old disk = %v, want ErrCrashed", err)
	}
}

func TestSyncedDataSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		for _, mode := range Modes {
			s := newSim(t)
			f := synced(t, s, "/d/f", sectors("abcdefghij"))
			write(t, f, 2*sectorSize, sectors("X"))
			write(t, f, 5*sectorSize+17, "partial")
			after := s.Crash(mode, rand.New(rand.NewPCG(seed, 0)))
			got, ok := content(t, after, "/d/f")
			sum := summary(got)
			if !ok || len(sum) != 10 || sum[:2] != "ab" || sum[3:5] != "de" || sum[6:] != "ghij" {
				t.Fatalf("seed %d, %v: synced sectors became %q", seed, mode, sum)
			}
		}
	}
}

// TestCrashRandomMixesSectors looks for each of the states that may be left, and for none that may not.
func TestCrashRandomMixesSectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(200) {
		s := newSim(t)
		f := synced(t, s, "/d/f", sectors("aa"))
		write(t, f, 0, sectors("bb"))
		got, _ := content(t, s.Crash(Mode{Data: Random}, rand.New(rand.NewPCG(seed, 0))), "/d/f")
		seen[summary(got)]++
	}
	for _, want := range []string{"aa", "ab", "ba", "bb"} {
		if seen[want] == 0 {
			t.Errorf("state %s never came up", want)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("impossible states: %v", seen)
	}
}

func TestCrashTearsEachWrite(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(400) {
		s := newSim(t)
		f := synced(t, s, "/d/f", sectors("aaaa"))
		write(t, f, 0, sectors("bbbb"))
		write(t, f, 0, sectors("c"))
		got, _ := content(t, s.Crash(Mode{Data: Torn}, rand.New(rand.NewPCG(seed, 0))), "/d/f")
		seen[summary(got)] = true
	}
	for _, want := range []string{"aaaa", "bbbb", "baaa", "bbaa", "bbba", "cbbb", "caaa", "abab", "cbab"} {
		if !seen[want] {
			t.Errorf("state %s never came up", want)
		}
	}
	for got := range seen {
		if strings.Trim(got[1:], "ab") != "" || strings.Trim(got[:1], "abc") != "" || len(got) != 4 {
			t.Errorf("impossible state %s", got)
		}
	}
}

func TestCrashAndUnsyncedLength(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for seed := range uint64(100) {
		s := newSim(t)
		f := synced(t, s, "/d/f", sectors("aaaa"))
		must(t, f.Truncate(sectorSize))
		for fate, want := range map[Fate]int{Lost: 4 * sectorSize, Kept: sectorSize} {
			got, _ := content(t, s.Crash(Mode{Data: fate}, testRNG()), "/d/f")
			if len(got) != want {
				t.Fatalf("%v: length %d, want %d", fate, len(got), want)
			}
		}
		got, _ := content(t, s.Crash(Mode{Data: Torn}, rand.New(rand.NewPCG(seed, 0))), "/d/f")
		seen[len(got)] = true
	}
	if !seen[sectorSize] || !seen[4*sectorSize] || len(seen) != 2 {
		t.Errorf("lengths after a torn truncation: %v, want the old and the new one", seen)
	}
}

func TestCrashAndDirectories(t *testing.T) {
	t.Parallel()
	build := func() *Sim {
		s := newSim(t)
		synced(t, s, "/d/removed", "r")
		synced(t, s, "/d/old", "o")
		must(t, create(t, s, "/d/created", "c").Sync())
		must(t, s.Rename("/d/old", "/d/new"))
		must(t, s.Remove("/d/removed"))
		return s
	}
	list := func(s *Sim) string {
		names, err := s.List("/d")
		must(t, err)
		return strings.Join(names, " ")
	}
	s := build()
	lost := s.Crash(Mode{Entries: Lost}, testRNG())
	if got := list(lost); got != "old removed" {
		t.Errorf("lost: %s", got)
	}
	if got, _ := content(t, lost, "/d/removed"); got != "r" {
		t.Errorf("the file whose removal was lost holds %q", got)
	}
	if got := list(s.Crash(Mode{Entries: Kept}, testRNG())); got != "created new" {
		t.Errorf("kept: %s", got)
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		seen[list(build().Crash(Mode{Entries: Random}, rand.New(rand.NewPCG(seed, 0))))] = true
	}
	if len(seen) != 8 {
		t.Errorf("three unsynced operations left %d states, want 8: %v", len(seen), seen)
	}
	s = build()
	must(t, s.SyncDir("/d"))
	if got := list(s.Crash(Mode{Entries: Lost}, testRNG())); got != "created new" {
		t.Errorf("after SyncDir: %s", got)
	}
}

func TestRenameReplacesAtomically(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		s := newSim(t)
		synced(t, s, "/d/f", "old")
		must(t, create(t, s, "/d/tmp", "new").Sync())
		must(t, s.Rename("/d/tmp", "/d/f"))
		got, ok := content(t, s.Crash(Mode{Entries: Random}, rand.New(rand.NewPCG(seed, 0))), "/d/f")
		if !ok || (got != "old" && got != "new") {
			t.Fatalf("seed %d: the name holds %q, %v", seed, got, ok)
		}
	}
}

func TestCrashLeavesIndependentDisks(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	synced(t, s, "/d/f", sectors("aaaaaaaa"))
	one, two := s.Crash(Mode{}, testRNG()), s.Crash(Mode{}, testRNG())
	f, err := one.Open("/d/f")
	must(t, err)
	write(t, f, 0, "changed")
	must(t, f.Sync())
	if got, _ := content(t, two, "/d/f"); summary(got) != "aaaaaaaa" {
		t.Error("a write to one disk shows on the other")
	}
	if got, _ := content(t, one.Crash(Mode{}, testRNG()), "/d/f"); got[:7] != "changed" {
		t.Error("a synced write after the first crash did not survive the second")
	}
}

func TestHookInjectsErrors(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	f := create(t, s, "/d/f", "")
	var ops []Op
	var before, after error
	s.SetHook(func(op Op) error {
		ops = append(ops, op)
		if op.After {
			return after
		}
		return before
	})
	before = syscall.EIO
	if _, err := f.WriteAt([]byte("x"), 3); !errors.Is(err, syscall.EIO) {
		t.Errorf("WriteAt = %v, want EIO", err)
	}
	if diff := cmp.Diff([]Op{{N: 3 + 0, Kind: OpWrite, Name: "/d/f", Offset: 3, Len: 1}}, ops, cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".N"
	}, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	before, after = nil, errInjected
	if _, err := f.WriteAt([]byte("xyz"), 0); !errors.Is(err, errInjected) {
		t.Errorf("WriteAt = %v, want the error from after", err)
	}
	before, after = &ShortWrite{N: 2, Err: syscall.ENOSPC}, nil
	if n, err := f.WriteAt([]byte("abcd"), 3); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt = %d, %v, want 2, ENOSPC", n, err)
	}
	s.SetHook(nil)
	if got, _ := content(t, s, "/d/f"); got != "xyzab" {
		t.Errorf("content %q, want what the call that failed afterwards and the short one wrote", got)
	}
	calls := s.Calls()
	if _, err := s.List("/d"); err != nil || s.Calls() != calls+1 {
		t.Errorf("List = %v, call %d, want %d", err, s.Calls(), calls+1)
	}
}

func TestFreezeStopsTheWorld(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		s := newSim(t)
		f := synced(t, s, "/d/f", "old")
		stopAt := s.Calls() + 2
		s.SetHook(func(op Op) error {
			if op.N == stopAt && op.After == after {
				s.Freeze()
			}
			return nil
		})
		write(t, f, 0, "new")
		if err := f.Sync(); !errors.Is(err, ErrCrashed) {
			t.Errorf("Sync = %v, want ErrCrashed", err)
		}
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrCrashed) {
			t.Errorf("ReadAt after = %v, want ErrCrashed", err)
		}
		want := map[bool]string{false: "old", true: "new"}[after]
		if got, _ := content(t, s.Crash(Mode{}, testRNG()), "/d/f"); got != want {
			t.Errorf("frozen after %v: %q, want %q", after, got, want)
		}
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.Capacity = 4 * blockSize
	f := create(t, s, "/d/f", string(make([]byte, 2*blockSize)))
	if free, err := s.Free("/d"); free != 2*blockSize || err != nil {
		t.Errorf("Free = %d, %v", free, err)
	}
	if n, err := f.WriteAt(make([]byte, 4*blockSize), blockSize); n != 3*blockSize || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt = %d, %v, want 3 blocks and ENOSPC", n, err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("x"), 4*blockSize), 0); err != nil {
		t.Errorf("rewriting allocated blocks: %v", err)
	}
	must(t, f.Sync())
	if _, err := f.WriteAt(make([]byte, blockSize), 0); err != nil {
		t.Errorf("rewriting synced blocks: %v", err)
	}
	must(t, s.SyncDir("/d"))
	after := s.Crash(Mode{Data: Kept}, testRNG())
	if free, _ := after.Free("/d"); free != 0 {
		t.Errorf("Free after a crash = %d, want 0", free)
	}
	g, err := after.Open("/d/f")
	must(t, err)
	must(t, g.Truncate(blockSize))
	if free, _ := after.Free("/d"); free != 3*blockSize {
		t.Errorf("Free after Truncate = %d, want 3 blocks", free)
	}
	must(t, after.Remove("/d/f"))
	must(t, g.Close())
	if free, _ := after.Free("/d"); free != 4*blockSize {
		t.Errorf("Free after Remove and Close = %d, want 4 blocks", free)
	}
}

func TestFailedSyncs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode SyncMode
		// what reads and what a crash gives after the sync that failed and one that succeeded, and reads after Evict
		read, evicted, crashed string
		// what a crash gives when all was written and synced once more
		again string
	}{
		{Dropped, "old", "old", "old", "new"},
		{KeptUntilEvicted, "new", "old", "old", "new"},
		{Dying, "new", "old", "old", "old"},
	} {
		s := newSim(t)
		f := synced(t, s, "/d/f", "old")
		write(t, f, 0, "new")
		s.SetHook(func(op Op) error { return &SyncFault{Mode: c.mode, Err: syscall.EIO} })
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("mode %d: Sync = %v, want EIO", c.mode, err)
		}
		s.SetHook(nil)
		must(t, f.Sync())
		if got, _ := content(t, s, "/d/f"); got != c.read {
			t.Errorf("mode %d: reads give %q, want %q", c.mode, got, c.read)
		}
		s.Evict()
		if got, _ := content(t, s, "/d/f"); got != c.evicted {
			t.Errorf("mode %d: reads after Evict give %q, want %q", c.mode, got, c.evicted)
		}
		write(t, f, 0, "new")
		must(t, f.Sync())
		if got, _ := content(t, s.Crash(Mode{Data: Kept}, testRNG()), "/d/f"); got != c.again {
			t.Errorf("mode %d: after writing again a crash leaves %q, want %q", c.mode, got, c.again)
		}
		if c.crashed == c.again {
			continue
		}
		s = newSim(t)
		f = synced(t, s, "/d/f", "old")
		write(t, f, 0, "new")
		s.SetHook(func(op Op) error { return &SyncFault{Mode: c.mode, Err: syscall.EIO} })
		if err := f.Sync(); err == nil {
			t.Error("Sync succeeded")
		}
		s.SetHook(nil)
		must(t, f.Sync())
		if got, _ := content(t, s.Crash(Mode{Data: Kept}, testRNG()), "/d/f"); got != c.crashed {
			t.Errorf("mode %d: a crash leaves %q, want %q", c.mode, got, c.crashed)
		}
	}
}

func TestSyncThatLies(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	f := synced(t, s, "/d/f", "old")
	write(t, f, 0, "new")
	s.SetHook(func(op Op) error { return &SyncFault{Mode: Lied, Err: errInjected} })
	must(t, f.Sync())
	s.SetHook(nil)
	for fate, want := range map[Fate]string{Lost: "old", Kept: "new"} {
		if got, _ := content(t, s.Crash(Mode{Data: fate}, testRNG()), "/d/f"); got != want {
			t.Errorf("%v: %q, want %q", fate, got, want)
		}
	}
}

func BenchmarkCrash(b *testing.B) {
	s := NewSim()
	if err := s.MkdirAll("/d"); err != nil {
		b.Fatal(err)
	}
	for i := range 4 {
		f, err := s.Create("/d/" + string(rune('a'+i)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, 64<<10), 0); err != nil {
			b.Fatal(err)
		}
	}
	rng := testRNG()
	for b.Loop() {
		s.Crash(Mode{Torn, Random}, rng)
	}
}
