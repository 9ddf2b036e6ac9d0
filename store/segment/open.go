package segment

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

const lockName = "LOCK"

// Open opens the store in o.Dir, making the folder if it is absent, and recovers what a crash left behind.
//
// Errors wrap [store.ErrLocked] when another process has the folder open, [store.ErrVersion] when it was written by an
// incompatible version, [store.ErrCorrupt] when what was acknowledged is damaged or missing (see Options.Quarantine).
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		o: o, queues: make(map[store.QueueID]*queue), logs: make(map[store.LogID]*log),
		notify: func(store.QueueID) {}, notifyLog: func(store.LogID, uint32) {},
	}
	s.kv.state = model.NewKV()
	s.upkeep.init()
	if s.o.fs == nil {
		s.o.fs = disk.OS{}
	}
	if s.o.FileSize == 0 {
		s.o.FileSize = 128 << 20
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open store in %s: %w", o.Dir, err)
	}
	return s, nil
}

func (s *Store) fs() disk.FS { return s.o.fs }

func (s *Store) open(ctx context.Context) (err error) {
	if err := s.fs().MkdirAll(s.o.Dir); err != nil {
		return err
	}
	s.lock, err = s.fs().Lock(path.Join(s.o.Dir, lockName))
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%w by another process: stop that one, or choose another folder", store.ErrLocked)
	}
	if err != nil {
		return err
	}
	s.inspect()
	if err := s.load(ctx); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

// inspect warns of a disk that may not keep what was synced.
func (s *Store) inspect() {
	if _, real := s.fs().(disk.OS); !real {
		return
	}
	for _, warning := range disk.Inspect(s.o.Dir, s.o.Now) {
		s.o.Events.warn(warning)
	}
}

// load reads the checkpoint and replays the journal from there.
func (s *Store) load(ctx context.Context) error {
	// A process that was killed may have renamed CURRENT without syncing it. What is read from here on must not change
	// back once other files have been removed on the strength of it.
	if err := s.fs().SyncDir(s.o.Dir); err != nil {
		return err
	}
	number, err := current(s.fs(), s.o.Dir)
	if err != nil {
		return err
	}
	l := loader{store: s}
	if number == 0 {
		if err := s.neverPublished(); err != nil {
			return err
		}
	} else {
		if err := loadCheckpoint(s.fs(), s.o.Dir, number, l.section); err != nil {
			return err
		}
		if l.start.File == 0 || l.queues != len(s.queues) || l.logs != len(s.logs) {
			return fmt.Errorf("checkpoint %d is not complete: %w", number, store.ErrCorrupt)
		}
	}
	l.latest = l.start.at
	s.journal, err = journal.Open(s.journalOptions(), l.start.Start, l.replay)
	if err != nil {
		return err
	}
	s.upkeep.published, s.upkeep.tried = number, number
	if err := s.findBallast(); err != nil {
		return errors.Join(err, s.journal.Close())
	}
	s.resumeTime(&l)
	if err := s.begin(ctx, number); err != nil {
		return errors.Join(err, s.journal.Close())
	}
	return nil
}

// neverPublished refuses a folder that had a checkpoint and has lost the file that names it.
func (s *Store) neverPublished() error {
	names, err := s.fs().List(s.o.Dir)
	if err == nil && published(names) {
		return fmt.Errorf("%s is missing: restore it from a copy: %w", path.Join(s.o.Dir, currentName), store.ErrCorrupt)
	}
	return err
}

