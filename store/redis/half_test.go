package redis

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

// halves is a store of which calls are made to fail half-way: commands are denied to its user, or keys are of a wrong type for
// a moment. Redis keeps what a script has written before it fails.
type halves struct {
	*testing.T
	*Store
	clock *storetest.Clock
	admin *redis.Client
	next  store.QueueID // of the last queue
}

func newHalves(t *testing.T) *halves {
	t.Helper()
	own := ownServer(t)
	h := &halves{T: t, clock: storetest.NewClock(), admin: own.client}
	h.acl("on", ">secret", "~*", "&*", "+@all")
	h.Store = open(t, Options{URL: strings.Replace(own.url, "redis://", "redis://half:secret@", 1), Now: h.clock.Now})
	return h
}

func (h *halves) acl(rules ...any) {
	h.Helper()
	if err := h.admin.Do(h.Context(), append([]any{"acl", "setuser", "half"}, rules...)...).Err(); err != nil {
		h.Fatalf("ACL SETUSER %v: %v", rules, err)
	}
}

// trouble makes calls fail until it is ended.
type trouble struct {
	name  string
	begin func(*halves, [2]store.QueueID) (end func())
}

// writing are the commands with which scripts of queues change something.
var writing = []string{
	"hset", "hdel", "zadd", "zrem", "zremrangebyscore", "zremrangebyrank", "xadd", "xdel", "unlink", "rpush", "ltrim", "expire", "spublish",
}

func denied(command string) trouble {
	return trouble{"without " + command, func(h *halves, _ [2]store.QueueID) func() {
		h.acl("-" + command)
		return func() { h.acl("+" + command) }
	}}
}

// spoiled has a key of one of the queues be a string for a moment.
func spoiled(which int, letter string) trouble {
	return trouble{fmt.Sprintf("key %s of queue %d", letter, which), func(h *halves, of [2]store.QueueID) func() {
		key := part{Store: h.Store}.keysOf(of[which])[slices.Index(queueKeys, letter)]
		aside := strings.Replace(key, "}q", "}aside", 1)
		there := h.admin.Rename(h.Context(), key, aside).Err() == nil
		if err := h.admin.Set(h.Context(), key, "x", 0).Err(); err != nil {
			h.Fatal(err)
		}
		return func() {
			if h.admin.Type(h.Context(), key).Val() == "string" {
				h.admin.Del(h.Context(), key)
			} else {
				h.admin.Del(h.Context(), aside) // it was made anew
				there = false
			}
			if there {
				if err := h.admin.Rename(h.Context(), aside, key).Err(); err != nil {
					h.Fatal(err)
				}
			}
		}
	}}
}

// troubles are all.
func troubles() []trouble {
	var all []trouble
	for _, command := range writing {
		all = append(all, denied(command))
	}
	for which := range 2 {
		for _, letter := range queueKeys {
			all = append(all, spoiled(which, letter))
		}
	}
	return all
}

// halfQueues are settings of queues, by name.
var halfQueues = map[string]store.Settings{
	"plain":   {Revision: 1},
	"limited": {Revision: 1, MaxMessages: 100, MaxReceives: 3, DedupWindow: time.Hour, History: 5, Retention: 24 * time.Hour},
	"levels":  {Revision: 1, Levels: 3, DedupWindow: time.Hour},
	"fifo":    {Revision: 1, Mode: store.FIFO, DedupWindow: time.Hour, MaxReceives: 3, History: 5},
	"fair":    {Revision: 1, Mode: store.Fair, GroupInFlight: 2},
}

// halfCall is a call that is made in trouble and then again. leaves are how often each message of the source is there after that,
// unless once.
type halfCall struct {
	do     func(h *halves, q [2]store.QueueID, set store.Settings, leased store.ClaimResult) error
	leaves map[string]int
}

var (
	halfOnce = &store.Once{Key: [16]byte{1}, Fingerprint: [16]byte{1}, Window: time.Hour}
	halfNew  = []string{"n0", "n1", "n2"}
)

