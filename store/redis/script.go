package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// Each script is a file of its own: its first line says what Redis must know of it (#!lua flags=…), its first comment
// names KEYS, ARGV and what it returns. A line "-- include: name" stands for the chunk lua/name.lua, which defines local
// functions and may include others; each is there once.
//
//go:embed lua/*.lua
var sources embed.FS

const includeMark = "-- include: "

// script is one that Redis can run.
type script struct {
	name, text, sum string
	// looks says that it writes nothing, reads that it changes nothing that time has not made due, repeats that it does no
	// harm to run it twice, makes that it may make once more what was lost (see emptied.go).
	looks, reads, repeats, makes bool
}

// newScript puts a script together. It panics if it cannot, since scripts are part of the program.
func newScript(name string) *script {
	head, body, _ := strings.Cut(source(name), "\n")
	if !strings.HasPrefix(head, "#!lua") {
		panic(fmt.Sprintf("redis: script %s begins with %q, not with #!lua", name, head))
	}
	seen := make(map[string]bool)
	looks := strings.Contains(head, "no-writes")
	text := head + "\n" + attempt + expand(body, seen) + strings.Repeat(closing, len(seen)) + rescue(name, looks)
	return &script{name: name, text: text, sum: redis.NewScript(text).Hash(), looks: looks, reads: looks, makes: seen["record"]}
}

// newRepeatable is a script that changes nothing more when it is run again.
func newRepeatable(name string) *script {
	sc := newScript(name)
	sc.repeats = true
	return sc
}

func source(name string) string {
	b, err := sources.ReadFile(path.Join("lua", name+".lua"))
	if err != nil {
		panic(fmt.Sprintf("redis: script %s: %v", name, err))
	}
	return string(b)
}

// What comes after a chunk is a function inside it. To make a closure, Lua walks through all variables of the function
// around it that others hold already: with a hundred of them in one function a script took 50 microseconds to begin.
const (
	opening = "return (function()\n"
	closing = "end)()\n"
)

// The body of a script is a function that is called so that its failure can be dealt with, before it is the script's.
const attempt = "local done, result = pcall(function()\n"

// rescue is what follows the body of a script: what is done should it fail. Redis keeps what a script has written before.
func rescue(name string, looks bool) string {
	before, failed := "HALF ", "failed"
	if kind, _, _ := strings.Cut(name, "_"); kind == "queue" {
		failed = "queue_failed"
	}
	if looks {
		before, failed = "", "failed"
	}
	return "end)\nif done then\n  return result\nend\n" +
		"local BEFORE, KINDS = '" + before + "', '" + kindsOf(name) + "'\n" + source(failed) + source("wrong_types")
}

// namedParts is of how many partitions the keys are named that are wrong.
const namedParts = 64

// kindsOf are the types of a script's keys, a letter each: h hash, s stream, z sorted set, l list, t string, - none.
func kindsOf(name string) string {
	switch kind, what, _ := strings.Cut(name, "_"); {
	case kind == "queue":
		return queueKinds
	case kind == "kv":
		return "hhzthh"
	case name == "log_append":
		return "hhz-" + strings.Repeat("sh", namedParts)
	case name == "log_sweep" || name == "log_drop":
		return "hhz" + strings.Repeat("sh", namedParts)
	case name == "log_seek":
		return "hh"
	case kind == "log" && what != "configure":
		return "hsh"
	case kind == "fence" || kind == "log":
		return "h"
	case kind == "move":
		return "z"
	}
	return ""
}

// expand replaces the lines that include chunks.
func expand(text string, seen map[string]bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), includeMark)
		if !ok {
			b.WriteString(line)
			continue
		}
		if !seen[name] {
			seen[name] = true
			b.WriteString(expand(source(name), seen))
			b.WriteString(opening)
		}
	}
	return b.String()
}

// call runs a script and returns its reply, or the error that its refusal or the failure to run it stands for.
// Arguments are texts, bytes and integers.
func (s *Store) call(ctx context.Context, sc *script, keys []string, args ...any) (*reply, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.made(ctx, sc, keys, store.Acks{}, args)
}

