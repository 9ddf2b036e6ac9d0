package segment

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// CheckOptions configure a Check. Dir is required.
type CheckOptions struct {
	Dir string
	// Record, if set, is called for each record of each data file.
	Record func(RecordInfo)

	fs disk.FS
}

// RecordInfo describes one record for people.
type RecordInfo struct {
	File   uint32 `json:"file"`
	Offset uint32 `json:"offset"`
	LSN    uint64 `json:"lsn"`
	Size   uint32 `json:"size"`
	Type   string `json:"type"`
	// Queue is the generation of the queue or log in hexadecimal, empty if the record is of none or of all.
	Queue string `json:"queue,omitempty"`
	// What says what the record did.
	What string `json:"what"`
}

// Report is what a Check found.
type Report struct {
	// Checkpoint is the number of the published one, 0 if there is none yet.
	Checkpoint uint64
	Files      []FileReport
	// Queues are in the order of their ids.
	Queues []QueueReport
	// Logs are in the order of their ids.
	Logs []LogReport
	// Pairs are those of the key-value part, in the order of their keys.
	Pairs []store.Pair
	// Problems are sentences about what is damaged; none means that the folder is sound.
	Problems []string
}

// FileReport describes a data file.
type FileReport struct {
	File    uint32 `json:"file"`
	Size    int64  `json:"size"`
	Records int64  `json:"records"`
	Sealed  bool   `json:"sealed"`
	Merged  bool   `json:"merged"`
	// Torn is the number of bytes of an unfinished write at the end: the next start cuts them off.
	Torn int64 `json:"torn"`
	// Live counts the messages in it that are still in a queue, and the records that are still in a log.
	Live int64 `json:"live"`
}

// QueueReport describes a queue as of the last record in the folder. Its age and what is due count from At.
type QueueReport struct {
	ID store.QueueID
	// At is what the wall clock showed at the last record.
	At time.Time
	store.Stats
}

