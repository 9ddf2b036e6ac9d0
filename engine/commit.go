package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

// Committed offsets are kept in the key-value part of the store, one pair for each name on a topic:
// o/<the topic's generation in hexadecimal>/<name>. So a topic that is created again has none.
const (
	offsetsPrefix  = "o/"
	offsetsVersion = 1
)

func offsetsOf(id store.LogID) string { return fmt.Sprintf("%s%016x/", offsetsPrefix, uint64(id)) }

func logOfKey(key string) (store.LogID, bool) {
	id, _, ok := strings.Cut(strings.TrimPrefix(key, offsetsPrefix), "/")
	n, err := strconv.ParseUint(id, 16, 64)
	return store.LogID(n), ok && err == nil
}

// storedOffsets is the JSON of a pair.
type storedOffsets struct {
	Version int               `json:"version"`
	Offsets map[uint32]uint64 `json:"offsets"`
}

// CommitRequest sets committed offsets.
type CommitRequest struct {
	// Offsets are, by partition, the next ones to read; those of other partitions stay.
	Offsets map[uint32]uint64
	// Expected are, by partition, those that must be there, nil for none yet; a nil map is for any.
	Expected map[uint32]*uint64
	// Only is held against the whole of them.
	Only Condition
}

// Commit sets the committed offsets of a name on a topic: all that are given, or none. Durable on return.
func (e *Engine) Commit(ctx context.Context, ref Ref, name string, req CommitRequest) (Committed, error) {
	for {
		t, s, err := e.committing(ctx, ref, name, req)
		if err != nil {
			return Committed{}, err
		}
		key := offsetsOf(t.id) + name
		was, revision, err := e.presentOffsets(ctx, t, s, key)
		if errors.Is(err, store.ErrStaleConfig) {
			continue // another node has changed the topic, which is known by now
		}
		if err != nil {
			return Committed{}, err
		}
		if err := req.holds(was, revision); err != nil {
			return Committed{}, err
		}
		next := maps.Clone(was)
		maps.Copy(next, req.Offsets)
		value, err := json.Marshal(storedOffsets{offsetsVersion, next})
		if err != nil {
			return Committed{}, fromStore(fmt.Errorf("encode the offsets of %s on topic %s: %w", name, ref, err))
		}
		revision, err = e.store.Put(ctx, key, value, revision)
		if errors.Is(err, store.ErrConflict) {
			continue // another one committed meanwhile
		}
		if err != nil {
			return Committed{}, fromStore(fmt.Errorf("write the offsets of %s on topic %s: %w", name, ref, err))
		}
		return Committed{Offsets: next, ETag: etag(revision)}, nil
	}
}

// committing finds the topic of a commit that is sound.
func (e *Engine) committing(ctx context.Context, ref Ref, name string, req CommitRequest) (*topic, *topicSetup, error) {
	if err := validWord("name", "The name of committed offsets", name); err != nil {
		return nil, nil, err
	}
	if len(req.Offsets) == 0 {
		return nil, nil, invalid("offsets", `Give the next offset to read for each partition, as in {"0": 124}.`)
	}
	highest := uint32(0)
	for p := range req.Offsets {
		highest = max(highest, p)
	}
	t, s, err := e.topicWith(ctx, ref, highest)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Field == "partition" {
		return nil, nil, invalid("offsets", refused.Detail)
	}
	return t, s, err
}

// presentOffsets is readOffsets of a topic that still is as it was looked up; [store.ErrStaleConfig] if it is not. No call
// on the topic's records would find that out. Both are asked for at the same time.
func (e *Engine) presentOffsets(ctx context.Context, t *topic, s *topicSetup, key string) (map[uint32]uint64, store.Revision, error) {
	if !e.shared() {
		return e.readOffsets(ctx, key)
	}
	confirmed := make(chan error, 1)
	go func() { confirmed <- e.confirmTopic(ctx, t, s) }()
	was, revision, err := e.readOffsets(ctx, key)
	if changed := <-confirmed; changed != nil {
		return nil, 0, changed
	}
	return was, revision, err
}

// holds compares what is committed with what was expected.
func (req *CommitRequest) holds(was map[uint32]uint64, revision store.Revision) error {
	if err := req.Only.check("set of offsets", revision); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(req.Expected)) {
		var have *uint64
		if committed, ok := was[p]; ok {
			have = &committed
		}
		if want := req.Expected[p]; shownOffset(have) != shownOffset(want) {
			return conflict(fmt.Sprintf("expected.%d", p), fmt.Sprintf("The committed offset of partition %d is %s, not %s; read it again and decide anew.",
				p, shownOffset(have), shownOffset(want)))
		}
	}
	return nil
}

func shownOffset(offset *uint64) string {
	if offset == nil {
		return "none"
	}
	return strconv.FormatUint(*offset, 10)
}

// CommittedOffsets are those of a name on a topic; a name that committed nothing is not found.
func (e *Engine) CommittedOffsets(ctx context.Context, ref Ref, name string) (Committed, error) {
	if err := validWord("name", "The name of committed offsets", name); err != nil {
		return Committed{}, err
	}
	t, _, err := e.currentTopic(ctx, ref)
	if err != nil {
		return Committed{}, err
	}
	was, revision, err := e.readOffsets(ctx, offsetsOf(t.id)+name)
	if err != nil {
		return Committed{}, err
	}
	if revision == 0 {
		return Committed{}, &Error{
			Code: CodeNotFound, Field: "name", Outcome: NotApplied,
			Detail: "Nothing is committed under the name " + name + "; put offsets there first.",
		}
	}
	return Committed{Offsets: was, ETag: etag(revision)}, nil
}

// readOffsets gives revision 0 when there is nothing.
func (e *Engine) readOffsets(ctx context.Context, key string) (map[uint32]uint64, store.Revision, error) {
	pair, err := e.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return map[uint32]uint64{}, 0, nil
	}
	if err != nil {
		return nil, 0, fromStore(fmt.Errorf("read committed offsets: %w", err))
	}
	var s storedOffsets
	if err := json.Unmarshal(pair.Value, &s); err != nil {
		return nil, 0, fromStore(fmt.Errorf("%w: committed offsets %q: %w", store.ErrCorrupt, key, err))
	}
	if s.Version != offsetsVersion {
		return nil, 0, fromStore(fmt.Errorf("%w: committed offsets %q have version %d, this program knows %d",
			store.ErrVersion, key, s.Version, offsetsVersion))
	}
	if s.Offsets == nil {
		s.Offsets = map[uint32]uint64{}
	}
	return s.Offsets, pair.Revision, nil
}

// forgetOffsets removes all that was committed on a generation.
func (e *Engine) forgetOffsets(ctx context.Context, id store.LogID) error {
	return e.eachPair(ctx, offsetsOf(id), pageSize, func(p store.Pair) error {
		return e.store.Delete(ctx, p.Key, store.AnyRevision)
	})
}
