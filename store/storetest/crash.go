package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// Folder is where on the simulated disk the store is kept.
const Folder = "data"

// Disk is how the crash tests make the stores of a backend that keeps its data on a [disk.FS].
type Disk struct {
	// Open opens what is in [Folder] on the disk, making the store if there is nothing. Sizes should be the smallest the backend
	// knows, so that files roll over, merge and are checkpointed within a few dozen calls. What the backend does beside
	// answering is counted in seen.
	Open func(fs disk.FS, c *Clock, rand io.Reader, seen *Exercised) (store.Store, error)
	// Check looks through what is in [Folder] without changing it, as the tool for people does.
	Check func(fs disk.FS) (Checked, error)
	// Reserve is the number of bytes that the backend keeps free for itself when it refuses sends.
	Reserve int64
}

// Checked is what a look through a folder found.
type Checked struct {
	// Problems are sentences about damage. There are none in a folder that a crash left on an honest disk.
	Problems []string
	// Torn says that there is an unfinished write at the end.
	Torn bool
}

// sound looks through a folder in which nothing may be damaged.
func (d Disk) sound(when string, fs disk.FS) error {
	found, err := d.Check(fs)
	if err != nil {
		return fmt.Errorf("check %s: %w", when, err)
	}
	if len(found.Problems) > 0 {
		return fmt.Errorf("check %s found damage in a sound folder:\n  %s", when, strings.Join(found.Problems, "\n  "))
	}
	return nil
}

// Exercised counts what happened behind the calls. A run in which one of these never happened has proved little.
type Exercised struct {
	// Rollovers, Checkpoints, Merges and Recycled count upkeep.
	Rollovers, Checkpoints, Merges, Recycled atomic.Int64
	// TornTails counts ends of files that were cut off on opening.
	TornTails atomic.Int64
	// Full counts calls that were refused for lack of room.
	Full atomic.Int64
	// Reports counts what the backend told people about damage, torn tails included: data that is missing after a report
	// is not missing silently.
	Reports atomic.Int64
}

// require fails the test when something was never exercised.
func (e *Exercised) require(t *testing.T) {
	t.Helper()
	for what, n := range map[string]int64{
		"rollovers": e.Rollovers.Load(), "checkpoints": e.Checkpoints.Load(), "merges": e.Merges.Load(),
		"recycled files": e.Recycled.Load(), "torn tails": e.TornTails.Load(),
		"refusals for lack of room": e.Full.Load(),
	} {
		if n == 0 {
			t.Errorf("exercised: got no %s in the whole run, want some", what)
		} else {
			t.Logf("exercised: %d %s", n, what)
		}
	}
}

// Crash runs the workloads, cuts the power before and after a call to the disk, lets what was not synced be lost, kept,
// mixed or torn, and opens what is left, at times with another crash while it does. Then everything that was
// acknowledged has to be there, everything deleted gone, and nothing that was never sent: see [ledger].
//
// A normal run recovers about 4,000 times, at calls drawn by seed; a long run 200,000 times.
func Crash(t *testing.T, d Disk) {
	t.Helper()
	s := seed(t)
	seen := &Exercised{}
	var recoveries atomic.Int64
	perWorkload := runs(120, 15_000) / len(disk.Modes) * len(disk.Modes)
	t.Run("workloads", func(t *testing.T) {
		for i, load := range workloads {
			t.Run(load.name, func(t *testing.T) {
				t.Parallel()
				calls := countCalls(t, d, load, s, seen)
				rng := random(s, uint64(i))
				for done := 0; done < perWorkload && !t.Failed(); {
					plan := crashPlan{
						load: load, seed: rng.Uint64(), at: 1 + rng.IntN(calls), after: rng.IntN(2) == 0,
						modes: drawModes(rng), nested: rng.IntN(100) < size(5, 20), turnBack: rng.IntN(10) == 0,
						kill: rng.IntN(4) == 0,
					}
					done += plan.run(t, d, seen)
					recoveries.Add(int64(len(plan.modes)))
				}
			})
		}
	})
	t.Logf("recovered %d times", recoveries.Load())
	seen.require(t)
}

// drawModes takes a few of the ways to crash: the costly part is to get there.
func drawModes(rng *rand.Rand) []disk.Mode {
	modes := append([]disk.Mode{}, disk.Modes...)
	rng.Shuffle(len(modes), func(i, j int) { modes[i], modes[j] = modes[j], modes[i] })
	return modes[:3]
}

// crashPlan is one run of a workload with the power cut at one call, and everything that is drawn about it.
type crashPlan struct {
	load     workload
	seed     uint64
	at       int  // the call to the disk, among those that change something
	after    bool // the call took effect
	modes    []disk.Mode
	nested   bool // crash again while opening
	turnBack bool // the wall clock is an hour behind afterwards
	kill     bool // the process is killed, another opens the store and answers, and only then the power goes off
}

