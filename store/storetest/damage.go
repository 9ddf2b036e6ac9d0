package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"sync/atomic"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// Damage changes what a closed or crashed store left on the disk: a bit, a sector, a block, the length of a file, a
// whole file. Opening has to refuse then, or reading has to tell, or nothing is missing. A message that was never sent
// is not handed out, and none is missing without a report.
//
// A normal run tries about 1,000 damages, a long run 100,000.
func Damage(t *testing.T, d Disk) {
	t.Helper()
	s := seed(t)
	var refused, reported, harmless atomic.Int64
	perWorkload := runs(80, 8_000)
	t.Run("workloads", func(t *testing.T) {
		for i, load := range workloads {
			t.Run(load.name, func(t *testing.T) {
				t.Parallel()
				rng := random(s, uint64(i))
				for done := 0; done < perWorkload && !t.Failed(); {
					p := damagePlan{load: load, seed: rng.Uint64(), crashed: rng.IntN(2) == 0, tries: 20}
					done += p.tries
					p.run(t, d, map[verdict]*atomic.Int64{isRefused: &refused, isReported: &reported, isHarmless: &harmless})
				}
			})
		}
	})
	t.Logf("damage: %d refused, %d reported, %d harmless", refused.Load(), reported.Load(), harmless.Load())
	if refused.Load() == 0 || reported.Load() == 0 || harmless.Load() == 0 {
		t.Errorf("exercised: of the damages %d were refused, %d reported and %d harmless, want some of each",
			refused.Load(), reported.Load(), harmless.Load())
	}
}

// damagePlan is one run of a workload whose disk is damaged in several ways, one at a time.
type damagePlan struct {
	load    workload
	seed    uint64
	crashed bool // and not closed in peace
	tries   int
}

// verdict is how a damage ended well.
type verdict uint8

const (
	isRefused verdict = iota
	isReported
	isHarmless
)

func (p damagePlan) run(t *testing.T, d Disk, count map[verdict]*atomic.Int64) {
	t.Helper()
	w := newWorld(t.Context(), p.load, p.seed, &Exercised{})
	w.history = 10
	if err := w.run(d); err != nil {
		t.Errorf("workload %q, seed %d: %v\n%s", p.load.name, p.seed, err, w.story())
		return
	}
	if !p.crashed {
		if err := w.close(); err != nil {
			t.Errorf("workload %q, seed %d: Close() = %v, want nil", p.load.name, p.seed, err)
			return
		}
	}
	rng := random(p.seed, 1)
	whole := w.sim.Crash(disk.Mode{Data: disk.Lost, Entries: disk.Lost}, rng)
	if err := d.sound("before the damage", whole); err != nil {
		t.Errorf("workload %q, seed %d, crashed %v: %v", p.load.name, p.seed, p.crashed, err)
		return
	}
	if p.crashed {
		go func() { _ = w.close() }()
	}
	for try := range p.tries {
		sim := whole.Crash(disk.Mode{Data: disk.Kept, Entries: disk.Kept}, rng)
		what, wiped, err := damage(sim, rng)
		if err != nil {
			t.Fatalf("damage %s: %v", what, err)
		}
		noticed, err := d.Check(sim)
		if err != nil {
			t.Errorf("workload %q, seed %d, crashed %v, damage %d: %s: check: %v", p.load.name, p.seed, p.crashed, try, what, err)
			return
		}
		v, err := w.judge(d, sim, rng, p.crashed && wiped)
		if err == nil && v != isHarmless && len(noticed.Problems) == 0 && !noticed.Torn {
			err = errors.New("the check found nothing, and opening or reading did")
		}
		if err != nil {
			t.Errorf("workload %q, seed %d, crashed %v, damage %d: %s: %v\n%s", p.load.name, p.seed, p.crashed, try, what, err, w.story())
			return
		}
		count[v].Add(1)
	}
}

