package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// MaxFilterBytes bounds the text and the attributes of a [Filter] together.
const MaxFilterBytes = 64 << 10

// State is one of the four states that a message can be in, or [StateRemoved].
type State string

// The states. Removed is that of a message of which only the history is left.
const (
	StateReady   State = "ready"
	StateDelayed State = "delayed"
	StateLeased  State = "leased"
	StateDead    State = "dead"
	StateRemoved State = "removed"
)

// Filter chooses messages of one queue: those to which all of it applies. The zero value chooses all.
type Filter struct {
	// States are those a message may be in; none means any.
	States []State
	// Group, if set, is the message's group.
	Group *string
	// Contains is part of the body, byte by byte.
	Contains string
	// Attributes are values that the message's attributes have, byte by byte and whatever their type.
	Attributes map[string]string
	// OlderThan is less than the time, within [store.Tick], since the message first became available in this queue. A
	// delayed one that never was is not old.
	OlderThan *time.Duration
	// IDs, if not nil, are the messages' own; at most [MaxBatch].
	IDs []MessageID
}

func (f *Filter) validate() *Error {
	if f.OlderThan != nil && (*f.OlderThan < 0 || *f.OlderThan > MaxDuration) {
		return validDuration("older_than", *f.OlderThan, 0, MaxDuration)
	}
	if len(f.IDs) > MaxBatch {
		return invalid("ids", fmt.Sprintf("Give at most %d ids; these are %d.", MaxBatch, len(f.IDs)))
	}
	size := len(f.Contains)
	for name, value := range f.Attributes {
		size += len(name) + len(value)
	}
	if size > MaxFilterBytes {
		return invalid("contains", fmt.Sprintf("Look for at most %d bytes.", MaxFilterBytes))
	}
	for _, s := range f.States {
		if storeStates[s] == 0 {
			return invalid("state", fmt.Sprintf("%q is no state; give ready, delayed, leased or dead.", s))
		}
	}
	return nil
}

// storeStates are the states as the store knows them.
var storeStates = map[State]store.States{
	StateReady:   store.StateReady,
	StateDelayed: store.StateDelayed,
	StateLeased:  store.StateLeased,
	StateDead:    store.StateDead,
}

// stateOf is the name of a state of the store.
func stateOf(s store.States) State {
	for state, same := range storeStates {
		if s == same {
			return state
		}
	}
	return StateRemoved
}

// sieve is a filter made ready for one queue at one moment.
type sieve struct {
	// selection is what the store decides, the rest what takes a look at the payload.
	selection  store.Selection
	contains   []byte
	attributes map[string]string
}

// sieve resolves what the store cannot: ids, and ages. The filter is valid.
func (e *Engine) sieve(ctx context.Context, q *queue, f *Filter) (sieve, error) {
	s := sieve{contains: []byte(f.Contains), attributes: f.Attributes}
	s.selection.Group = f.Group
	for _, state := range f.States {
		s.selection.States |= storeStates[state]
	}
	if f.OlderThan != nil {
		s.selection.AvailableBefore = e.wall().Add(-*f.OlderThan)
	}
	if f.IDs != nil {
		seqs, err := e.find(ctx, q, f.IDs)
		if err != nil {
			return sieve{}, err
		}
		s.selection.Seqs = seqs
	}
	return s, nil
}

// find gives, in rising order, the sequences of those messages that are in q. It is not nil.
func (e *Engine) find(ctx context.Context, q *queue, ids []MessageID) ([]store.Seq, error) {
	seqs := make([]store.Seq, 0, len(ids))
	for _, id := range ids {
		v, err := e.locate(ctx, q, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if v.State != 0 {
			seqs = append(seqs, v.Seq)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs), nil
}

// locate looks a message up by its id. [store.ErrNotFound] when it is not in q, nor remembered.
func (e *Engine) locate(ctx context.Context, q *queue, id MessageID) (store.View, error) {
	origin, seq := e.ids().place(id)
	v, err := e.store.Lookup(ctx, q.id, origin, seq)
	if err != nil {
		return store.View{}, fmt.Errorf("look for message %s in %s: %w", id, q.ref, err)
	}
	return v, nil
}

// reads says whether it takes a payload to decide.
func (s *sieve) reads() bool { return len(s.contains) > 0 || len(s.attributes) > 0 }

// passes decides what the store left open.
func (s *sieve) passes(payload []byte) (bool, error) {
	if !s.reads() {
		return true, nil
	}
	var d Delivery
	if err := decodePayload(payload, &d); err != nil {
		return false, err
	}
	if !bytes.Contains(d.Body, s.contains) {
		return false, nil
	}
	has := 0
	for i := range d.Attributes {
		if want, ok := s.attributes[d.Attributes[i].Name]; ok && want == string(d.Attributes[i].Value) {
			has++
		}
	}
	return has == len(s.attributes), nil
}

// budget bounds one call of scan; all of it is at least 1.
type budget struct {
	// matches bounds the messages, answer the sum of their sizes; one is given whatever its size.
	matches int
	answer  int64
	// payloads bounds the bytes looked at and time the time it takes, both by the page.
	payloads int64
	time     time.Duration
}

// catch is what one call of scan found.
type catch struct {
	// views match, in the order of their sequences.
	views []store.View
	// scanned counts the messages that were looked at.
	scanned int
	// next, unless 0, is where to go on.
	next store.Seq
}

// What scan asks of the store at a time, so that it is never far beyond its budget.
const (
	scanMessages = 256
	scanBytes    = 4 << 20
)

// scan looks at the messages from a sequence on and gives those that pass, as far as the budget goes. It changes nothing.
func (e *Engine) scan(ctx context.Context, q *queue, s sieve, from store.Seq, b budget) (catch, error) {
	ends := e.clock.moment() + moment(b.time)
	c := catch{next: from}
	share := memlimit.From(ctx)
	for {
		s.selection.From = c.next
		before, found := share.Size(), len(c.views)
		res, err := e.store.Scan(ctx, store.ScanParams{
			Queue: q.id, Select: s.selection,
			Limit: s.pageLimit(b.matches), MaxBytes: min(b.payloads, scanBytes),
		})
		if err != nil {
			return catch{}, fmt.Errorf("look at the messages of %s: %w", q.ref, err)
		}
		for i := range res.Views {
			v := &res.Views[i]
			ok, err := s.passes(v.Payload)
			if err != nil {
				return catch{}, fmt.Errorf("read message %d of %s: %w", v.Seq, q.ref, err)
			}
			if ok && s.reads() {
				v.Payload = slices.Clone(v.Payload) // the others are not to stay in memory beside it
			}
			if ok && !c.take(v, &b) {
				c.next = v.Seq
				return c, nil
			}
			c.scanned++
			b.payloads -= int64(len(v.Payload))
		}
		var kept int64
		for i := range c.views[found:] {
			kept += deliveryCost + int64(len(c.views[found+i].Payload))
		}
		share.Shrink(share.Size() - before - kept)
		c.next = res.Next
		if c.next == 0 || b.matches == 0 || b.payloads <= 0 || e.clock.moment() >= ends {
			return c, nil
		}
	}
}

// pageLimit asks for no more than is wanted if all that the store gives will do.
func (s *sieve) pageLimit(wanted int) int {
	if s.reads() {
		return scanMessages
	}
	return min(wanted, scanMessages)
}

// take adds a match unless there is no room for it.
func (c *catch) take(v *store.View, b *budget) bool {
	if b.matches == 0 || len(c.views) > 0 && int64(v.Size) > b.answer {
		return false
	}
	c.views = append(c.views, *v)
	b.matches--
	b.answer -= int64(v.Size)
	return true
}
