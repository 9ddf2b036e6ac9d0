package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store"
)

// topics knows which topics there are, the way catalog knows the queues. The names' turns are those of the catalog.
type topics struct {
	named     sync.Map // Ref -> *topic
	generated sync.Map // store.LogID -> *topic

	// spread counts the produces that leave the choice of the partition to the engine.
	spread atomic.Uint64

	// due are those that need a sweep.
	due chores[*topic]
}

// topic is one generation of a topic, as long as the engine knows it.
type topic struct {
	ref Ref
	id  store.LogID
	// due rings when retention has something to remove.
	due *alarm
	// swept is the moment of the last sweep.
	swept atomic.Int64
	setup atomic.Pointer[topicSetup]
}

// topicSetup is a configuration with the revision it belongs to. It is never changed, only replaced.
type topicSetup struct {
	config   TopicConfig
	revision store.Revision
	// repeated says that the catalog had no other when the store refused it, so that its settings were repeated.
	repeated bool
	// lines are where the reads of each partition wait. A new setup has those of the one before, and more.
	lines []*line
}

func (s *topicSetup) settings() store.LogSettings {
	return store.LogSettings{
		Revision:     uint64(s.revision),
		Partitions:   s.config.Partitions,
		RetentionAge: s.config.RetentionAge, RetentionBytes: s.config.RetentionBytes,
	}
}

func (t *topics) init() { t.due.init() }

func (t *topics) byName(ref Ref) (*topic, bool) {
	found, ok := t.named.Load(ref)
	if !ok {
		return nil, false
	}
	return found.(*topic), true
}

func (t *topics) byID(id store.LogID) (*topic, bool) {
	found, ok := t.generated.Load(id)
	if !ok {
		return nil, false
	}
	return found.(*topic), true
}

func (t *topics) all() iter.Seq[*topic] {
	return func(yield func(*topic) bool) {
		t.named.Range(func(_, found any) bool { return yield(found.(*topic)) })
	}
}

// notifyTopic is the store's word that records of a partition have become durable: all who wait for them read.
func (e *Engine) notifyTopic(id store.LogID, partition uint32) {
	t, ok := e.topics.byID(id)
	if !ok {
		return
	}
	if lines := t.setup.Load().lines; int(partition) < len(lines) {
		lines[partition].stir()
	}
}

// installTopic makes a record what the name means from now on. The caller has the name's turn, or is alone.
func (e *Engine) installTopic(ref Ref, r topicRecord) *topic {
	t, known := e.topics.byName(ref)
	if known && t.id != r.id {
		e.uninstallTopic(t)
		known = false
	}
	next := &topicSetup{config: r.config, revision: r.revision, repeated: r.repeated}
	if known {
		next.lines = t.setup.Load().lines
	}
	for len(next.lines) < int(r.config.Partitions) {
		next.lines = append(next.lines, new(line))
	}
	if known {
		t.setup.Store(next)
		return t
	}
	t = &topic{ref: ref, id: r.id}
	t.due = newAlarm(func() { e.ringTopic(t) })
	t.swept.Store(int64(-sweepPause))
	t.setup.Store(next)
	e.topics.generated.Store(r.id, t)
	e.topics.named.Store(ref, t)
	return t
}

// uninstallTopic forgets a topic and lets its readers find out. The caller has the name's turn.
func (e *Engine) uninstallTopic(t *topic) {
	e.topics.named.CompareAndDelete(t.ref, t)
	e.topics.generated.CompareAndDelete(t.id, t)
	e.clock.off(t.due)
	for _, l := range t.setup.Load().lines {
		l.stir()
	}
	if e.events.TopicDeleted != nil {
		e.events.TopicDeleted(t.ref)
	}
}

// applyTopic brings the store's settings in line with the catalog. It may be repeated. The caller has the name's turn,
// or is alone.
func (e *Engine) applyTopic(ctx context.Context, t *topic) error {
	if err := e.store.ConfigureLog(ctx, t.id, t.setup.Load().settings()); err != nil {
		return fmt.Errorf("configure topic %s: %w", t.ref, err)
	}
	e.topics.due.add(t)
	return nil
}

// lookupTopic finds a topic and its present setup.
func (e *Engine) lookupTopic(ctx context.Context, ref Ref) (*topic, *topicSetup, error) {
	if t, ok := e.topics.byName(ref); ok {
		return t, t.setup.Load(), nil
	}
	return e.reloadTopic(ctx, ref, nil)
}

// reloadTopic reads a topic from the store's catalog, since there may be more to know than the setup (nil: it was not known).
// It repeats the settings, too, since a crash or a failure may have kept them from arriving.
func (e *Engine) reloadTopic(ctx context.Context, ref Ref, known *topicSetup) (*topic, *topicSetup, error) {
	return e.readTopicAgain(ctx, ref, known, false)
}

// reopenTopic is reloadTopic for a setup that the store refused. If the catalog has no other, its settings are repeated. If
// that does not help, what the store has is newer, since the catalog has lost a change: then a new revision is above both.
func (e *Engine) reopenTopic(ctx context.Context, ref Ref, refused *topicSetup) (*topic, *topicSetup, error) {
	return e.readTopicAgain(ctx, ref, refused, true)
}

func (e *Engine) readTopicAgain(ctx context.Context, ref Ref, refused *topicSetup, stale bool) (*topic, *topicSetup, error) {
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	if t, ok := e.topics.byName(ref); ok {
		if s := t.setup.Load(); s != refused {
			return t, s, nil // someone else did it meanwhile
		}
	}
	r, err := e.readTopic(ctx, ref)
	if err != nil {
		return nil, nil, fromStore(err)
	}
	if r == nil {
		if t, ok := e.topics.byName(ref); ok {
			e.uninstallTopic(t)
		}
		return nil, nil, noTopic(ref)
	}
	repeated := stale && refused != nil && refused.revision == r.revision
	if t, ok := e.topics.byName(ref); ok && t.id == r.id && refused != nil && e.shared() &&
		(refused.revision > r.revision || repeated && refused.repeated) {
		rev, err := e.putTopic(ctx, ref, r)
		if err != nil && !errors.Is(err, store.ErrConflict) { // which says that another node has done so
			return nil, nil, fromStore(err)
		}
		r.revision = max(rev, r.revision)
		repeated = false
	}
	r.repeated = repeated
	return e.arrangeTopic(ctx, e.installTopic(ref, *r))
}

// arrangeTopic is arrange for a topic.
func (e *Engine) arrangeTopic(ctx context.Context, t *topic) (*topic, *topicSetup, error) {
	err := e.applyTopic(ctx, t)
	if errors.Is(err, store.ErrGone) {
		if err := e.strike(ctx, topicKey(t.ref), t.setup.Load().revision); err != nil {
			return nil, nil, fromStore(fmt.Errorf("strike topic %s, which was dropped, off the catalog: %w", t.ref, err))
		}
		e.uninstallTopic(t)
		return nil, nil, noTopic(t.ref)
	}
	if err != nil {
		return nil, nil, fromStore(err)
	}
	return t, t.setup.Load(), nil
}

func noTopic(ref Ref) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "There is no topic named " + ref.Name + "; create it first.",
	}
}
