package redis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A Redis that starts again, or takes the place of another one, may have lost what was acknowledged. Whoever notices first
// enters a bump, a time that rises, once for each tag whose keys that server has; all calls carry it, and the first
// one that reaches a queue, log or the key-value part moves on what it gives out (see the package's section on failover).
// A server that is emptied while it runs has lost its records, too, so that is noticed as if another process had come.
const (
	// kvTag stands beside the tags of generations for the key-value part.
	kvTag   = tags
	allTags = tags + 1
	// noTag is of keys that name nothing which a failover could give out twice: registries and notes.
	noTag = -1
	// unknownBump is of a tag whose record was not read yet.
	unknownBump = -1
)

var fenceScript = newRepeatable("fence")

// identity tells one process that serves as master from all others, and from itself before it was a replica.
type identity struct {
	// run is new with each start.
	run string
	// past is the replication id of the master whose place it took; zeros if it did not, or has forgotten.
	past string
}

func identityOf(facts map[string]string) identity {
	return identity{facts["run_id"], facts["master_replid2"]}
}

// same says that nothing can have been lost between the two. A master without replicas forgets whose place it took.
func (a identity) same(b identity) bool {
	return a.run == b.run && (a.past == b.past || strings.Trim(b.past, "0") == "")
}

func (a identity) String() string {
	if len(a.run) < 8 || len(a.past) < 8 {
		return a.run
	}
	if strings.Trim(a.past, "0") == "" {
		return a.run[:8]
	}
	return a.run[:8] + " after " + a.past[:8]
}

// tagOf is the number of the tag of a key, or noTag.
func (s *Store) tagOf(key string) int {
	text, _, _ := strings.Cut(strings.TrimPrefix(key, s.o.Prefix+"{"), "}")
	if text == "kv" {
		return kvTag
	}
	if b, err := hex.DecodeString(text); err == nil && len(b) == 1 {
		return int(b[0])
	}
	return noTag
}

// fenceKey is the record of a tag.
func (s *Store) fenceKey(tag int) string {
	if tag == kvTag {
		return s.o.Prefix + "{kv}fence"
	}
	return fmt.Sprintf("%s{%02x}fence", s.o.Prefix, tag)
}

// fence enters a new process in the records of all tags that it serves, and reads their bumps. It is called with meeting held.
func (v *server) fence(ctx context.Context, c redis.Cmdable, here identity) error {
	if err := c.ScriptLoad(ctx, fenceScript.text).Err(); err != nil {
		return err
	}
	// If this process knows of another one before, then somebody must have entered this one since.
	more, have := int64(0), v.identity.Load()
	if have != nil && !have.same(here) {
		more = 1
	}
	cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for tag := range allTags {
			least := v.store.bumps[tag].Load() + more
			p.EvalSha(ctx, fenceScript.sum, []string{v.store.fenceKey(tag)}, here.run, here.past, least, "", v.store.records[tag].Load(), v.store.knownTime())
		}
		return nil
	})
	if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) {
		return err
	}
	f := Failover{Server: v.name, To: here.String()}
	var behind []int
	var failed error
	for tag, cmd := range cmds {
		told, err := toldOf(cmd)
		if err != nil {
			v.bumps[tag].Store(unknownBump) // if it is another server's, it may become this one's
			if !elsewhere(err) {
				failed = err
			}
			continue
		}
		v.store.records[tag].Store(told.made)
		was := v.bumps[tag].Swap(told.bump)
		newer := v.store.newest(tag, told.bump)
		if newer || told.bumped {
			behind = append(behind, tag)
		}
		if newer || told.bumped || was >= 0 && was != told.bump {
			f.Tags++
			f.From, f.At = told.before, v.store.shownTime(told.bump)
		}
	}
	if f.Tags > 0 {
		if have != nil {
			f.From = have.String()
		}
		switch {
		case have != nil && more == 0:
			f.To, f.Emptied = f.To+", whose records were gone", true
		case f.From == f.To:
			f.From = "" // others have entered it
		}
		v.store.failedOver(f, behind)
	}
	return failed
}

// told is what the record of a tag says.
type told struct {
	bump   int64
	bumped bool // by this call
	before string
	made   int64
}

func toldOf(cmd redis.Cmder) (told, error) {
	list, err := cmd.(*redis.Cmd).Slice()
	if err != nil {
		return told{}, err
	}
	r := newReply(fenceScript, list)
	t := told{bump: r.int(), bumped: r.int() == 1}
	t.before, t.made = identity{r.text(), r.text()}.String(), r.int()
	return t, r.done()
}

// elsewhere says that another server of the cluster has the key. One that has just started says CLUSTERDOWN instead, of all.
func elsewhere(err error) bool {
	return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")
}

// know makes sure that the bump of a tag is known, before a call is made: slots may have come from another server.
func (v *server) know(ctx context.Context, tag int) error {
	if v.bumps[tag].Load() != unknownBump {
		return nil
	}
	v.knowing.Lock()
	defer v.knowing.Unlock()
	if v.bumps[tag].Load() != unknownBump {
		return nil
	}
	here := v.identity.Load()
	if here == nil { // its connections are from when it was a replica, or could not be written to
		c := v.client.Conn()
		err := v.meet(ctx, c)
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
		if here = v.identity.Load(); here == nil {
			return *v.refuses.Load()
		}
		if v.bumps[tag].Load() != unknownBump {
			return nil
		}
	}
	told, err := toldOf(v.client.Eval(ctx, fenceScript.text, []string{v.store.fenceKey(tag)},
		here.run, here.past, v.store.bumps[tag].Load(), "moved", v.store.records[tag].Load(), v.store.knownTime()))
	if err != nil {
		return err
	}
	v.store.records[tag].Store(told.made)
	if v.store.newest(tag, told.bump) { // since its keys were on the server that they came from
		v.store.failedOver(Failover{Server: v.name, To: here.String(), At: v.store.shownTime(told.bump), Tags: 1}, []int{tag})
	}
	v.bumps[tag].CompareAndSwap(unknownBump, told.bump)
	return nil
}

// newest notes the highest bump of a tag that any server told, and says whether it is higher than one known before. While the
// store is opened none is known.
func (s *Store) newest(tag int, bump int64) bool {
	for {
		have := s.bumps[tag].Load()
		if have >= bump {
			return false
		}
		if s.bumps[tag].CompareAndSwap(have, bump) {
			return s.opened.Load()
		}
	}
}

// moment is an argument: the latest time seen, and the bump that the server has told which the call goes to. It is written
// on a connection of which it is known where it leads to, so the bump is read only then.
type moment struct {
	seen *atomic.Int64
	tag  int
	to   *server
	// makes has it say which record is known, too.
	makes bool
	// bump is what was written last.
	bump atomic.Int64
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (m *moment) MarshalBinary() ([]byte, error) {
	bump := int64(0)
	if m.tag != noTag {
		bump = max(m.to.bumps[m.tag].Load(), 0)
	}
	m.bump.Store(bump)
	b := strconv.AppendInt(make([]byte, 0, 48), m.seen.Load(), 10)
	b = strconv.AppendInt(append(b, ' '), bump, 10)
	if m.makes && m.tag != noTag {
		if record := m.to.store.records[m.tag].Load(); record > 0 {
			b = strconv.AppendInt(append(b, ' '), record, 10)
		}
	}
	return b, nil
}