func halfCalls() map[string]halfCall {
	settle := func(target store.Target, after time.Duration) func(*halves, [2]store.QueueID, store.Settings, store.ClaimResult) error {
		return func(h *halves, q [2]store.QueueID, _ store.Settings, leased store.ClaimResult) error {
			p := store.SettleParams{Queue: q[0], Revision: 1}
			for _, m := range leased.Messages {
				p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: leased.Token, Target: target, After: after, Reason: "r"})
			}
			_, err := h.Settle(h.Context(), p)
			return err
		}
	}
	none := func(bodies ...string) map[string]int {
		all := make(map[string]int)
		for _, b := range bodies {
			all[b] = 0
		}
		return all
	}
	purge := func(sel store.Selection) func(*halves, [2]store.QueueID, store.Settings, store.ClaimResult) error {
		return func(h *halves, q [2]store.QueueID, _ store.Settings, _ store.ClaimResult) error {
			_, err := h.Purge(h.Context(), q[0], sel)
			return err
		}
	}
	move := func(states store.States) func(*halves, [2]store.QueueID, store.Settings, store.ClaimResult) error {
		return func(h *halves, q [2]store.QueueID, _ store.Settings, _ store.ClaimResult) error {
			_, err := h.Move(h.Context(), store.MoveParams{Source: q[0], Target: q[1], Select: store.Selection{States: states}, Limit: 100, Label: "l"})
			return err
		}
	}
	return map[string]halfCall{
		"send": {do: func(h *halves, q [2]store.QueueID, set store.Settings, _ store.ClaimResult) error {
			p := store.SendParams{Queue: q[0], Revision: 1, Once: halfOnce}
			for i, body := range halfNew {
				p.Entries = append(p.Entries, h.entry(body, set))
				p.Entries[i].TTL = time.Duration(i) * 48 * time.Hour
			}
			_, err := h.Send(h.Context(), p)
			return err
		}},
		"send of what is deduplicated": {do: func(h *halves, q [2]store.QueueID, set store.Settings, _ store.ClaimResult) error {
			p := store.SendParams{Queue: q[0], Revision: 1}
			for i, body := range halfNew {
				p.Entries = append(p.Entries, h.entry(body, set))
				if set.DedupWindow > 0 {
					p.Entries[i].Dedup = store.DedupKey{byte(i + 1)}
				}
			}
			if set.DedupWindow == 0 {
				p.Once = halfOnce
			}
			_, err := h.Send(h.Context(), p)
			return err
		}},
		"claim": {do: func(h *halves, q [2]store.QueueID, _ store.Settings, _ store.ClaimResult) error {
			_, err := h.Claim(h.Context(), store.ClaimParams{Queue: q[0], Revision: 1, Max: 2, MaxBytes: 1 << 20, Visibility: time.Minute})
			return err
		}},
		"claim with an attempt": {do: func(h *halves, q [2]store.QueueID, _ store.Settings, _ store.ClaimResult) error {
			_, err := h.Claim(h.Context(), store.ClaimParams{
				Queue: q[0], Revision: 1, Max: 2, MaxBytes: 1 << 20, Visibility: time.Minute, Attempt: [16]byte{1}, AttemptWindow: time.Minute,
			})
			return err
		}},
		"ack":           {do: settle(store.Done, 0), leaves: none("m0", "m1")},
		"nack":          {do: settle(store.Ready, time.Hour)},
		"release":       {do: settle(store.Ready, 0)},
		"extend":        {do: settle(store.Leased, time.Hour)},
		"reject":        {do: settle(store.Dead, 0)},
		"purge":         {do: purge(store.Selection{}), leaves: none("m0", "m1", "m2", "m3", "m4", "m5")},
		"purge of some": {do: purge(store.Selection{States: store.StateReady}), leaves: none("m4", "m5")},
		"move of dead":  {do: move(store.StateDead)},
		"move of all":   {do: move(store.AnyState)},
		"configure": {do: func(h *halves, q [2]store.QueueID, set store.Settings, _ store.ClaimResult) error {
			set.Revision = 2
			if set.Mode == store.Standard {
				set.Mode, set.Levels = store.Fair, 0
			}
			set.GroupInFlight, set.History = 2, 3
			return h.Configure(h.Context(), q[0], set)
		}},
		"ends": {do: func(h *halves, q [2]store.QueueID, _ store.Settings, _ store.ClaimResult) error {
			h.clock.Advance(2 * time.Hour)
			_, err := h.Sweep(h.Context(), q[0])
			return err
		}},
	}
}

func (h *halves) entry(body string, set store.Settings) store.Entry {
	e := store.Entry{Payload: []byte(body), Size: uint32(len(body))}
	if set.Mode != store.Standard {
		e.Group = body
	}
	if set.Levels > 1 {
		e.Priority = 1
	}
	return e
}