// made makes a call that has begun.
func (s *Store) made(ctx context.Context, sc *script, keys []string, acks store.Acks, args []any) (*reply, error) {
	c, err := s.run(ctx, sc, keys, acks, args)
	if lost(err, c) && (sc.reads || sc.repeats) && ctx.Err() == nil {
		c, err = s.run(ctx, sc, keys, acks, args)
	}
	if err != nil {
		return nil, fault(err, c != nil && c.written.Load() && !sc.reads)
	}
	if err := c.enough(); err != nil {
		return nil, err
	}
	list, ok := c.cmd.Val().([]any)
	if !ok {
		list = []any{c.cmd.Val()}
	}
	return newReply(sc, list), nil
}

// lost says that the answer to what was written did not come.
func lost(err error, c *call) bool {
	answer := redis.Error(nil)
	return err != nil && c != nil && c.written.Load() && !errors.As(err, &answer)
}

const (
	// redirects bounds how often a call is tried. Before the n-th time after the first it waits n times redirectAfter.
	redirects     = 6
	redirectAfter = 10 * time.Millisecond
)

// run runs a script on the server that has its keys, and sends it on as servers say. The call is nil if it was not made,
// or was made only on servers that refused it.
func (s *Store) run(ctx context.Context, sc *script, keys []string, acks store.Acks, args []any) (*call, error) {
	var named *server // by the one that was asked last
	for try := 1; ; try++ {
		var c *call // those before it were refused
		v, err := named, error(nil)
		if v == nil {
			v, err = s.topology.route(ctx, keys[0])
		}
		if err == nil {
			c, err = s.runOn(ctx, v, sc, keys, acks, args)
		}
		addr, once, sent := redirection(err)
		switch {
		case err == nil || try == redirects:
			return c, err
		case once:
			if other := s.topology.at(addr); other != nil {
				if t := timeIn(args); t != nil {
					t.server = other
				}
				return s.eval(ctx, other, []any{"asking"}, sc.text, "eval", keys, acks, args)
			}
		case sent:
			s.topology.failed()
			named = s.topology.at(addr)
			if named != nil {
				continue
			}
		case (errors.Is(err, errAnother) || errors.Is(err, net.ErrClosed)) && (c == nil || !c.written.Load()):
			continue // over a new connection
		case isForgotten(err):
			if err := v.remember(ctx, s.tagOf(keys[0])); err != nil {
				return nil, err
			}
			continue
		case isClock(err):
			if err := s.checkTime(ctx, v); err != nil {
				return nil, err
			}
			timeIn(args).longer()
			continue
		case redis.HasErrorPrefix(err, "TRYAGAIN"):
		default:
			if unserved(err) {
				s.topology.failed()
			}
			return c, err
		}
		named = nil
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try) * redirectAfter):
		}
	}
}

// unserved says that a server does not take calls, rather than that it refuses one.
func unserved(err error) bool {
	answer := redis.Error(nil)
	if !errors.As(err, &answer) {
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	word, _, _ := strings.Cut(answer.Error(), " ")
	return slices.Contains([]string{"CLUSTERDOWN", "READONLY", "MASTERDOWN", "LOADING"}, word)
}

// runOn runs a script by its sum, or by its text if the server does not know it.
func (s *Store) runOn(ctx context.Context, v *server, sc *script, keys []string, acks store.Acks, args []any) (*call, error) {
	v.attend()
	if len(args) > 1 {
		if m, ok := args[1].(*moment); ok {
			if m.tag != noTag && !sc.looks {
				if err := v.know(ctx, m.tag); err != nil {
					return nil, err
				}
			}
			m.to = v
		}
	}
	if t := timeIn(args); t != nil {
		t.server = v
	}
	c, err := s.eval(ctx, v, nil, sc.sum, "evalsha", keys, acks, args)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.eval(ctx, v, nil, sc.text, "eval", keys, acks, args)
	}
	return c, err
}

// timed runs a script whose first two arguments are the time, see lua/clock.lua, and which returns queue time first.
func (s *Store) timed(ctx context.Context, sc *script, keys []string, args ...any) (*reply, int64, error) {
	return s.timedAcked(ctx, sc, keys, store.Acks{}, args...)
}

