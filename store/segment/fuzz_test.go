package segment

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// FuzzCheckpoint feeds the reader of checkpoints sections whose checksums are right, so that the fuzzer gets behind
// them. It must not panic, and read no more than there is.
func FuzzCheckpoint(f *testing.F) {
	q := newQueue(7, model.NewQueue(7))
	q.state.Configure(1000, store.Settings{Revision: 1})
	if _, _, _, err := q.state.Send(1000, model.Sending{Entries: []model.Meta{{Size: 10}, {Size: 20}}}); err != nil {
		f.Fatal(err)
	}
	q.where.extents = []*extent{{file: 1, first: 1, last: 2, live: 2, bytes: 30, points: []point{{0, 4160}}}}
	frozen, _ := q.freeze()
	f.Add(sectionQueue, frozen.encode(nil))
	f.Add(sectionStart, start{}.encode(nil))
	f.Add(sectionPairs, model.NewKV().Snapshot(make([]byte, 8)))
	f.Add(sectionEnd, []byte{1, 0, 0, 0, 1, 0, 0, 0})
	f.Add(sectionLog, logSection(f))
	f.Fuzz(func(t *testing.T, kind uint8, content []byte) {
		l := loader{store: &Store{queues: make(map[store.QueueID]*queue), logs: make(map[store.LogID]*log)}}
		l.store.kv.state = model.NewKV()
		if err := l.section(kind, content); err != nil {
			return
		}
		for _, q := range l.store.queues {
			q.state.Stats(2000)
			q.where.find(1)
			q.where.usage(make(map[uint32]int64))
		}
		for _, l := range l.store.logs {
			l.state.Sweep(2000)
			l.raise(model.Trimmed{})
		}
	})
}

// FuzzFiles feeds the readers of whole checkpoint and CURRENT files.
func FuzzFiles(f *testing.F) {
	cur := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32([]byte(currentMagic), 1), 1)
	f.Add(binary.LittleEndian.AppendUint32(cur, crc32.Checksum(cur, castagnoli)), []byte(checkpointMagic+"\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, cur, checkpoint []byte) {
		fs := disk.NewSim()
		if err := fs.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"d/" + currentName: cur, "d/" + checkpointName(1): checkpoint} {
			if err := replace(fs, name, b); err != nil {
				t.Fatal(err)
			}
		}
		number, err := current(fs, "d")
		if err != nil || number != 1 {
			return
		}
		_ = loadCheckpoint(fs, "d", 1, func(uint8, []byte) error { return nil })
	})
}