// filled makes a queue with messages in every state: m0 and m1 are leased, m2 is delayed, m3 is dead, m4 and m5 are ready.
func (h *halves) filled(set store.Settings) ([2]store.QueueID, store.ClaimResult) {
	h.Helper()
	ctx := h.Context()
	h.next += 2
	q := [2]store.QueueID{h.next - 1, h.next}
	for _, id := range q {
		if err := h.Configure(ctx, id, set); err != nil {
			h.Fatal(err)
		}
	}
	p := store.SendParams{Queue: q[0], Revision: 1}
	for i := range 6 {
		p.Entries = append(p.Entries, h.entry(fmt.Sprintf("m%d", i), set))
	}
	if _, err := h.Send(ctx, p); err != nil {
		h.Fatal(err)
	}
	claim := func(n int) store.ClaimResult {
		got, err := h.Claim(ctx, store.ClaimParams{Queue: q[0], Revision: 1, Max: n, MaxBytes: 1 << 20, Visibility: time.Hour})
		if err != nil || len(got.Messages) != n {
			h.Fatalf("claim %d: got %d, %v", n, len(got.Messages), err)
		}
		return got
	}
	leased, others := claim(2), claim(2)
	_, err := h.Settle(ctx, store.SettleParams{Queue: q[0], Revision: 1, Items: []store.SettleItem{
		{Seq: others.Messages[0].Seq, Token: others.Token, Target: store.Ready, After: 30 * time.Minute, Reason: "later"},
		{Seq: others.Messages[1].Seq, Token: others.Token, Target: store.Dead, Reason: "bad"},
	}})
	if err != nil {
		h.Fatal(err)
	}
	return q, leased
}

// sound compares counts with messages, and returns how often each is there.
func (h *halves) sound(what string, ids ...store.QueueID) map[string]int {
	h.Helper()
	found := make(map[string]int)
	for _, q := range ids {
		stats, err := h.Stats(h.Context(), q)
		if err != nil {
			h.Errorf("%s: Stats(%d) = %v, want nil", what, q, err)
			return nil
		}
		res, err := h.Scan(h.Context(), store.ScanParams{Queue: q, Limit: 100, MaxBytes: 1 << 20})
		if err != nil {
			h.Errorf("%s: Scan(%d) = %v, want nil", what, q, err)
			return nil
		}
		var counted store.Stats
		for _, v := range res.Views {
			found[string(v.Payload)]++
			counted.Bytes += int64(v.Size)
			switch v.State {
			case store.StateReady:
				counted.Ready++
			case store.StateLeased:
				counted.Leased++
			case store.StateDelayed:
				counted.Delayed++
			case store.StateDead:
				counted.Dead++
			case store.AnyState: // no message is in it
			}
		}
		if stats.Ready != counted.Ready || stats.Leased != counted.Leased || stats.Delayed != counted.Delayed ||
			stats.Dead != counted.Dead || stats.Bytes != counted.Bytes {
			h.Errorf("%s: Stats(%d) = %+v, but there are %+v", what, q, stats, counted)
		}
	}
	return found
}

// drained takes all messages out of the queues, dead ones apart, and returns how often each came.
func (h *halves) drained(what string, ids [2]store.QueueID) map[string]int {
	h.Helper()
	got := make(map[string]int)
	h.clock.Advance(3 * time.Hour)
	for _, q := range ids {
		stats, err := h.Stats(h.Context(), q)
		if err != nil {
			h.Errorf("%s: Stats(%d) = %v, want nil", what, q, err)
			return got
		}
		for range 20 {
			res, err := h.Claim(h.Context(), store.ClaimParams{
				Queue: q, Revision: stats.Revision, Max: 10, MaxBytes: 1 << 20, Visibility: time.Hour,
			})
			if err != nil {
				h.Errorf("%s: Claim(%d) = %v, want nil", what, q, err)
				return got
			}
			if len(res.Messages) == 0 {
				break
			}
			p := store.SettleParams{Queue: q, Revision: stats.Revision}
			for _, m := range res.Messages {
				got[string(m.Payload)]++
				p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: res.Token, Target: store.Done})
			}
			if _, err := h.Settle(h.Context(), p); err != nil {
				h.Errorf("%s: Settle(%d) = %v, want nil", what, q, err)
				return got
			}
		}
		left, err := h.Stats(h.Context(), q)
		if err != nil || left.Ready+left.Leased+left.Delayed != 0 {
			h.Errorf("%s: after everything was consumed Stats(%d) = %+v, %v", what, q, left, err)
		}
	}
	return got
}

// halfShare is one of how many cases a run takes.
const halfShare = 8