// judge opens and empties a damaged store. The error is that of a store that did not notice. If whole sectors were wiped
// after a crash, it may have been the very end of what was written: nothing tells that from a write that never happened.
func (w *world) judge(d Disk, sim *disk.Sim, rng *rand.Rand, wipedAfterCrash bool) (verdict, error) {
	seen := &Exercised{}
	clock := w.clock.split()
	sim.SetCapacity(0) // looking takes room
	s, err := d.Open(sim, clock, randomBytes(rng), seen)
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrVersion) {
		return isRefused, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open was refused, but not for damage: %w", err)
	}
	defer func() { _ = s.Close() }() // it may have reason to complain
	found, observed := observe(w.ctx, s, clock, w)
	if err := found.forged(); err != nil {
		return 0, err
	}
	missing := w.match(found)
	switch {
	case observed == nil && missing == nil:
		return isHarmless, nil
	case observed != nil || seen.Reports.Load() > 0:
		return isReported, nil
	case wipedAfterCrash && w.matchesEarlier(found):
		return isHarmless, nil
	}
	return 0, fmt.Errorf("nobody was told: %w", missing)
}

// forged finds messages that nobody sent: all bytes of a message follow from its number.
func (f *found) forged() error {
	for id, q := range f.queues {
		for _, list := range [][]store.Delivery{q.ready, q.later, q.dead} {
			for _, d := range list {
				if len(d.Payload) < 8 || !intact(d, message{number: binary.BigEndian.Uint64(d.Payload), size: uint32(len(d.Payload))}) {
					return fmt.Errorf("queue %x handed out %x, which nobody sent", uint64(id), d.Payload)
				}
			}
		}
	}
	return f.forgedRecords()
}

const (
	sector = 512
	block  = 4096
)

// damage does one harm to one file, and says which and whether it wiped whole sectors.
func damage(sim *disk.Sim, rng *rand.Rand) (what string, wiped bool, err error) {
	names, err := sim.List(Folder)
	if err != nil || len(names) == 0 {
		return "nothing", false, err
	}
	name := path.Join(Folder, names[rng.IntN(len(names))])
	other := path.Join(Folder, names[rng.IntN(len(names))])
	f, err := sim.Open(name)
	if err != nil {
		return name, false, err
	}
	defer func() { _ = f.Close() }()
	length, err := f.Size()
	if err != nil || length == 0 {
		return "nothing in an empty file " + name, false, err
	}
	at := rng.Int64N(length)
	switch rng.IntN(10) {
	case 0, 1, 2: // near the start of a block, where headers are
		what, err = flip(f, name, min(at-at%block+rng.Int64N(128), length-1), rng.IntN(8))
	case 3, 4, 5:
		what, err = flip(f, name, at, rng.IntN(8))
	case 6:
		at -= at % sector
		what, wiped = fmt.Sprintf("zeros in the sector at %d of %s", at, name), true
		_, err = f.WriteAt(make([]byte, min(sector, length-at)), at)
	case 7:
		what, err = fmt.Sprintf("%s cut to %d of %d bytes", name, at, length), f.Truncate(at)
	case 8:
		what, err = name+" removed", sim.Remove(name)
	case 9:
		what, err = stale(sim, f, name, other, at-at%block, length, rng)
		wiped = true
	}
	return what, wiped, err
}

func flip(f disk.File, name string, at int64, bit int) (string, error) {
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
		return name, err
	}
	b[0] ^= 1 << bit
	_, err := f.WriteAt(b, at)
	return fmt.Sprintf("bit %d of byte %d of %s flipped", bit, at, name), err
}

// stale puts a block that was right in another place, as a write that went astray or a recycled file would.
func stale(sim *disk.Sim, f disk.File, name, other string, at, length int64, rng *rand.Rand) (string, error) {
	from, err := sim.Open(other)
	if err != nil {
		return other, err
	}
	defer func() { _ = from.Close() }()
	size, err := from.Size()
	if err != nil || size == 0 {
		return "nothing from an empty file " + other, err
	}
	source := rng.Int64N((size+block-1)/block) * block
	b := make([]byte, min(block, size-source, length-at))
	if _, err := from.ReadAt(b, source); err != nil && !errors.Is(err, io.EOF) {
		return other, err
	}
	_, err = f.WriteAt(b, at)
	return fmt.Sprintf("the block at %d of %s written over that at %d of %s", source, other, at, name), err
}
