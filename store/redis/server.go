package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lookEvery is how often a server that is used is asked who it is and who follows it.
	lookEvery = time.Second
	// unusedAfter is after how long without a call a server is not asked any more.
	unusedAfter = time.Minute
)

var (
	// errAnother is of a connection that leads to another process than those before it.
	errAnother = errors.New("the server is another one than before")
	// errStarting is of a server that still reads its files.
	errStarting = errors.New("the server is starting; repeat later")
	// errReplica is of one that leads to a replica.
	errReplica = errors.New("the server is a replica; name the master, or the sentinels that know it")
)

// server is a Redis that takes calls: the only one, the one that sentinels name, or one master of a cluster. It may be
// another process from one connection to the next, see fence.go.
type server struct {
	store  *Store
	name   string // for people
	client *redis.Client
	pulse  *pulse
	lanes  lanes
	acked  lanes // for calls that wait for replicas
	// asking makes a client that is for asking it alone.
	asking func() *redis.Client

	// bumps are, by tag, what calls to it say; unknownBump before it was asked.
	bumps [allTags]atomic.Int64
	// correction makes elapsed time out of its clock, in milliseconds, once timed; looked is when calls last looked after it,
	// see elapsed.go.
	correction atomic.Int64
	timed      atomic.Bool
	looked     time.Duration // guarded by elapsedTime.mu
	// replicas is how many keep up.
	replicas atomic.Int32
	// promise is what its settings are worth; nil before it was asked.
	promise atomic.Pointer[promise]
	// hasWaitAOF says that it knows the command WAITAOF.
	hasWaitAOF atomic.Bool

	// identity is of the process that was spoken to last, nil while it takes no changes. expected is of another one that a
	// connection has led to since, nil if none has: the next connection that leads there takes its side.
	identity, expected atomic.Pointer[identity]
	// refuses is why it takes no changes while identity is nil; said are the warnings that still hold.
	refuses  atomic.Pointer[error]
	said     sync.Map
	watching atomic.Bool
	used     atomic.Int64 // when it was used last, in nanoseconds of the pulse

	meeting sync.Mutex // held while a connection finds out where it leads to
	knowing sync.Mutex // held while a call finds out what a tag's bump is
}

// asker is a connection or a client.
type asker interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// promise is what an acknowledgement survives on a server, and how that compares: less is worse.
type promise struct {
	rank int
	text string
	aof  bool
	// least is how many replicas the server wants before it takes changes, and short whether it has fewer.
	least int
	short bool
}

func newServer(s *Store, name string) *server {
	v := &server{store: s, name: name, pulse: newPulse(s.o.Silence)}
	v.lanes.init(v, ordinaryLanes)
	v.acked.init(v, ackedLanes)
	for i := range v.bumps {
		v.bumps[i].Store(unknownBump)
	}
	return v
}

// attend looks after the server as long as it is used.
func (v *server) attend() {
	v.used.Store(int64(v.pulse.now().Sub(v.pulse.start)))
	if v.watching.Load() || !v.watching.CompareAndSwap(false, true) {
		return
	}
	v.store.work.Go(func() {
		client := v.asking()
		defer client.Close() //nolint:errcheck // nothing is sent over it
		v.watch(v.store.life, client)
		v.forget()
		v.watching.Store(false)
	})
}

// watch asks the server now and then whether it is there, who it is and who follows it, until ctx ends or it is not used
// any more.
func (v *server) watch(ctx context.Context, client *redis.Client) {
	tick := time.NewTicker(v.pulse.silence / pulseParts)
	defer tick.Stop()
	looked, tag := v.pulse.now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := v.pulse.now()
		if now.Sub(v.pulse.start)-time.Duration(v.used.Load()) > unusedAfter && v.store.topology.left(v) {
			return
		}
		if !v.pulse.silent.Load() && v.pulse.quiet() < v.pulse.silence/2 && now.Sub(looked) < lookEvery {
			continue // others have heard of it
		}
		looked, tag = now, v.nextRecord(tag)
		holds := true
		v.pulse.ask(ctx, func(ctx context.Context) error {
			at := reading{before: v.store.elapsed.now()}
			text, err := client.Info(ctx).Result()
			if err != nil {
				return err
			}
			at.after = v.store.elapsed.now()
			facts := parseInfo(text)
			v.look(facts)
			v.lookAtClock(ctx, at, facts)
			if v.identity.Load() != nil && v.promise.Load() != nil {
				if err := v.judge(ctx, client, facts); err != nil { // its settings may have been changed
					return err
				}
			}
			holds, err = v.recordHolds(ctx, client, tag)
			return err
		})
		if !holds {
			_ = v.remember(ctx, tag) // if it fails, the next look or call does it again
		}
	}
}

// nextRecord is the next tag after one whose record is on the server, as far as is known.
func (v *server) nextRecord(tag int) int {
	for range allTags {
		if tag = (tag + 1) % allTags; v.bumps[tag].Load() != unknownBump {
			break
		}
	}
	return tag
}

