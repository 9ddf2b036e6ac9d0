package storetest_test

import (
	"testing"

	"github.com/dabba-mq/dabba/store/storetest"
)

// The bugs of others that this project means to be immune to, as one line each.
func TestPlanted(t *testing.T) {
	storetest.Planted(t, append(logPlants, []storetest.Plant{
		{
			Name: "one delivery too many", File: "store/internal/model/states.go",
			Old: "s.entered >= q.settings.MaxReceives", New: "s.entered > q.settings.MaxReceives",
			Package: "./store/memory", Run: "TestContract/deliveries",
		},
		{
			Name: "a lease ends late", File: "store/internal/model/due.go",
			Old: "!ends || q.slots.slab[n].due > now {", New: "!ends || q.slots.slab[n].due >= now {",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "a returned message goes to the end of the line", File: "store/internal/model/states.go",
			Old: "if s.avail == 0 {\n\t\ts.avail = tick(at)", New: "if at > 0 {\n\t\ts.avail = tick(at)",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "any token settles", File: "store/internal/model/settle.go",
			Old: "s.token == 0 || s.token != item.Token ||", New: "",
			Package: "./store/memory", Run: "TestContract/settle",
		},
		{
			Name: "claims share a token", File: "store/internal/model/claim.go",
			Old: "ev.Token, ev.Consumer = q.token+1,", New: "ev.Token, ev.Consumer = q.token|1,",
			Package: "./store/memory", Run: "TestContract/(claim|settle)",
		},
		{
			Name: "an idempotency key is forgotten at once", File: "store/internal/model/once.go",
			Old: "return e, ok && e.ends > now", New: "return e, ok && e.ends < now",
			Package: "./store/memory", Run: "TestContract/once",
		},
		{
			Name: "a second move forgets the deliveries of the first", File: "store/internal/model/messages.go",
			Old: "o.Receives += c.Entered", New: "o.Receives = c.Entered",
			Package: "./store/memory", Run: "TestContract/move",
		},
		{
			Name: "a renewed message is the one it was", File: "store/internal/model/messages.go",
			Old: "if !p.Renew {", New: "if p.Limit > 0 {",
			Package: "./store/memory", Run: "TestContract/move_renew",
		},
		{
			Name: "queue time follows the wall clock", File: "store/internal/model/clock.go",
			Old: "Millis(c.now().Sub(c.start)/time.Millisecond)", New: "Millis(c.wall().Sub(c.start)/time.Millisecond)",
			Package: "./store/memory", Run: "TestContract/(time|wall)",
		},
		{
			Name: "a token of nobody settles a delayed message", File: "store/internal/model/settle.go",
			Old: "s.token == 0 || s.token", New: "s.token",
			Package: "./store/memory", Run: "TestContract/settle",
		},
		{
			Name: "writes are not synced", File: "store/internal/journal/commit.go",
			Old: "if err := j.active.Sync(); err != nil {", New: "if err := error(nil); err != nil {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a failed sync is tried again", File: "store/internal/journal/commit.go",
			Old: "if err := j.active.Sync(); err != nil {", New: "if err := j.active.Sync(); err != nil && j.active.Sync() != nil {",
			Package: "./store/segment", Run: "TestLies",
		},
		{
			Name: "an answer does not wait for its own record", File: "store/segment/store.go",
			Old: "if lsn > s.journal.Durable() {", New: "if lsn > s.journal.Durable()+1 {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a new journal file is not synced into its folder", File: "store/internal/journal/prepare.go",
			Old:     "j.path(d.number())); err != nil {\n\t\treturn err\n\t}\n\treturn j.o.FS.SyncDir(j.o.Dir)",
			New:     "j.path(d.number())); err != nil {\n\t\treturn err\n\t}\n\treturn nil",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "the header of a new journal file is not synced", File: "store/internal/journal/prepare.go",
			Old: "if err := d.Sync(); err != nil {", New: "if err := error(nil); err != nil {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a record's checksum is not looked at", File: "store/internal/record/record.go",
			Old: "if checksum(b, salt, offset)", New: "if false && checksum(b, salt, offset)",
			Package: "./store/segment", Run: "TestDamage",
		},
		{
			Name: "a checkpoint counts before the journal is synced", File: "store/segment/checkpoint.go",
			Old: "if err := s.journal.Sync(); err != nil {", New: "if err := error(nil); err != nil {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a checkpoint is not synced", File: "store/segment/sections.go",
			Old: "return errors.Join(w.Sync(), w.Close())", New: "return w.Close()",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "what names the checkpoint is not synced", File: "store/segment/current.go",
			Old: "if err == nil {\n\t\terr = f.Sync()\n\t}", New: "",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "data files are let go of before the checkpoint is published", File: "store/segment/checkpoint.go",
			Old: "if err := s.publish(number); err != nil {", New: "s.journal.SetStart(st.Start)\n\tif err := s.release(sealed, needed); err != nil {\n\t\treturn err\n\t}\n\tif err := s.publish(number); err != nil {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a restart does not raise tokens", File: "store/internal/model/queue.go",
			Old: "q.token += 1 << 24", New: "q.token += 0",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "queue time starts at the wall clock again", File: "store/segment/time.go",
			Old: "s.clock = model.NewClock(s.o.Now, s.wall, now)", New: "s.clock = model.NewClock(s.o.Now, s.wall, wall)",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "records are replayed on a state that has them", File: "store/segment/replay.go",
			Old: "if lsn > q.last {", New: "if lsn > 0 {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "two receivers hold one group", File: "store/internal/model/lanes.go",
			Old: "may := l.ready > 0 && !q.locked(n) &&", New: "may := l.ready > 0 &&",
			Package: "./store/memory", Run: "TestContract/fifo",
		},
		{
			Name: "a nacked message does not lock its group", File: "store/internal/model/lanes.go",
			Old: "l.leased+l.backoff == 0", New: "l.leased == 0",
			Package: "./store/memory", Run: "TestContract/fifo",
		},
		{
			Name: "a delayed newcomer locks its group", File: "store/internal/model/lanes.go",
			Old: "l.leased+l.backoff == 0", New: "l.leased+l.delayed == 0",
			Package: "./store/memory", Run: "TestContract/fifo",
		},
		{
			Name: "a claim goes on past what others hold of its group", File: "store/internal/model/claim.go",
			Old: "if c.limit > 0 && q.first(l) > c.limit {", New: "if c.limit > 0 && q.first(l) < c.limit {",
			Package: "./store/memory", Run: "TestContract/fifo_tail",
		},
		{
			Name: "a group is locked whose first message is not held", File: "store/internal/model/lanes.go",
			Old: "return !q.settings.Tail || l.ready == 0 ||", New: "return !q.settings.Tail || l.ready > 0 ||",
			Package: "./store/memory", Run: "TestContract/fifo_tail",
		},
		{
			Name: "what is behind a held message is given", File: "store/internal/model/lanes.go",
			Old: "q.first(l) > q.blocker(n).seq", New: "q.first(l) < q.blocker(n).seq",
			Package: "./store/memory", Run: "TestContract/fifo_tail",
		},
		{
			Name: "a restart forgets what holds up a group", File: "store/internal/model/queue.go",
			Old: "case leased, backoff:\n\t\tq.hold(n)", New: "case leased, backoff:",
			Package: "./store/segment", Run: "TestContract/fifo_tail_restarting",
		},
		{
			Name: "a returned message goes behind the fresh ones of its group", File: "store/internal/model/lanes.go",
			Old: "q.settings.Mode == store.FIFO && s.seq < l.head {", New: "q.settings.Mode == store.FIFO && s.seq > l.head {",
			Package: "./store/memory", Run: "TestContract/fifo",
		},
		{
			Name: "a shorter delay overtakes within its group", File: "store/internal/model/send.go",
			Old: "due > s.now+m.Delay {", New: "due < s.now {",
			Package: "./store/memory", Run: "TestContract/fifo",
		},
		{
			Name: "a busy group is served before a quiet one", File: "store/internal/model/lanes.go",
			Old: "return a.leased < b.leased", New: "return a.leased > b.leased",
			Package: "./store/memory", Run: "TestContract/fair",
		},
		{
			Name: "a rate allows one too many", File: "store/internal/model/lanes.go",
			Old: "max(int64(time.Second)-int64(every), 0)", New: "int64(time.Second)",
			Package: "./store/memory", Run: "TestContract/rates",
		},
		{
			Name: "dead messages fill a bounded queue", File: "store/internal/model/send.go",
			Old: "q.Len()-q.dead.len()+messages+1", New: "q.Len()+messages+1",
			Package: "./store/memory", Run: "TestContract/limits",
		},
		{
			Name: "deduplication outlives a purge", File: "store/internal/model/purge.go",
			Old: "kept.Erased, kept.Cleared = erased, cleared", New: "kept.Erased, kept.Cleared, kept.dedup = erased, cleared, q.dedup",
			Package: "./store/memory", Run: "TestContract/dedup",
		},
		{
			Name: "an attempt is not remembered", File: "store/internal/model/attempts.go",
			Old: "return a, ok && a.ends > now", New: "return a, ok && a.ends < now",
			Package: "./store/memory", Run: "TestContract/attempt",
		},
		{
			Name: "an attempt outlives an extension", File: "store/internal/model/settle.go",
			Old: "q.attempts.spend(s.token)", New: "q.attempts.spend(0)",
			Package: "./store/memory", Run: "TestContract/attempt",
		},
		{
			Name: "a late heartbeat undoes a nack", File: "store/internal/model/settle.go",
			Old:     "if s.state == delayed || s.state == backoff {\n\t\t\treturn Change{}, store.Lost",
			New:     "if s.state == dead {\n\t\t\treturn Change{}, store.Lost",
			Package: "./store/memory", Run: "TestContract/settle",
		},
		{
			Name: "a checkpoint forgets deduplication keys", File: "store/internal/model/snapshot.go",
			Old: "f.dedup.list(f.now)", New: "f.dedup.list(1 << 60)",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a restart forgets whose turn it is", File: "store/internal/model/restore.go",
			Old: "q.lanes.list[n].turn = f.turn", New: "q.lanes.list[n].turn = ^f.turn",
			Package: "./store/segment", Run: "TestContract/f.*_restarting",
		},
		{
			Name: "a restart forgets what was sent in order", File: "store/internal/model/restore.go",
			Old: "if f.inOrder != 0 {", New: "if f.inOrder < 0 {",
			Package: "./store/segment", Run: "TestContract/fifo_restarting",
		},
		{
			Name: "a crash brings back what gave way", File: "store/internal/model/send.go",
			Old: "q.erase(ev.At, gave[0].Seq, store.Evicted)", New: "_ = gave",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "a crash brings back what was purged", File: "store/internal/model/purge.go",
			Old: "if ev.All {\n\t\tq.clear(ev.At)", New: "if ev.All {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "what recovery read is not written again", File: "store/internal/journal/recover.go",
			Old: "for _, s := range r.doubtful {", New: "for _, s := range r.doubtful[:0] {",
			Package: "./store/segment", Run: "TestCrash",
		},
	}...))
}