func (p crashPlan) String() string {
	moment := "before"
	if p.after {
		moment = "after"
	}
	what := "power cut"
	if p.kill {
		what = "killed"
	}
	return fmt.Sprintf("workload %q, seed %d, %s %s call %d to the disk", p.load.name, p.seed, what, moment, p.at)
}

// countCalls runs a workload to its end and counts the calls that change something.
func countCalls(t *testing.T, d Disk, load workload, seed uint64, seen *Exercised) int {
	t.Helper()
	w := newWorld(t.Context(), load, seed, seen)
	var calls atomic.Int64
	w.sim.Hook = func(op disk.Op) error {
		if !op.After && op.Kind.Changes() {
			calls.Add(1)
		}
		return nil
	}
	if err := w.run(d); err != nil {
		t.Fatalf("workload %q, seed %d, without a crash: %v\n%s", load.name, seed, err, w.story())
	}
	if err := w.close(); err != nil {
		t.Fatalf("workload %q, seed %d: Close() = %v, want nil", load.name, seed, err)
	}
	for _, c := range w.clients {
		if c.doubt != nil {
			t.Fatalf("workload %q, seed %d, without a crash: a call was not answered:\n%s", load.name, seed, w.story())
		}
	}
	return int(calls.Load())
}

// run carries out the plan and returns how many recoveries it took.
func (p crashPlan) run(t *testing.T, d Disk, seen *Exercised) int {
	t.Helper()
	w := newWorld(t.Context(), p.load, p.seed, seen)
	var calls atomic.Int64
	cut := w.cut
	if p.kill {
		cut = w.kill
	}
	w.sim.Hook = func(op disk.Op) error {
		if !op.Kind.Changes() {
			return nil
		}
		n := calls.Load()
		if !op.After {
			n = calls.Add(1)
		}
		if n == int64(p.at) && op.After == p.after && op.Kind != disk.OpLock { // whose outcome a dead process does not know
			cut()
			return errKilled
		}
		return nil
	}
	if err := w.run(d); err != nil {
		t.Errorf("%v: %v\n%s", p, err, w.story())
		return len(p.modes)
	}
	cut()                         // when the workload ended before
	go func() { _ = w.close() }() // a dead process answers no more, and a dead disk may hold it up
	if p.turnBack {
		w.turned = time.Hour
		w.clock.Jump(-w.turned)
	}
	var shown *glimpse
	if p.kill {
		var err error
		if shown, err = w.glance(d); err != nil {
			t.Errorf("%v: %v\n%s", p, err, w.story())
			return len(p.modes)
		}
	}
	for _, mode := range p.modes {
		rng := random(p.seed, uint64(mode.Data)<<8|uint64(mode.Entries))
		if err := w.recover(d, w.sim.Crash(mode, rng), rng, p.nested, shown); err != nil {
			t.Errorf("%v, %v: %v\n%s", p, mode, err, w.story())
		}
	}
	return len(p.modes)
}

// recover opens what a crash left and compares it with what the clients know.
func (w *world) recover(d Disk, sim *disk.Sim, rng *rand.Rand, nested bool, shown *glimpse) error {
	for depth := 0; nested && depth < 3; depth++ {
		sim = w.openAndCrash(d, sim, rng)
	}
	clock := w.clock.split()
	if err := d.sound("after the crash", sim); err != nil {
		return err
	}
	s, err := d.Open(sim, clock, randomBytes(rng), w.seen)
	if err != nil {
		return fmt.Errorf("open after the crash: %w\n%v", err, sim)
	}
	err = w.makeRoom(s, sim)
	clock.Jump(w.turned) // it is corrected, and so is what the store shows
	var found *found
	if err == nil {
		found, err = observe(w.ctx, s, clock, w)
	}
	if err == nil {
		err = errors.Join(w.match(found), shown.compare(found))
	}
	if e := s.Close(); err == nil && e != nil {
		err = fmt.Errorf("close after the crash: %w", e)
	}
	if err == nil {
		err = d.sound("after closing what was recovered", sim)
	}
	return err
}

// makeRoom takes the limit away that a full disk has. Whether a store can be opened on one is tried by then, and what is in
// it can be looked at only by sending.
func (w *world) makeRoom(s store.Store, sim *disk.Sim) error {
	if w.clients[0].load.room == 0 {
		return nil
	}
	sim.SetCapacity(0)
	const waiting = store.QueueID(1<<63 + 3)
	if err := s.Configure(w.ctx, waiting, store.Settings{Revision: 1}); err != nil {
		return fmt.Errorf("configure a queue after the crash: %w", err)
	}
	err := eventually(func() error {
		_, err := s.Send(w.ctx, store.SendParams{Queue: waiting, Revision: 1, Entries: []store.Entry{{}}})
		return err
	})
	return errors.Join(err, s.Drop(w.ctx, waiting))
}

