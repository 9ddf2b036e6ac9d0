package redis

import (
	"sync"

	"github.com/dabba-mq/dabba/store"
)

// mostAnswers is how many answers a store remembers.
const mostAnswers = 1 << 16

// answerKind says what a process was told was done.
type answerKind uint8

const (
	nothingMuch answerKind = iota // that nobody waits for
	sends
	receives
	settles
	appends
	catalog
)

// place is where changes are numbered on their own: a queue or one of its shards, a partition of a log, or the key-value part,
// which has id 0.
type place struct {
	id        uint64
	shard, of uint16 // of a queue with shards
	partition uint32 // of a log
	log       bool
}

// answer is one change that this process was told was done.
type answer struct {
	place
	// first is the number of the commit, the revision, or the offset of the first record.
	first int64
	// bump is what the call was told, or up to which it was found since that the change is still there.
	bump int64
	// at is when that was, in milliseconds of queue time.
	at    int64
	count uint32
	kind  answerKind
	// lost says that it was counted.
	lost bool
}

// behind is the number after those that the change takes.
func (a *answer) behind() int64 {
	if a.kind == appends {
		return a.first + int64(a.count)
	}
	return a.first + 1
}

// answers are the last that a store was given.
type answers struct {
	mu   sync.Mutex
	list []answer
	// noted is how many there ever were: the i-th is at i modulo the length of the list, which is full from mostAnswers on.
	noted int
	// late are the tags of those that came when a newer bump was known already, and counting says that somebody looks at them.
	late     map[int]struct{}
	counting bool
}

// add notes an answer.
func (m *answers) add(a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) < mostAnswers {
		m.list = append(m.list, a)
	} else {
		m.list[m.noted%mostAnswers] = a
	}
	m.noted++
}

// told notes what the answer to a call on a queue says was done, if it changed something.
func (s part) told(id store.QueueID, r *reply, now int64, kind answerKind, count int) {
	if r.commit == 0 {
		return
	}
	a := answer{first: r.commit, bump: r.bump, at: now, count: uint32(count), kind: kind}
	a.id, a.shard, a.of = uint64(id), uint16(s.shard), uint16(s.of)
	s.heard(a)
}

// toldAppended notes what was appended.
func (s *Store) toldAppended(id store.LogID, r *reply, now int64, parts []store.Appended) {
	for _, p := range parts {
		a := answer{first: int64(p.First), bump: r.bump, at: now, count: uint32(p.Count), kind: appends}
		a.id, a.partition, a.log = uint64(id), p.Partition, true
		s.heard(a)
	}
}

// toldRevision notes a change of the key-value part.
func (s *Store) toldRevision(revision int64, r *reply, now int64) {
	if revision > 0 {
		s.heard(answer{first: revision, bump: r.bump, at: now, count: 1, kind: catalog})
	}
}

// heard notes an answer. One that comes from the server that was before a failover, after that was counted, is counted by
// itself.
func (s *Store) heard(a answer) {
	s.answers.add(a)
	if tag := s.tagOfPlace(a.place); s.bumps[tag].Load() > a.bump {
		s.countLate(tag)
	}
}

// tagOfPlace is the tag of the keys of a place.
func (s *Store) tagOfPlace(p place) int {
	switch {
	case p.id == 0:
		return kvTag
	case p.shard > 0:
		return shardTag(store.QueueID(p.id), uint32(p.shard), uint32(p.of))
	}
	return int(p.id % tags)
}
