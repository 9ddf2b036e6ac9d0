package storetest_test

import (
	"testing"

	"github.com/dabba-mq/dabba/store/storetest"
)

// The bugs of others that this project means to be immune to, as one line each.
func TestPlanted(t *testing.T) {
	storetest.Planted(t, []storetest.Plant{
		{
			Name: "one delivery too many", File: "store/internal/model/queue.go",
			Old: "s.entered >= q.settings.MaxReceives", New: "s.entered > q.settings.MaxReceives",
			Package: "./store/memory", Run: "TestContract/deliveries",
		},
		{
			Name: "a lease ends late", File: "store/internal/model/queue.go",
			Old: "q.timed.top().due <= now {", New: "q.timed.top().due < now {",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "a returned message goes to the end of the line", File: "store/internal/model/queue.go",
			Old: "if s.avail == 0 {", New: "if at > 0 {",
			Package: "./store/memory", Run: "TestContract/claim",
		},
		{
			Name: "any token settles", File: "store/internal/model/settle.go",
			Old: "s.token == 0 || s.token != item.Token ||", New: "",
			Package: "./store/memory", Run: "TestContract/settle",
		},
		{
			Name: "claims share a token", File: "store/internal/model/claim.go",
			Old: "Token: q.token + 1,", New: "Token: q.token | 1,",
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
			Name: "queue time follows the wall clock back", File: "store/internal/model/clock.go",
			Old: "c.last = max(c.last, at)", New: "c.last = at",
			Package: "./store/memory", Run: "TestContract/time",
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
			Name: "queue time starts at the wall clock again", File: "store/segment/open.go",
			Old: "model.NewClock(s.o.Now, l.latest)", New: "model.NewClock(s.o.Now, 0)",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "records are replayed on a state that has them", File: "store/segment/replay.go",
			Old: "if lsn > q.last {", New: "if lsn > 0 {",
			Package: "./store/segment", Run: "TestCrash",
		},
		{
			Name: "what recovery read is not written again", File: "store/internal/journal/recover.go",
			Old: "for _, s := range r.doubtful {", New: "for _, s := range r.doubtful[:0] {",
			Package: "./store/segment", Run: "TestCrash",
		},
	})
}
