package segment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// LogReport describes a log as of the last record in the folder.
type LogReport struct {
	ID         store.LogID
	Partitions []store.Bounds
}

// recordsKey names the part of a partition that lies in one file.
type recordsKey struct {
	log       store.LogID
	partition uint32
	file      uint32
}

// countRecords counts the records in an appended event that are in a log which looks for them in this file.
func (c *checking) countRecords(pos journal.Position, r record.Record) (n int64, err error) {
	b, err := decodeLogBatch(r)
	l := c.loader.store.logs[store.LogID(r.Object)]
	if err != nil || l == nil {
		return 0, err
	}
	for _, run := range b.Runs {
		if int(run.Partition) >= len(l.parts) {
			continue
		}
		w := &l.parts[run.Partition].where
		for o := run.First; run.Has(o); o++ {
			if at, _, ok := w.find(seqOf(o)); seqOf(o) < w.floor || !ok || !leadsTo(at, pos) {
				continue
			}
			if _, err := b.Record(run, o, 0); err != nil {
				return n, err
			}
			n++
			c.records[recordsKey{l.id, run.Partition, pos.File}]++
		}
	}
	return n, nil
}

// compareLogs makes sure that each record is in the file that its partition names, and that none is missing.
func (c *checking) compareLogs() {
	logs := c.loader.store.allLogs()
	slices.SortFunc(logs, func(a, b *log) int { return cmp.Compare(a.id, b.id) })
	for _, l := range logs {
		bounds := l.state.AllBounds()
		for i, p := range l.parts {
			total := int64(0)
			for file, n := range p.where.liveByFile() {
				total += n
				if have := c.records[recordsKey{l.id, uint32(i), file}]; have != n {
					c.problem(fmt.Errorf("%s has %d records in data file %d, of which %d are there", p.where.owner, n, file, have))
				}
			}
			if want := int64(bounds[i].Next - bounds[i].First); total != want {
				c.problem(fmt.Errorf("%s has %d records, of which the places of %d are known", p.where.owner, want, total))
			}
		}
		c.report.Logs = append(c.report.Logs, LogReport{l.id, bounds})
	}
}

// logStory tells what a record about a log did, empty for another one.
func logStory(r record.Record) (string, error) {
	switch r.Type {
	case typeLogConfigured:
		ev, err := model.DecodeLogConfigured(r.Payload)
		return tellLogConfigured(ev), err
	case typeLogDropped:
		return "log deleted with its records", nil
	case typeAppended:
		b, err := decodeLogBatch(r)
		var parts []string
		for _, run := range b.Runs {
			parts = append(parts, fmt.Sprintf("records %s of partition %d, %d bytes",
				between(store.Seq(run.First), store.Seq(run.First)+store.Seq(run.Count)-1), run.Partition, b.Bytes(run, 0)))
		}
		return strings.Join(parts, "; "), err
	case typeTrimmed:
		ev, err := model.DecodeTrimmed(r.Payload)
		var parts []string
		for _, p := range ev.Parts {
			parts = append(parts, fmt.Sprintf("partition %d begins with record %d", p.Partition, p.First))
		}
		return strings.Join(parts, "; "), err
	}
	return "", nil
}

func tellLogConfigured(ev model.LogConfigured) string {
	what := "changed"
	if ev.Created {
		what = "created"
	}
	what = fmt.Sprintf("%s: revision %d, %d partitions", what, ev.Settings.Revision, ev.Settings.Partitions)
	if ev.Settings.RetentionAge > 0 {
		what += fmt.Sprintf(", kept for %v", ev.Settings.RetentionAge)
	}
	if ev.Settings.RetentionBytes > 0 {
		what += fmt.Sprintf(", up to %d bytes each", ev.Settings.RetentionBytes)
	}
	return what
}