// TestScriptsThatFailHalfWay makes calls fail in each way, and then again as they should be: nothing is lost or doubled, and
// counts, indexes and messages agree. A run takes some of the cases, all of them with DABBA_TORTURE=1.
func TestScriptsThatFailHalfWay(t *testing.T) {
	t.Parallel()
	h := newHalves(t)
	seed, whole := rand.Uint64(), os.Getenv("DABBA_TORTURE") != ""
	if n, err := strconv.ParseUint(os.Getenv("DABBA_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	calls := halfCalls()
	for _, kind := range slices.Sorted(maps.Keys(halfQueues)) {
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			for _, in := range troubles() {
				if t.Failed() {
					return
				}
				if whole || r.IntN(halfShare) == 0 {
					h.halfWay(kind+": "+name+" "+in.name, halfQueues[kind], calls[name], in)
				}
			}
		}
	}
}

// TestIndexesThatAreLostAreMadeAnew removes keys of queues that can be made of the others. Each call that then fails is made again.
func TestIndexesThatAreLostAreMadeAnew(t *testing.T) {
	t.Parallel()
	h := newHalves(t)
	for _, letter := range []string{"a", "l", "d", "z", "c"} {
		set := store.Settings{Revision: 1, Retention: 24 * time.Hour}
		q, leased := h.filled(set)
		h.admin.Del(h.Context(), part{Store: h.Store}.keysOf(q[0])[slices.Index(queueKeys, letter)])
		for try := range 3 {
			if err := errors.Join(h.Configure(h.Context(), q[0], set), h.inUse(q[0], leased)); err == nil {
				break
			} else if try == 2 {
				t.Errorf("calls on a queue of which key %s was removed: %v, want nil at last", letter, err)
			}
		}
		if _, err := h.Stats(h.Context(), q[0]); err != nil {
			t.Logf("without key %s: it is noticed late: %v", letter, err)
		}
		found := h.sound("without key "+letter, q[0])
		for _, body := range []string{"m2", "m3", "m4", "m5"} {
			if found[body] != 1 {
				t.Errorf("without key %s: message %s is there %d times, want once", letter, body, found[body])
			}
		}
		h.clock.Advance(3 * time.Hour)
		if _, err := h.Stats(h.Context(), q[0]); err != nil {
			t.Logf("without key %s: it is noticed when leases end: %v", letter, err)
		}
		h.drained("without key "+letter, q)
	}
}

// inUse makes some calls.
func (h *halves) inUse(q store.QueueID, leased store.ClaimResult) error {
	_, counted := h.Stats(h.Context(), q)
	_, claimed := h.Claim(h.Context(), store.ClaimParams{Queue: q, Revision: 1, Max: 1, MaxBytes: 100, Visibility: time.Minute})
	_, settled := h.Settle(h.Context(), store.SettleParams{
		Queue: q, Revision: 1, Items: []store.SettleItem{{Seq: leased.Messages[0].Seq, Token: leased.Token, Target: store.Done}},
	})
	return errors.Join(counted, claimed, settled)
}

func (h *halves) halfWay(what string, set store.Settings, call halfCall, in trouble) {
	h.Helper()
	q, leased := h.filled(set)
	end := in.begin(h, q)
	err := call.do(h, q, set, leased)
	end()
	if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) {
		h.Errorf("%s = %v, want ErrUnknown or ErrUnavailable", what, err)
	}
	if h.conclude(what, q); h.Failed() {
		return
	}
	after := h.sound(what, q[0], q[1])
	if err := call.do(h, q, set, leased); err != nil {
		h.Errorf("%s: again = %v, want nil (first %v)", what, err, err)
		return
	}
	h.conclude(what, q)
	again := h.sound(what+" and again", q[0], q[1])
	if err != nil && after["n0"]+after["n1"]+after["n2"] > 0 && errors.Is(err, store.ErrUnavailable) {
		h.Errorf("%s = %v, but was done", what, err)
	}
	want := map[string]int{"m0": 1, "m1": 1, "m2": 1, "m3": 1, "m4": 1, "m5": 1}
	if strings.Contains(what, "send") {
		for _, body := range halfNew {
			want[body] = 1
		}
	}
	maps.Copy(want, call.leaves)
	for body, n := range want {
		if again[body] != n {
			h.Errorf("%s and again: message %s is there %d times, want %d (the first call gave %v)", what, body, again[body], n, err)
		}
	}
	for body, n := range h.drained(what, q) {
		if n > 1 {
			h.Errorf("%s: message %s was consumed %d times", what, body, n)
		}
	}
}

// conclude ends the moves that are under way.
func (h *halves) conclude(what string, q [2]store.QueueID) {
	h.Helper()
	for range 3 {
		h.clock.Advance(10 * time.Second)
		if err := h.concludeMoves(h.Context()); err != nil {
			h.Errorf("%s: conclude the moves: %v", what, err)
			return
		}
		stats, err := h.Stats(h.Context(), q[0])
		if err != nil || stats.Moving == 0 {
			return
		}
	}
	h.Errorf("%s: a move is still under way", what)
}