// begin makes what was recovered ready to be served.
func (s *Store) begin(ctx context.Context, published uint64) error {
	if err := s.checkFiles(); err != nil {
		return err
	}
	if err := s.removeStale(published); err != nil {
		return err
	}
	if published == 0 || s.o.Quarantine { // what was set aside may be the file that replay started in
		if err := s.checkpoint(); err != nil {
			return err
		}
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	s.upkeep.start(s)
	return nil
}

// checkFiles makes sure that each file in which a message lies is there.
func (s *Store) checkFiles() error {
	have := make(map[uint32]bool)
	for _, f := range s.journal.Files() {
		have[f.Number] = true
	}
	for _, w := range s.wheres() {
		extents, _ := w.freeze()
		for _, e := range extents {
			if !have[e.file] {
				return fmt.Errorf("data file %d, which holds %d messages of %s, is missing: %w", e.file, e.live, w.owner, store.ErrCorrupt)
			}
		}
	}
	return nil
}

// wheres lists where the messages of queues and the records of logs are.
func (s *Store) wheres() []*where {
	var list []*where
	for _, q := range s.all() {
		list = append(list, &q.where)
	}
	for _, l := range s.allLogs() {
		l.mu.Lock()
		for _, p := range l.parts {
			list = append(list, &p.where)
		}
		l.mu.Unlock()
	}
	return list
}

// restart records, durably, that tokens go on far above those given out before.
func (s *Store) restart(ctx context.Context) error {
	if err := s.roomToRestart(ctx); err != nil {
		return err
	}
	ev := model.Restarted{Reading: s.reading(), Dated: true}
	lsn := s.append(seal(ev.Encode(room(readingLen)), typeRestarted, 0), true)
	for _, l := range s.allLogs() {
		l.state.Protect(s.protected)
	}
	for _, q := range s.all() {
		q.state.ApplyRestarted(ev)
		q.last = lsn
	}
	return s.await(lsn, nil)
}

// roomToRestart makes sure that there is room for the first record, on a disk without a free byte, too: the active file
// has some that is kept back while others append, and what was consumed before can be let go of.
func (s *Store) roomToRestart(ctx context.Context) error {
	const n = readingLen
	err := s.journal.Room(ctx, n, true)
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	if s.journal.Fits(n) {
		return nil
	}
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	for _, relieve := range []func() error{s.checkpointLocked, s.giveAll} {
		if e := relieve(); e != nil && !disk.NoSpace(e) {
			return e
		}
		s.journal.Prepare()
		if err = s.journal.Room(ctx, n, true); !errors.Is(err, store.ErrFull) || s.journal.Fits(n) {
			break
		}
	}
	if s.journal.Fits(n) {
		return nil
	}
	return err
}

// giveAll gives up what is kept back.
func (s *Store) giveAll() error {
	_, err := s.giveBallast()
	_, more := s.journal.GiveBack()
	return errors.Join(err, more)
}

// all lists the queues.
func (s *Store) all() []*queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*queue, 0, len(s.queues))
	for _, q := range s.queues {
		list = append(list, q)
	}
	return list
}

func (s *Store) journalOptions() journal.Options {
	ev := s.o.Events
	return journal.Options{
		FS: s.fs(), Dir: s.o.Dir, Rand: s.o.Rand, Now: s.o.Now, FileSize: s.o.FileSize,
		Sync: s.o.Sync.mode(), Interval: s.o.Interval, Quarantine: s.o.Quarantine,
		Placed: s.placed,
		Sealed: func(uint32, int64) { s.upkeep.wake() },
		Failed: ev.Failed,
		Events: journal.Events{
			Wrote: func(w journal.Wrote) {
				if ev.Wrote != nil {
					ev.Wrote(w.Records, w.Bytes, w.Write, w.Sync)
				}
			},
			Rolled:        ev.Rolled,
			PrepareFailed: func(err error) { ev.warn("the next journal file cannot be made: " + err.Error()) },
			Cut:           func(c journal.Cut) { ev.warn(cutWarning(c)) },
		},
	}
}

// cutWarning says what was cut off the end of a data file, and whether messages were lost with it.
func cutWarning(c journal.Cut) string {
	kept := "a copy is in " + c.Copy
	if c.Copy == "" {
		kept = fmt.Sprintf("no copy could be made: %v", c.Err)
	}
	if c.Acknowledged {
		return fmt.Sprintf("data file %d is damaged from byte %d on (%v): what had been acknowledged there is lost to the server; %s",
			c.File, c.Offset, c.Why, kept)
	}
	return fmt.Sprintf("data file %d ended in %d bytes that were never acknowledged (%v); cut off, %s", c.File, c.Bytes, c.Why, kept)
}

// placed is told by the committer where a record went.
func (s *Store) placed(_ journal.LSN, pos journal.Position, _ uint32, r record.Record) {
	if r.Type == typeAppended {
		s.placeRecords(pos, r)
	}
	if r.Type != typeSent && r.Type != typeMoved {
		return
	}
	b, err := decodeBatch(r)
	if err != nil {
		panic(fmt.Sprintf("segment: own record at %v: %v", pos, err))
	}
	s.mu.RLock()
	q := s.queues[store.QueueID(r.Object)]
	s.mu.RUnlock()
	if q != nil {
		q.where.place(pos, b.First, b.Len(), int64(b.Len()), b.Bytes())
	}
}