// look notes what the server said of itself on a connection of which nothing else depends.
func (v *server) look(facts map[string]string) {
	v.replicas.Store(keepingUp(facts))
	here, have := identityOf(facts), v.identity.Load()
	switch {
	case have == nil:
	case facts["role"] != "master":
		v.forget()
		v.pulse.hangUp()
	case !have.same(here) && v.expected.CompareAndSwap(nil, &here):
		v.pulse.hangUp() // the next connection finds out
	}
}

// forget lets the next call find out anew which process it goes to: the server takes no calls, or it is not known whether
// it always did.
func (v *server) forget() {
	if v.store.endpoint.kind == cluster { // else the next connection finds out
		v.doubt(errReplica)
	}
}

// doubt has changes refused, for a reason, until it was found out by one of them which process it goes to.
func (v *server) doubt(why error) {
	v.refuses.Store(&why)
	v.identity.Store(nil)
	for i := range v.bumps {
		v.bumps[i].Store(unknownBump)
	}
}

// maxLag is up to how many seconds ago a replica said something last that keeps up; each does so every second.
const maxLag = 2

// keepingUp counts the replicas of a server that do. Its lines are like slave0:ip=…,port=…,state=online,offset=…,lag=0.
func keepingUp(facts map[string]string) int32 {
	n := int32(0)
	for i := range 1000 {
		line, ok := facts["slave"+strconv.Itoa(i)]
		if !ok {
			break
		}
		_, lag, _ := strings.Cut(line, ",lag=")
		if l, err := strconv.Atoi(lag); err == nil && l <= maxLag && strings.Contains(line, "state=online") {
			n++
		}
	}
	return n
}

// meet is called for each new connection before it is used, and finds out which process it leads to. If it is another one
// than those before it, what may have been lost is fenced off, and all other connections are closed, so that no call
// takes one process for the other.
func (v *server) meet(ctx context.Context, c *redis.Conn) error {
	text, err := c.Info(ctx).Result()
	if err != nil {
		return err
	}
	facts := parseInfo(text)
	if facts["redis_mode"] == "sentinel" {
		return nil
	}
	if facts["loading"] == "1" { // nor does it say yet what it promises
		return errStarting
	}
	if facts["role"] != "master" {
		v.forget()
		if v.store.endpoint.kind == cluster {
			return nil // it is asked for the cluster's layout only
		}
		return errReplica
	}
	v.meeting.Lock()
	defer v.meeting.Unlock()
	here, have, expected := identityOf(facts), v.identity.Load(), v.expected.Load()
	switch {
	case have != nil && have.same(here):
		v.expected.Store(nil)
		return nil
	case have != nil && (expected == nil || !expected.same(here)):
		v.expected.Store(&here)
		v.pulse.hangUp()
		return errAnother
	}
	if err := v.judge(ctx, c, facts); err != nil {
		return err
	}
	waitAOF := redis.NewSliceCmd(ctx, "command", "info", "waitaof")
	err = c.Process(ctx, waitAOF)
	v.hasWaitAOF.Store(err == nil && len(waitAOF.Val()) == 1 && waitAOF.Val()[0] != nil)
	if err := v.fence(ctx, c, here); err != nil {
		if !refusesChanges(err) {
			return err
		}
		v.doubt(err) // whoever only looks may do so
		return nil
	}
	v.replicas.Store(keepingUp(facts))
	v.identity.Store(&here)
	v.expected.Store(nil)
	return nil
}

// refusesChanges says that a server takes no changes for now.
func refusesChanges(err error) bool {
	return redis.HasErrorPrefix(err, "NOREPLICAS") || redis.HasErrorPrefix(err, "CLUSTERDOWN") || redis.HasErrorPrefix(err, "MISCONF")
}

// judge finds out what the server promises now, and warns of what is new.
func (v *server) judge(ctx context.Context, c asker, facts map[string]string) error {
	settings := redis.NewMapStringStringCmd(ctx, "config", "get", "appendfsync", "min-replicas-to-write")
	if err := c.Process(ctx, settings); err == nil {
		maps.Copy(facts, settings.Val())
	} else if answer := redis.Error(nil); !errors.As(err, &answer) {
		return err // managed servers may refuse it: then the promise says less
	}
	p, warnings, err := judge(facts, v.store.endpoint.kind)
	have := v.promise.Load()
	if err != nil {
		if have == nil {
			return &unfitError{err}
		}
		// One that took the place of another, or was changed, is used all the same: there is no other.
		warnings = append(warnings, err.Error())
	}
	v.promise.Store(&p)
	v.said.Range(func(w, _ any) bool {
		if text, _ := w.(string); !slices.Contains(warnings, text) {
			v.said.Delete(w) // if it comes back, that is news
		}
		return true
	})
	for _, w := range warnings {
		if _, said := v.said.LoadOrStore(w, nil); !said {
			v.store.o.Warning(fmt.Sprintf("Redis at %s: %s", v.name, w))
		}
	}
	return nil
}