// openAndCrash cuts the power while the store is opened, or soon after, and returns what that leaves.
func (w *world) openAndCrash(d Disk, sim *disk.Sim, rng *rand.Rand) *disk.Sim {
	at := int64(1 + rng.IntN(12))
	var calls atomic.Int64
	down, opened := make(chan struct{}), make(chan struct{})
	sim.Hook = func(op disk.Op) error {
		if op.Kind.Changes() && !op.After && calls.Add(1) == at {
			sim.Freeze()
			close(down)
		}
		return nil
	}
	salts := randomBytes(rng)
	go func() {
		defer close(opened)
		if s, err := d.Open(sim, w.clock, salts, w.seen); err == nil {
			_ = s.Close()
		}
	}()
	abandon(opened, down)
	return sim.Crash(disk.Modes[rng.IntN(len(disk.Modes))], rng)
}

// abandon waits until something is done, or until it has had time to notice that the disk is down: what waits for a
// disk to get better never does.
func abandon(done, down <-chan struct{}) {
	select {
	case <-done:
	case <-down:
		select {
		case <-done:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// world is one run of a workload: a store, its disk and its clients.
type world struct {
	ctx     context.Context //nolint:containedctx // a world lives as long as one run of a workload
	sim     *disk.Sim
	process *process
	clock   *Clock
	turned  time.Duration // how far the wall clock was put back after the crash
	rng     *rand.Rand
	seen    *Exercised
	store   store.Store
	clients []*client
	patient bool          // one call to the disk fails, and it gets better
	shut    atomic.Bool   // the store could not be closed or opened again
	history int           // how many calls back clients remember what they knew
	isDown  chan struct{} // closed when the disk is down
	goDown  sync.Once

	mu         sync.Mutex
	complaints []string
}

func newWorld(ctx context.Context, load workload, seed uint64, seen *Exercised) *world {
	w := &world{ctx: ctx, sim: disk.NewSim(), clock: NewClock(), rng: random(seed, 0), seen: seen, isDown: make(chan struct{})}
	w.process = newProcess(w.sim)
	for i := range max(load.clients, 1) {
		w.clients = append(w.clients, &client{
			id: i, ctx: ctx, clock: w.clock, rng: random(seed, uint64(i+1)), world: w, load: load, known: newLedger(),
		})
	}
	return w
}

// cut stops the disk at this very call.
func (w *world) cut() {
	w.sim.Freeze()
	w.goDown.Do(func() { close(w.isDown) })
}

// kill ends the process at this very call. The disk goes on.
func (w *world) kill() {
	w.process.kill()
	w.goDown.Do(func() { close(w.isDown) })
}

// down says that errors are no surprise any more.
func (w *world) down() bool {
	select {
	case <-w.isDown:
		return true
	default:
		return false
	}
}

func (w *world) complain(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, s)
}

// open opens the store for all clients.
func (w *world) open(d Disk) error {
	s, err := d.Open(w.process, w.clock, randomBytes(w.rng), w.seen)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.store = s
	w.mu.Unlock()
	for _, c := range w.clients {
		c.store = s
		c.open = func() error { return w.open(d) }
	}
	return nil
}

// run opens the store and lets the clients work until they are done or the disk is down. It returns what they
// complained about.
func (w *world) run(d Disk) error {
	if room := w.clients[0].load.room; room > 0 {
		w.sim.SetCapacity(d.Reserve + room)
	}
	if err := w.open(d); err != nil {
		if w.down() {
			return nil
		}
		return fmt.Errorf("open a new store: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(len(w.clients), func(i int) { w.clients[i].run() })
	}()
	abandon(done, w.isDown)
	for _, c := range w.clients {
		c.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.complaints) > 0 {
		return fmt.Errorf("while it ran:\n%s", strings.Join(w.complaints, "\n"))
	}
	return nil
}

// close ends the store, if it was opened.
func (w *world) close() error {
	w.mu.Lock()
	s := w.store
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}

// story tells the last calls of each client.
func (w *world) story() string {
	var b strings.Builder
	for _, c := range w.clients {
		fmt.Fprintf(&b, "the last calls of client %d:\n", c.id)
		for _, s := range c.steps[max(0, len(c.steps)-25):] {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	return b.String()
}

// randomBytes is a source of bytes for salts, apart from the draws of the test.
func randomBytes(rng *rand.Rand) io.Reader {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rng.Uint32())
	}
	return rand.NewChaCha8(seed)
}
