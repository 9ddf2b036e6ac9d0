package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Cooling-off times are kept in the key-value part of the store, one pair for each: cool/<what>/<tenant>/<name>, the tenant
// path-escaped. They are of a name and not of a generation: that a queue was deleted is one of the things they are for.
const (
	coolPrefix  = "cool/"
	coolVersion = 1
	// coolPause is the least time between two looks for those that have ended.
	coolPause = time.Minute
	// coolForget is how many are removed before queues have their turn.
	coolForget = 100
)

func coolKey(ref Ref, what string) string {
	return coolPrefix + what + "/" + url.PathEscape(ref.Tenant) + "/" + ref.Name
}

// storedCool is the JSON of a pair.
type storedCool struct {
	Version int `json:"version"`
	// Until is when it has ended, by the wall clock as that was set when it began; Ends is that in queue time, by which it
	// goes. Earlier versions did not write Ends.
	Until time.Time     `json:"until"`
	Ends  store.Instant `json:"ends,omitempty"`
}

// cooling is what an engine knows of cooling-off times.
type cooling struct {
	// poke tells the janitor to remove those that have ended; due rings when it is time for that.
	poke chan struct{}
	due  *alarm
}

func (c *cooling) init() {
	c.poke = make(chan struct{}, 1)
	c.due = newAlarm(c.nudge)
}

func (c *cooling) nudge() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Cool begins a cooling-off time of a name, unless one runs: began says which. what tells those of one name apart, in
// letters, digits, '_' and '-'. There need not be a queue of the name, and deleting it changes nothing. It is durable on
// return, and of all engines on a store one begins it.
func (e *Engine) Cool(ctx context.Context, ref Ref, what string, d time.Duration) (began bool, err error) {
	if err := firstError(validCool(ref, what), validDuration("duration", d, time.Millisecond, MaxDuration)); err != nil {
		return false, err
	}
	key := coolKey(ref, what)
	for {
		ends, revision, err := e.readCool(ctx, key)
		if err != nil {
			return false, err
		}
		now := e.store.Clock()
		if ends > now.Now {
			return false, nil
		}
		value, err := json.Marshal(storedCool{coolVersion, now.Wall.Add(d), now.Now + instants(d)})
		if err != nil {
			return false, fromStore(fmt.Errorf("encode the cooling-off time %s: %w", key, err))
		}
		_, err = e.store.Put(ctx, key, value, revision)
		if errors.Is(err, store.ErrConflict) {
			continue // another one began it, or it was removed
		}
		if err != nil {
			return false, fromStore(fmt.Errorf("write the cooling-off time %s: %w", key, err))
		}
		e.clock.soonest(e.cooling.due, e.clock.in(max(d, coolPause)))
		return true, nil
	}
}

// Cooling says whether a cooling-off time of the name runs: see [Engine.Cool].
func (e *Engine) Cooling(ctx context.Context, ref Ref, what string) (bool, error) {
	if err := validCool(ref, what); err != nil {
		return false, err
	}
	ends, _, err := e.readCool(ctx, coolKey(ref, what))
	if err != nil {
		return false, err
	}
	return ends > e.store.Clock().Now, nil
}

func validCool(ref Ref, what string) *Error {
	return firstError(validRef(ref), validWord("what", "What is cooling off", what))
}

// readCool gives revision 0 when there is none.
func (e *Engine) readCool(ctx context.Context, key string) (ends store.Instant, revision store.Revision, err error) {
	pair, err := e.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fromStore(fmt.Errorf("read the cooling-off time %s: %w", key, err))
	}
	ends, err = decodeCool(pair, e.store.Clock())
	if err != nil {
		return 0, 0, fromStore(err)
	}
	return ends, pair.Revision, nil
}

func decodeCool(p store.Pair, now store.Clock) (ends store.Instant, err error) {
	var s storedCool
	if err := json.Unmarshal(p.Value, &s); err != nil {
		return 0, fmt.Errorf("%w: cooling-off time %q: %w", store.ErrCorrupt, p.Key, err)
	}
	if s.Version != coolVersion {
		return 0, fmt.Errorf("%w: cooling-off time %q has version %d, this program knows %d",
			store.ErrVersion, p.Key, s.Version, coolVersion)
	}
	return instantOf(now, s.Ends, s.Until), nil
}

// errEnough ends a listing.
var errEnough = errors.New("enough for now")

// forgetCooled removes those that have ended, some at a time, and comes again when more will have. One that cannot be read
// stays: whoever asks for it is told.
func (e *Engine) forgetCooled(ctx context.Context) {
	now, next, removed := e.store.Clock(), MaxDuration, 0
	err := e.eachPair(ctx, coolPrefix, pageSize, func(p store.Pair) error {
		ends, err := decodeCool(p, now)
		if err != nil {
			return nil
		}
		if ends > now.Now {
			next = min(next, time.Duration(ends-now.Now)*time.Millisecond)
			return nil
		}
		if removed++; removed > coolForget {
			return errEnough
		}
		err = e.store.Delete(ctx, p.Key, p.Revision)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
			return nil // it was begun again, or another engine was faster
		}
		return err
	})
	switch {
	case errors.Is(err, errEnough):
		e.cooling.nudge()
	case err != nil:
		e.clock.soonest(e.cooling.due, e.clock.in(coolPause))
	case next < MaxDuration:
		e.clock.soonest(e.cooling.due, e.clock.in(max(next, coolPause)))
	}
}