// Check reads a data folder that no process has open, checks every byte that means something, rebuilds the state as a
// start would, and makes sure that each message in a queue is where it should be. It changes nothing in the folder. The
// error is for what kept it from looking, one that wraps [store.ErrLocked] for instance; damage is in the report.
func Check(o CheckOptions) (r Report, err error) {
	if o.fs == nil {
		o.fs = disk.OS{}
	}
	if _, err := o.fs.List(o.Dir); err != nil {
		return Report{}, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	lock, err := o.fs.Lock(path.Join(o.Dir, lockName))
	if errors.Is(err, disk.ErrLocked) {
		return Report{}, fmt.Errorf("check %s: %w by another process: stop that one first", o.Dir, store.ErrLocked)
	}
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	r.Problems = []string{}
	c := checking{o: o, report: &r, found: make(map[extentKey]int64), records: make(map[recordsKey]int64)}
	c.load()
	if err := c.scanAll(); err != nil {
		return Report{}, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	c.missing()
	c.compare()
	return r, nil
}

// missing complains about a folder without a published checkpoint, unless it is one whose first start did not end.
func (c *checking) missing() {
	if !c.unpublished {
		return
	}
	names, err := c.o.fs.List(c.o.Dir)
	switch {
	case err != nil:
		c.problem(err)
	case len(c.report.Files) == 0:
		c.problem(fmt.Errorf("%s holds no data files: it is not the data folder of a server", c.o.Dir))
	case published(names), slices.ContainsFunc(c.report.Files, func(f FileReport) bool { return f.Records > 0 }):
		c.problem(fmt.Errorf("%s: %s is missing: restore it from a copy", c.o.Dir, currentName))
	}
}

// checking is one check under way.
type checking struct {
	o      CheckOptions
	report *Report
	loader loader
	replay bool // the state could be loaded: records are applied to it
	next   uint32
	// unpublished says that there is no checkpoint: of a store whose first start did not end, or whose CURRENT is gone.
	unpublished bool
	found       map[extentKey]int64
	// records are those of logs that were found.
	records map[recordsKey]int64
}

// extentKey names the part of a queue that lies in one file.
type extentKey struct {
	queue store.QueueID
	file  uint32
}

func (c *checking) problem(err error) {
	c.report.Problems = append(c.report.Problems, err.Error())
}

// load reads the published checkpoint.
func (c *checking) load() {
	s := &Store{o: Options{Dir: c.o.Dir, fs: c.o.fs}, queues: make(map[store.QueueID]*queue), logs: make(map[store.LogID]*log)}
	s.kv.state = model.NewKV()
	c.loader.store = s
	number, err := current(c.o.fs, c.o.Dir)
	if err != nil {
		c.problem(err)
		return
	}
	c.report.Checkpoint = number
	if c.unpublished = number == 0; c.unpublished {
		return
	}
	if err := loadCheckpoint(c.o.fs, c.o.Dir, number, c.loader.section); err != nil {
		c.problem(err)
		return
	}
	c.loader.latest = c.loader.start.at
	c.replay, c.next = true, c.loader.start.File
}

// scanAll reads every data file, in the order of the chain as far as there is one, so that records are replayed in
// order.
func (c *checking) scanAll() error {
	files, err := journal.List(c.o.fs, c.o.Dir)
	if err != nil {
		return err
	}
	last := uint32(0) // of the chain
	for c.replay && c.next != 0 {
		i := slices.Index(files, c.next)
		if i < 0 {
			c.problem(fmt.Errorf("data file %d, where the journal goes on, is missing", c.next))
			break
		}
		files = slices.Delete(files, i, i+1)
		last = c.next
		c.next = 0
		c.scan(last, c.apply)
	}
	for _, file := range files {
		c.scan(file, func(journal.LSN, journal.Position, record.Record) error { return nil })
		f := c.report.Files[len(c.report.Files)-1]
		if last != 0 && file > last && !f.Merged && f.Records > 0 {
			c.problem(fmt.Errorf("data file %d has no seal, but data file %d holds records that follow", last, file))
		}
	}
	slices.SortFunc(c.report.Files, func(a, b FileReport) int { return cmp.Compare(a.File, b.File) })
	return nil
}

// apply replays a record of the chain.
func (c *checking) apply(lsn journal.LSN, pos journal.Position, r record.Record) error {
	start := c.loader.start
	if pos.File == start.File && pos.Offset < start.Offset {
		return nil
	}
	return c.loader.replay(lsn, pos, r)
}

// scan reads one data file.
func (c *checking) scan(file uint32, apply func(journal.LSN, journal.Position, record.Record) error) {
	scanned, err := journal.Scan(c.o.fs, c.o.Dir, file, func(lsn journal.LSN, pos journal.Position, size uint32, r record.Record) error {
		if err := apply(lsn, pos, r); err != nil {
			c.replay = false
			c.problem(err)
		}
		if c.o.Record != nil {
			c.o.Record(describe(lsn, pos, size, r))
		}
		return nil
	})
	if err != nil {
		c.problem(err)
	}
	c.next = scanned.Next
	c.report.Files = append(c.report.Files, FileReport{
		File: file, Size: scanned.Size, Records: scanned.Records, Sealed: scanned.Sealed, Merged: scanned.Merged, Torn: scanned.Torn,
	})
}

// compare makes sure that each live message is in the file that its queue names. The files are read once more: only now
// it is known which messages are live.
func (c *checking) compare() {
	s := c.loader.store
	for i := range c.report.Files {
		f := &c.report.Files[i]
		_, err := journal.Scan(c.o.fs, c.o.Dir, f.File, func(_ journal.LSN, pos journal.Position, _ uint32, r record.Record) error {
			count := c.countLive
			if r.Type == typeAppended {
				count = c.countRecords
			}
			n, err := count(pos, r)
			f.Live += n
			return err
		})
		if err != nil {
			c.problem(err)
		}
	}
	queues := s.all()
	slices.SortFunc(queues, func(a, b *queue) int {
		return cmp.Compare(a.id, b.id)
	})
	for _, q := range queues {
		total := int64(0)
		for file, n := range q.where.liveByFile() {
			total += n
			if have := c.found[extentKey{q.id, file}]; have != n {
				c.problem(fmt.Errorf("queue %x has %d messages in data file %d, of which %d are there", q.id, n, file, have))
			}
		}
		stats := q.state.Stats(c.loader.latest)
		if want := stats.Ready + stats.Leased + stats.Delayed + stats.Dead; total != want {
			c.problem(fmt.Errorf("queue %x has %d messages, of which the places of %d are known", q.id, want, total))
		}
		c.report.Queues = append(c.report.Queues, QueueReport{q.id, c.loader.wall(), stats})
	}
	c.compareLogs()
	c.report.Pairs = s.kv.state.List("", "", 1<<30)
}

// countLive counts the messages of a record that are in a queue which looks for them in this file.
func (c *checking) countLive(pos journal.Position, r record.Record) (n int64, err error) {
	first, count, err := holds(r)
	q := c.loader.store.queues[store.QueueID(r.Object)]
	if err != nil || q == nil {
		return 0, err
	}
	for seq := first; seq < first+store.Seq(count); seq++ {
		if !q.state.Live(seq) {
			continue
		}
		if at, _, ok := q.where.find(seq); !ok || !leadsTo(at, pos) {
			continue
		}
		if _, err := message(r, seq); err != nil {
			return n, err
		}
		n++
	}
	c.found[extentKey{q.id, pos.File}] += n
	return n, nil
}

// leadsTo says whether a walk from there comes to a record at pos.
func leadsTo(from, pos journal.Position) bool {
	return from.File == pos.File && from.Offset <= pos.Offset
}