// timedAcked is timed for a call that waits for copies.
func (s *Store) timedAcked(ctx context.Context, sc *script, keys []string, acks store.Acks, args ...any) (*reply, int64, error) {
	if err := s.enter(); err != nil {
		return nil, 0, err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m := &moment{seen: &s.seen, tag: s.tagOf(keys[0]), makes: sc.makes}
	r, err := s.made(ctx, sc, keys, acks, append([]any{s.timeArgument(), m}, args...))
	if err != nil {
		return nil, 0, err
	}
	r.bump = m.bump.Load()
	now := r.int()
	for seen := s.seen.Load(); seen < now && !s.seen.CompareAndSwap(seen, now); {
		seen = s.seen.Load()
	}
	return r, now, nil
}

// timeArgument is what a script gets of the time.
func (s *Store) timeArgument() any {
	if s.o.Now == nil {
		return &timeOf{store: s}
	}
	return strconv.FormatInt(s.now(), 10) + " " + strconv.FormatInt(int64(s.ahead()), 10)
}

// timeIn is that in the arguments of a script, nil if it is not there.
func timeIn(args []any) *timeOf {
	if len(args) == 0 {
		return nil
	}
	t, _ := args[0].(*timeOf)
	return t
}

// eval sends a script or its sum to a server, after what is to go before it.
func (s *Store) eval(ctx context.Context, v *server, before []any, what, command string, keys []string, acks store.Acks, args []any) (*call, error) {
	c := &call{ctx: ctx, acks: acks, before: before, done: make(chan struct{})}
	list := make([]any, 0, 3+len(keys)+len(args))
	list = append(list, command, &witness{what, &c.written}, len(keys))
	for _, k := range keys {
		list = append(list, k)
	}
	c.cmd = redis.NewCmd(ctx, append(list, args...)...)
	c.size = sizeOf(args)
	if acks.All {
		return c, v.acked.do(c)
	}
	return c, v.lanes.do(c)
}

// witness is an argument that notes when it is written to a connection. Until then a call that failed has done nothing.
type witness struct {
	text    string
	written *atomic.Bool
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (w *witness) MarshalBinary() ([]byte, error) {
	w.written.Store(true)
	return []byte(w.text), nil
}

// reply is what a script returned: a list that is read from its front. A value of another kind than expected is kept in
// mind and said by done.
type reply struct {
	script *script
	items  []any
	failed *error // shared with the lists inside
	// commit is the number of the commit that a call to a queue made, 0 if it changed nothing; bump is what the call was told.
	commit, bump int64
}

func newReply(sc *script, items []any) *reply {
	return &reply{script: sc, items: items, failed: new(error)}
}

func (r *reply) next() any {
	if len(r.items) == 0 {
		r.fail("another value", nil)
		return nil
	}
	v := r.items[0]
	r.items = r.items[1:]
	return v
}

func (r *reply) fail(want string, got any) {
	if *r.failed == nil {
		*r.failed = fmt.Errorf("%w: script %s returned %T, expected %s", store.ErrCorrupt, r.script.name, got, want)
	}
}

// more says that there are values left.
func (r *reply) more() bool { return len(r.items) > 0 && *r.failed == nil }

// int reads a number, which may be written as a text.
func (r *reply) int() int64 {
	switch v := r.next().(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			r.fail("a number", v)
		}
		return n
	default:
		r.fail("a number", v)
		return 0
	}
}

// text reads a text, or bytes.
func (r *reply) text() string {
	t, ok := r.maybe()
	if !ok {
		r.fail("a text", nil)
	}
	return t
}

// maybe reads a text, or false where Lua has false or nil.
func (r *reply) maybe() (string, bool) {
	switch v := r.next().(type) {
	case nil:
		return "", false
	case string:
		return v, true
	default:
		r.fail("a text", v)
		return "", true
	}
}

// list reads a list.
func (r *reply) list() *reply {
	v := r.next()
	l, ok := v.([]any)
	if !ok {
		r.fail("a list", v)
	}
	return &reply{script: r.script, items: l, failed: r.failed}
}

// done says whether everything was as expected.
func (r *reply) done() error { return *r.failed }
