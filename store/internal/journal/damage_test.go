package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// written returns a closed journal of three or so files, all acknowledged. Copies of its disk come from copyOf.
func written(t *testing.T, s uint64) *world {
	t.Helper()
	w := newWorld(disk.NewSim(), s)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		lsn, err := w.put(t, 200+w.rng.IntN(3000), true)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			if err := w.wait(lsn); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.sync(); err != nil {
		t.Fatal(err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// copyOf returns the world with a disk of its own.
func (w *world) copyOf() *world {
	c := w.after(w.sim.Crash(disk.Mode{Data: disk.Kept, Entries: disk.Kept}, w.rng), w.rng.Uint64())
	maps.Copy(c.places, w.places)
	return c
}

// change edits a file in place.
func (w *world) change(t *testing.T, file uint32, edit func(f disk.File)) {
	t.Helper()
	f, err := w.sim.Open(path.Join("/data", fileName(file)))
	if err != nil {
		t.Fatal(err)
	}
	edit(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// lastBatch returns where the last batch of the chain is: damage there cannot be told from a torn write.
func (w *world) lastBatch(t *testing.T) Position {
	t.Helper()
	var last Position
	names, err := w.sim.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		number, ok := fileNumber(name)
		if !ok {
			continue
		}
		f, err := openFile(w.sim, "/data", number)
		if err != nil {
			t.Fatal(err)
		}
		b := newBatchReader(f, firstBatch, 0)
		for {
			at := b.at
			h, err := b.next()
			if err != nil {
				break
			}
			if !h.Seal {
				last = Position{number, uint32(at)}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

// harmless opens a damaged journal: it must refuse, or come up with all that was acknowledged, leaving out what from is
// the place of if tail is set.
func (w *world) harmless(tail Position) (refused bool, err error) {
	order, got, err := w.open()
	if err != nil {
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrVersion) {
			return true, fmt.Errorf("open = %w, want ErrCorrupt or ErrVersion", err)
		}
		return true, nil
	}
	defer w.j.Close() //nolint:errcheck // nothing was written
	for lsn := range w.acked {
		if p := w.places[lsn]; p.File == tail.File && p.Offset > tail.Offset {
			delete(w.acked, lsn)
		}
	}
	return false, w.check(order, got)
}

// TestBitFlips flips bits all over the files: it is noticed, or does not matter.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	s := seed(t)
	w := written(t, s)
	tail := w.lastBatch(t)
	rng := rand.New(rand.NewPCG(s, 3))
	refused, harmless := 0, 0
	for i := range 1500 {
		c := w.copyOf()
		file := uint32(1 + rng.IntN(int(tail.File)))
		at := rng.Int64N(testFileSize)
		if i < 512 { // every bit of a file header
			file, at = 1, int64(i/8)
		} else if i < 1024 { // and of a batch header
			file, at = 1, firstBatch+int64(i-512)/8
		}
		bit := byte(1) << rng.IntN(8)
		if i < 1024 {
			bit = 1 << (i % 8)
		}
		c.change(t, file, func(f disk.File) {
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, at); err != nil {
				t.Fatal(err)
			}
			b[0] ^= bit
			if _, err := f.WriteAt(b, at); err != nil {
				t.Fatal(err)
			}
		})
		no, err := c.harmless(tail)
		if err != nil {
			t.Fatalf("seed %d: bit %08b of byte %d of file %d: %v", s, bit, at, file, err)
		}
		if i < 1024 && !no {
			t.Errorf("bit %08b of byte %d of file %d, in a header, went unnoticed", bit, at, file)
		}
		if no {
			refused++
		} else {
			harmless++
		}
	}
	t.Logf("%d refused, %d harmless", refused, harmless)
	if refused < 1024 || harmless == 0 {
		t.Error("the flips did not hit both what matters and what does not")
	}
}

// TestZeroedSectors zeroes sectors.
func TestZeroedSectors(t *testing.T) {
	t.Parallel()
	s := seed(t)
	w := written(t, s)
	tail := w.lastBatch(t)
	refused := 0
	for file := uint32(1); file <= tail.File; file++ {
		for at := int64(0); at < testFileSize; at += 512 {
			c := w.copyOf()
			c.change(t, file, func(f disk.File) {
				if _, err := f.WriteAt(make([]byte, 512), at); err != nil {
					t.Fatal(err)
				}
			})
			no, err := c.harmless(tail)
			if err != nil {
				t.Fatalf("seed %d: sector at %d of file %d: %v", s, at, file, err)
			}
			if no {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no zeroed sector was noticed")
	}
}

// TestTruncatedFiles cuts files short, at each of the lengths.
func TestTruncatedFiles(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	tail := w.lastBatch(t)
	for file := uint32(1); file <= tail.File; file++ {
		for size := int64(0); size < testFileSize; size += 97 {
			c := w.copyOf()
			c.change(t, file, func(f disk.File) {
				if err := f.Truncate(size); err != nil {
					t.Fatal(err)
				}
			})
			if refused, err := c.harmless(Position{}); !refused || err != nil {
				t.Fatalf("file %d cut to %d bytes: refused %v, %v", file, size, refused, err)
			}
		}
	}
}

// TestMissingFiles removes each file of the chain.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	last := w.lastBatch(t).File
	for file := uint32(1); file <= last; file++ {
		c := w.copyOf()
		if err := c.sim.Remove(path.Join("/data", fileName(file))); err != nil {
			t.Fatal(err)
		}
		if refused, err := c.harmless(Position{}); !refused || err != nil {
			t.Errorf("without file %d: refused %v, %v", file, refused, err)
		}
	}
}

// TestExchangedFiles puts each file in the place of another.
func TestExchangedFiles(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	last := w.lastBatch(t).File
	for file := uint32(1); file < last; file++ {
		c := w.copyOf()
		if err := c.sim.Rename(path.Join("/data", fileName(file)), path.Join("/data", fileName(file+1))); err != nil {
			t.Fatal(err)
		}
		if refused, err := c.harmless(Position{}); !refused || err != nil {
			t.Errorf("file %d in place of the next: refused %v, %v", file, refused, err)
		}
	}
}

// TestBlocksFromElsewhere overwrites each block with another one of the same file, and of another.
func TestBlocksFromElsewhere(t *testing.T) {
	t.Parallel()
	s := seed(t)
	w := written(t, s)
	tail := w.lastBatch(t)
	rng := rand.New(rand.NewPCG(s, 4))
	for range 300 {
		c := w.copyOf()
		var block [record.BlockSize]byte
		from, to := rng.Int64N(testFileSize/4096), rng.Int64N(testFileSize/4096)
		source, target := uint32(1+rng.IntN(int(tail.File))), uint32(1+rng.IntN(int(tail.File)))
		c.change(t, source, func(f disk.File) {
			if _, err := f.ReadAt(block[:], from*4096); err != nil {
				t.Fatal(err)
			}
		})
		c.change(t, target, func(f disk.File) {
			if _, err := f.WriteAt(block[:], to*4096); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := c.harmless(tail); err != nil {
			t.Fatalf("seed %d: block %d of file %d over block %d of file %d: %v", s, from, source, to, target, err)
		}
	}
}

// TestTornTailIsKept makes the last batch unreadable: it is cut off, and a copy of it kept.
func TestTornTailIsKept(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	tail := w.lastBatch(t)
	var was []byte
	w = w.copyOf()
	w.change(t, tail.File, func(f disk.File) {
		if _, err := f.WriteAt([]byte{1, 2, 3}, int64(tail.Offset)+100); err != nil {
			t.Fatal(err)
		}
		was = make([]byte, 4096)
		if _, err := f.ReadAt(was, int64(tail.Offset)); err != nil {
			t.Fatal(err)
		}
	})
	var cut []Cut
	w.o.Events.Cut = func(c Cut) { cut = append(cut, c) }
	if refused, err := w.harmless(tail); refused || err != nil {
		t.Fatalf("refused %v, %v", refused, err)
	}
	if len(cut) != 1 || cut[0].File != tail.File || cut[0].Offset != int64(tail.Offset) || cut[0].Acknowledged ||
		cut[0].Err != nil || !errors.Is(cut[0].Why, record.ErrInvalid) || !strings.HasPrefix(cut[0].Copy, tornPrefix) {
		t.Fatalf("Cut = %+v", cut)
	}
	f, err := w.sim.Open("/data/" + cut[0].Copy)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4096)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(was) {
		t.Errorf("the copy differs from what was there: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := w.open(); err != nil || len(cut) != 1 {
		t.Fatalf("opened again: %d cuts, %v", len(cut), err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
	w.change(t, tail.File, func(f disk.File) {
		if _, err := f.WriteAt([]byte("torn once more"), int64(tail.Offset)); err != nil {
			t.Fatal(err)
		}
	})
	order, replayed, err := w.open()
	if err != nil || len(cut) != 2 || cut[0].Copy == cut[1].Copy {
		t.Fatalf("torn at the same place again: %v, cuts %+v, want another copy", err, cut)
	}
	if err := w.check(order, replayed); err != nil {
		t.Error(err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// TestQuarantine damages a batch in the middle of the first file: told so, Open cuts there, sets what follows aside, and
// goes on with LSNs above everything.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	highest := LSN(len(w.given))
	places := w.places
	damage := map[string]func(w *world) Position{
		"batch": func(w *world) Position {
			w.change(t, 1, func(f disk.File) {
				if _, err := f.WriteAt([]byte{1, 2, 3}, 3*4096+20); err != nil {
					t.Fatal(err)
				}
			})
			return Position{1, 2 * 4096}
		},
		"missing file": func(w *world) Position {
			if err := w.sim.Remove("/data/" + fileName(2)); err != nil {
				t.Fatal(err)
			}
			return Position{1, testFileSize}
		},
		"first file": func(w *world) Position {
			w.change(t, 1, func(f disk.File) {
				if _, err := f.WriteAt(make([]byte, 512), 0); err != nil {
					t.Fatal(err)
				}
			})
			return Position{}
		},
		"header of the next file": func(w *world) Position {
			w.change(t, 2, func(f disk.File) {
				if _, err := f.WriteAt(make([]byte, 512), 0); err != nil {
					t.Fatal(err)
				}
			})
			return Position{1, testFileSize}
		},
		"seal": func(w *world) Position {
			w.change(t, 1, func(f disk.File) {
				if _, err := f.WriteAt(make([]byte, 2*4096), testFileSize-2*4096); err != nil {
					t.Fatal(err)
				}
			})
			return Position{1, testFileSize - 3*4096}
		},
	}
	for name, harm := range damage {
		c := w.copyOf()
		until := harm(c)
		had := len(dataFiles(t, c))
		if refused, err := c.harmless(Position{}); !refused || err != nil {
			t.Errorf("%s: refused %v, %v", name, refused, err)
		}
		c.o.Quarantine = true
		order, got, err := c.open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for lsn, content := range got {
			if content != c.given[lsn] {
				t.Errorf("%s: LSN %d has other content", name, lsn)
			}
		}
		for lsn, pos := range places {
			if _, ok := got[lsn]; !ok && pos.File == until.File && pos.Offset < until.Offset-8192 {
				t.Errorf("%s: LSN %d at %v lies before the damage and is lost", name, lsn, pos)
			}
		}
		if len(order) == len(w.given) {
			t.Errorf("%s: nothing is missing", name)
		}
		if c.j.Mark().File > c.start.File {
			c.setStart(c.j.Mark()) // the file that the start named was set aside
		}
		lsn, err := c.put(t, 10, true)
		if err != nil || lsn <= highest {
			t.Errorf("%s: Append = %d, %v, want more than %d", name, lsn, err, highest)
		}
		if err := c.wait(lsn); err != nil {
			t.Error(err)
		}
		if err := c.j.Close(); err != nil {
			t.Error(err)
		}
		names, err := c.sim.List("/data")
		if err != nil || !strings.Contains(strings.Join(names, " "), quarantinePrefix) {
			t.Errorf("%s: nothing was set aside: %v, %v", name, names, err)
		}
		if gone := had - len(dataFiles(t, c)); gone > strings.Count(strings.Join(names, " "), quarantinePrefix) {
			t.Errorf("%s: %d data files are gone, and only these are left: %v", name, gone, names)
		}
		c.o.Quarantine = false
		again, _, err := c.open()
		if err != nil || len(again) != len(order)+1 {
			t.Errorf("%s: opened again with %d records, %v, want %d", name, len(again), err, len(order)+1)
			continue
		}
		if err := c.j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// dataFiles lists the data files on the disk.
func dataFiles(t *testing.T, w *world) []uint32 {
	t.Helper()
	numbers, err := List(w.sim, "/data")
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// TestNames keeps hands off files of others and never gives a number twice.
func TestNames(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	w = w.copyOf()
	foreign := []string{"MANIFEST.tmp", "queue-00000099.journal", "1.journal", "checkpoint", "00000001.journal.bak"}
	ours := []string{"00000077.tmp", "torn-00000078-0000004096", "quarantine-00000080.journal", "torn-00000079-0000004096.tmp"}
	for _, name := range append(foreign, ours...) {
		f, err := w.sim.Create("/data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	out, err := w.j.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	info, err := out.Finish()
	if err != nil || info.Number <= 80 {
		t.Errorf("the next file has number %d, %v, want more than 80", info.Number, err)
	}
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := w.sim.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if !slices.Contains(names, name) {
			t.Errorf("%s, which is not ours, is gone", name)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, tmpSuffix) && !slices.Contains(foreign, name) {
			t.Errorf("%s, which was left half-made, is still there", name)
		}
	}
}

// TestOtherFormat meets a file of a later version, wherever it lies.
func TestOtherFormat(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	last := w.lastBatch(t).File
	for file := uint32(1); file <= last; file++ {
		c := w.copyOf()
		c.change(t, file, func(f disk.File) {
			b := make([]byte, 64)
			if _, err := f.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			b[8]++
			binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], crc32.MakeTable(crc32.Castagnoli)))
			if _, err := f.WriteAt(b, 0); err != nil {
				t.Fatal(err)
			}
		})
		if _, _, err := c.open(); !errors.Is(err, store.ErrVersion) {
			t.Errorf("file %d of another version: %v, want ErrVersion", file, err)
		}
	}
}

// TestLostManifest finds records although it was told to begin anew.
func TestLostManifest(t *testing.T) {
	t.Parallel()
	w := written(t, 1)
	w = w.copyOf()
	w.start = Start{}
	if _, _, err := w.open(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open = %v, want ErrCorrupt", err)
	}
}

// TestLSNsOnlyRise meets a batch of this very file, valid in itself, whose LSN goes back: what a cut left behind.
func TestLSNsOnlyRise(t *testing.T) {
	t.Parallel()
	w := newWorld(disk.NewSim(), 1)
	if _, _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		lsn, err := w.put(t, 10, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.wait(lsn); err != nil {
			t.Fatal(err)
		}
	}
	f, done, err := w.j.borrow(1)
	if err != nil {
		t.Fatal(err)
	}
	salt := f.header.Salt
	done()
	if err := w.j.Close(); err != nil {
		t.Fatal(err)
	}
	const at = 4 * record.BlockSize
	rec := sealed([]byte("stale"))
	record.Stamp(rec, 2, true, salt, at+record.BatchHeaderSize)
	batch := append(make([]byte, record.BatchHeaderSize), rec...)
	record.PutBatchHeader(batch, record.BatchHeader{Length: uint32(len(rec)), Count: 1, First: 2, Synced: 1}, salt, 1, at)
	w.change(t, 1, func(f disk.File) {
		if _, err := f.WriteAt(batch, at); err != nil {
			t.Fatal(err)
		}
	})
	order, got, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(order, got); err != nil {
		t.Error(err)
	}
	if err := w.j.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzScan reads a data file of arbitrary content.
func FuzzScan(f *testing.F) {
	h := record.FileHeader{Kind: record.Journal, Number: 1, Salt: 7}
	rec := sealed([]byte("payload"))
	record.Stamp(rec, 1, true, 7, 4096+record.BatchHeaderSize)
	batch := append(make([]byte, record.BatchHeaderSize), rec...)
	record.PutBatchHeader(batch, record.BatchHeader{Length: uint32(len(rec)), Count: 1, First: 1}, 7, 1, 4096)
	seal := make([]byte, record.BatchHeaderSize)
	record.PutBatchHeader(seal, record.BatchHeader{First: 2, Seal: true, Next: 2}, 7, 1, 8192)
	f.Add(batch, seal)
	f.Add(seal, batch)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		sim := disk.NewSim()
		file, err := sim.Create("/" + fileName(1))
		if err != nil {
			t.Fatal(err)
		}
		for off, b := range map[int64][]byte{0: h.Block(), 4096: first[:min(len(first), 4096)], 8192: second} {
			if _, err := file.WriteAt(b, off); err != nil {
				t.Fatal(err)
			}
		}
		bytes := int64(0)
		s, err := Scan(sim, "/", 1, func(_ LSN, _ Position, size uint32, _ record.Record) error {
			bytes += int64(size)
			return nil
		})
		if bytes > s.Size || (err != nil && !errors.Is(err, store.ErrCorrupt)) {
			t.Errorf("Scan = %+v, %v with %d bytes of records", s, err, bytes)
		}
	})
}
