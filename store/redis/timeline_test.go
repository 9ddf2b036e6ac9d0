package redis

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

// history is a server that can be put back to what it was, as if a replica took its place that had not heard of the rest.
type history struct {
	*testing.T
	*Store
	url, prefix string
	clock       *storetest.Clock
	// second is another process.
	second *Store
}

func newHistory(t *testing.T) *history {
	t.Helper()
	url := serverURL(t)
	h := &history{T: t, url: url, prefix: freshPrefix(t, url), clock: storetest.NewClock()}
	h.Store, h.second = h.process(), h.process()
	return h
}

// process opens the store once more.
func (h *history) process() *Store {
	h.Helper()
	return open(h.T, Options{URL: h.url, Prefix: h.prefix, Now: h.clock.Now})
}

// kept is what the keys of a moment hold.
type kept map[string]string

// keep remembers all keys.
func (h *history) keep() kept {
	h.Helper()
	k := make(kept)
	for _, key := range h.all() {
		dump, err := h.client.Dump(h.Context(), key).Result()
		if err != nil {
			h.Fatalf("DUMP %s = %v, want nil", key, err)
		}
		k[key] = dump
	}
	return k
}

func (h *history) all() []string {
	h.Helper()
	keys, err := h.client.(*redis.Client).Keys(h.Context(), h.prefix+"*").Result()
	if err != nil {
		h.Fatal(err)
	}
	return keys
}

// back makes the keys hold again what they did, and tells the processes of a failover at a time.
func (h *history) back(k kept, bump int64, who ...*Store) {
	h.Helper()
	for _, key := range h.all() {
		if err := h.client.Del(h.Context(), key).Err(); err != nil {
			h.Fatal(err)
		}
	}
	for key, dump := range k {
		if err := h.client.Restore(h.Context(), key, 0, dump).Err(); err != nil {
			h.Fatalf("RESTORE %s = %v, want nil", key, err)
		}
	}
	for _, s := range who {
		tell(s, bump)
	}
}

// tell tells a process the bump of all tags.
func tell(s *Store, bump int64) {
	for tag := range allTags {
		for _, v := range s.topology.known() {
			v.bumps[tag].Store(bump)
		}
		s.newest(tag, bump)
	}
}

// Bumps are times of a server.
const (
	firstBump  = int64(1_800_000_000_000)
	secondBump = firstBump + 60_000
)

var allOfThem = func() []int {
	list := make([]int, allTags)
	for i := range list {
		list[i] = i
	}
	return list
}()

func (h *history) configure(q store.QueueID, settings store.Settings) {
	h.Helper()
	settings.Revision = 1
	if err := h.Configure(h.Context(), q, settings); err != nil {
		h.Fatalf("Configure(%d) = %v, want nil", q, err)
	}
}

func (h *history) send(s *Store, q store.QueueID, n int) store.Seq {
	h.Helper()
	r, err := s.Send(h.Context(), store.SendParams{Queue: q, Revision: 1, Entries: make([]store.Entry, n)})
	if err != nil || r.Count != n {
		h.Fatalf("Send of %d = %+v, %v; want them sent", n, r, err)
	}
	return r.First
}

func (h *history) claim(s *Store, q store.QueueID, n int) store.ClaimResult {
	h.Helper()
	r, err := s.Claim(h.Context(), store.ClaimParams{Queue: q, Revision: 1, Max: n, MaxBytes: 1, Visibility: time.Hour})
	if err != nil {
		h.Fatalf("Claim = %v, want nil", err)
	}
	return r
}

func (h *history) ack(s *Store, q store.QueueID, r store.ClaimResult) []store.Outcome {
	h.Helper()
	p := store.SettleParams{Queue: q, Revision: 1}
	for _, m := range r.Messages {
		p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done})
	}
	got, err := s.Settle(h.Context(), p)
	if err != nil {
		h.Fatalf("Settle = %v, want nil", err)
	}
	return got.Outcomes
}

func (h *history) wantLosses(s *Store, want Loss) {
	h.Helper()
	got, err := s.countLosses(h.Context(), allOfThem)
	if err != nil {
		h.Fatalf("countLosses = %v, want nil", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Fatalf("countLosses (-want +got):\n%s", diff)
	}
	if got, err = s.countLosses(h.Context(), allOfThem); err != nil || got != (Loss{}) {
		h.Fatalf("countLosses once more = %+v, %v; want nothing", got, err)
	}
}

const some = store.QueueID(5)

// A queue that lost what it gave out gives out none of it again: not the sequences of lost messages, nor the tokens of lost
// deliveries. It moves on once, whoever tells it.
func TestNothingIsGivenOutTwice(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.configure(some, store.Settings{})
	survived := h.send(h.Store, some, 2)
	held := h.claim(h.Store, some, 1)
	before := h.keep()
	lostClaim := h.claim(h.Store, some, 1)
	lostSend := h.send(h.Store, some, 3)
	h.back(before, firstBump, h.Store) // and not yet h.second

	r := h.claim(h.Store, some, 1)
	if len(r.Messages) != 1 || r.Messages[0].Seq != survived+1 {
		t.Fatalf("Claim after the failover gives %+v, want message %d", r.Messages, survived+1)
	}
	if r.Token <= lostClaim.Token+1<<20 {
		t.Errorf("the first token after the failover is %d, want one far above %d", r.Token, lostClaim.Token)
	}
	if got := h.ack(h.Store, some, lostClaim); !slices.Equal(got, []store.Outcome{store.Lost}) {
		t.Errorf("a receipt of a lost claim settles: outcomes %v, want that it is lost", got)
	}
	if got := h.ack(h.Store, some, held); !slices.Equal(got, []store.Outcome{store.Settled}) {
		t.Errorf("a receipt of before = outcomes %v, want that it is settled", got)
	}
	next := h.send(h.Store, some, 1)
	if next <= lostSend+1<<20 {
		t.Errorf("the first message after the failover has sequence %d, want one far above %d", next, lostSend)
	}
	for seq := lostSend; seq < lostSend+3; seq++ {
		if v, err := h.Lookup(t.Context(), some, some, seq); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Lookup of lost message %d = %+v, %v; want %v", seq, v, err, store.ErrNotFound)
		}
	}
	for _, s := range []*Store{h.second, h.Store, h.second} { // one that knows of it, one that does not
		if got := h.send(s, some, 1); got != next+1 {
			t.Errorf("the next message has sequence %d, want %d", got, next+1)
		}
		next++
	}
	tell(h.second, firstBump)
	if got := h.send(h.second, some, 1); got != next+1 {
		t.Errorf("told of the same failover once more a queue goes on with sequence %d, want %d", got, next+1)
	}
	tell(h.second, secondBump)
	if got := h.send(h.second, some, 1); got < next+1<<20 {
		t.Errorf("told of the next failover a queue goes on with sequence %d, want one far above %d", got, next)
	}
}

// What is made for looking at also brings the queue into the new time line, and a queue that was lost as a whole and is made
// again begins beyond the old one.
func TestQueueIsMadeAgain(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	before := h.keep()
	h.configure(some, store.Settings{})
	lost := h.send(h.Store, some, 1)
	token := h.claim(h.Store, some, 1).Token
	h.back(before, firstBump, h.Store)
	h.configure(some, store.Settings{})
	if got := h.send(h.Store, some, 1); got <= lost+1<<20 {
		t.Errorf("the first message of the queue that was made again has sequence %d, want one far above %d", got, lost)
	}
	if got := h.claim(h.Store, some, 1).Token; got <= token+1<<20 {
		t.Errorf("the first token of the queue that was made again is %d, want one far above %d", got, token)
	}
}

// A move of the new time line is not taken for one that the target heard of in the old one.
func TestLostMoveIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	const target = store.QueueID(6)
	h.configure(some, store.Settings{})
	h.configure(target, store.Settings{})
	h.send(h.Store, some, 2)
	before := h.keep()
	move := func(seq store.Seq) {
		t.Helper()
		p := store.MoveParams{Source: some, Target: target, Limit: 10, Select: store.Selection{Seqs: []store.Seq{seq}}}
		if r, err := h.Move(t.Context(), p); err != nil || r.Moved != 1 {
			t.Fatalf("Move = %+v, %v; want one message moved", r, err)
		}
	}
	move(1)
	// The source loses it, the target does not: they are on different servers.
	after, tag := h.keep(), "{06}"
	for key := range before {
		if strings.Contains(key, tag) {
			delete(before, key)
		}
	}
	for key, dump := range after {
		if strings.Contains(key, tag) {
			before[key] = dump
		}
	}
	h.back(before, 0)
	tell(h.Store, firstBump)
	move(2)
	st, err := h.Stats(t.Context(), target)
	if err != nil || st.Ready != 2 {
		t.Errorf("after a move that its source lost and another one the target has %+v, %v; want 2 messages", st, err)
	}
}

// Revisions of the key-value part are not given out again either.
func TestRevisionsAreNotGivenOutTwice(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ctx := t.Context()
	put := func(s *Store, key string, prev store.Revision) store.Revision {
		t.Helper()
		r, err := s.Put(ctx, key, []byte("v"), prev)
		if err != nil {
			t.Fatalf("Put(%s, %d) = %v, want nil", key, prev, err)
		}
		return r
	}
	old := put(h.Store, "a", 0)
	before := h.keep()
	lost := put(h.Store, "a", old)
	h.back(before, firstBump, h.Store)
	next := put(h.Store, "a", old)
	if next <= lost+1<<20 {
		t.Errorf("the first revision after the failover is %d, want one far above %d", next, lost)
	}
	if err := h.Delete(ctx, "a", lost); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Delete at a lost revision = %v, want %v", err, store.ErrConflict)
	}
	if got := put(h.second, "b", 0); got != next+1 {
		t.Errorf("the next revision is %d, want %d", got, next+1)
	}
	h.wantLosses(h.Store, Loss{Catalog: 1})
}

// A node counts what it was told was done and is lost, and what others did between.
func TestLosses(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ctx := t.Context()
	h.configure(some, store.Settings{})
	h.send(h.Store, some, 5)
	held := h.claim(h.Store, some, 1)
	if _, err := h.Put(ctx, "k", nil, 0); err != nil {
		t.Fatal(err)
	}
	h.wantLosses(h.Store, Loss{})
	before := h.keep()
	h.claim(h.Store, some, 2)
	h.send(h.second, some, 7)
	h.ack(h.Store, some, held)
	h.send(h.Store, some, 3)
	h.send(h.second, some, 2) // after the last that the first node knows of
	if _, err := h.Put(ctx, "k", nil, store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	if err := h.Delete(ctx, "k", store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	h.back(before, firstBump, h.Store, h.second)
	h.send(h.second, some, 1) // it is still there
	h.wantLosses(h.Store, Loss{Sends: 3, Receives: 2, Settles: 1, Catalog: 2, Others: 1})
	h.wantLosses(h.second, Loss{Sends: 9, Others: 3})
}

// A repeat that is told that it was made before is told of the same change, which is counted once.
func TestLossOfARepeat(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.configure(some, store.Settings{})
	before := h.keep()
	p := store.SendParams{Queue: some, Revision: 1, Entries: make([]store.Entry, 2), Once: &store.Once{Key: [16]byte{1}, Window: time.Hour}}
	for _, s := range []*Store{h.Store, h.Store, h.second} {
		if _, err := s.Send(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	h.back(before, firstBump, h.Store, h.second)
	h.wantLosses(h.Store, Loss{Sends: 2})
	h.wantLosses(h.second, Loss{Sends: 2})
}

// Of two failovers the first may be forgotten with what it led to: then what was made after it is lost with it, and what
// was counted after it is not counted again.
func TestLossesOfTwoFailovers(t *testing.T) {
	t.Parallel()
	for name, counted := range map[string]bool{"counted between": true, "counted at the end": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			l := newHistoryLog(h)
			h.configure(some, store.Settings{})
			h.send(h.Store, some, 1)
			l.append(h.Store, 1)
			first := h.keep()
			h.send(h.Store, some, 2)
			l.append(h.Store, 2)
			other := h.keep() // another replica has heard this much
			h.send(h.Store, some, 4)
			l.append(h.Store, 4)
			h.back(first, firstBump, h.Store)
			if counted {
				h.wantLosses(h.Store, Loss{Sends: 2 + 4, Appends: 2 + 4})
			}
			h.send(h.Store, some, 8)
			l.append(h.Store, 8)
			h.back(other, secondBump, h.Store)
			want := Loss{Sends: 8, Appends: 8}
			if !counted {
				want = Loss{Sends: 4 + 8, Appends: 4 + 8, Partial: true} // how much others did before the first is not known
			}
			h.wantLosses(h.Store, want)
			if got := h.send(h.Store, some, 1); got < 1<<40 {
				t.Errorf("a message has sequence %d, want one of the third time line", got)
			}
			h.back(h.keep(), secondBump+1, h.Store)
			h.wantLosses(h.Store, Loss{})
		})
	}
}

// What a server that is no longer the master answers after the losses were counted is counted when it comes.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	reported := make(chan Loss, 10)
	late := open(t, Options{URL: h.url, Prefix: h.prefix, Now: h.clock.Now, Lost: func(l Loss) { reported <- l }})
	h.configure(some, store.Settings{})
	before := h.keep()
	h.send(late, some, 1)
	h.back(before, firstBump, late)
	h.wantLosses(late, Loss{Sends: 1})
	// The answer of the old master, which made another change before.
	late.whole().told(some, &reply{commit: 3, bump: 0}, h.clock.Now().UnixMilli(), sends, 2)
	if l := <-reported; l.Sends != 2 || l.Others != 0 || l.Receives+l.Settles+l.Appends+l.Catalog != 0 || l.Server == "" {
		t.Errorf("after a late answer the loss %+v was reported, want 2 sends of a server that is named", l)
	}
	h.wantLosses(late, Loss{})
}

// A queue that is gone was dropped, or it is lost with all that it had.
func TestLossOfAQueue(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	l := newHistoryLog(h)
	before := h.keep()
	const dropped, lost = store.QueueID(7), store.QueueID(8)
	h.configure(dropped, store.Settings{})
	h.send(h.Store, dropped, 1)
	if err := h.Drop(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	maps.Copy(before, h.keep())
	h.configure(lost, store.Settings{})
	h.send(h.Store, lost, 2)
	l.append(h.Store, 4)
	for key := range before {
		if strings.Contains(key, "l9:") {
			delete(before, key)
		}
	}
	h.back(before, firstBump, h.Store)
	h.wantLosses(h.Store, Loss{Sends: 2, Appends: 4})
}

// A store remembers a bounded number of answers, and says when that was too few.
func TestLossesBeyondMemory(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.configure(some, store.Settings{})
	first := h.keep()
	h.send(h.Store, some, 1)
	before := h.keep()
	h.send(h.Store, some, 3)
	h.back(before, firstBump, h.Store)
	h.wantLosses(h.Store, Loss{Sends: 3})

	before = first
	h.back(before, secondBump)
	s := h.process()
	for range mostAnswers {
		s.answers.add(answer{place: place{id: uint64(some)}, first: 1, kind: nothingMuch})
	}
	h.send(s, some, 2)
	if got := len(s.answers.list); got != mostAnswers {
		t.Errorf("%d answers are remembered, want %d", got, mostAnswers)
	}
	h.back(before, secondBump, s)
	got, err := s.countLosses(t.Context(), allOfThem)
	if want := (Loss{Sends: 2}); err != nil || got != want {
		t.Errorf("countLosses = %+v, %v; want %+v: the oldest that is remembered is still there", got, err, want)
	}
	for range mostAnswers {
		s.answers.add(answer{place: place{id: uint64(some)}, first: 2, bump: 1, kind: settles, count: 1})
	}
	got, err = s.countLosses(t.Context(), allOfThem)
	if want := (Loss{Settles: 1, Partial: true}); err != nil || got != want {
		t.Errorf("countLosses = %+v, %v; want %+v", got, err, want)
	}
}

// A server that was taken over and does not know it yet says nothing of what is lost; it is asked again.
func TestLossesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.configure(some, store.Settings{})
	before := h.keep()
	h.send(h.Store, some, 3)
	h.back(before, 0)
	for tag := range allTags {
		h.newest(tag, firstBump)
	}
	if got, err := h.countLosses(t.Context(), allOfThem); err == nil || got != (Loss{}) {
		t.Errorf("countLosses at the server of before = %+v, %v; want nothing, and an error", got, err)
	}
	counted := make(chan Loss)
	go func() {
		l, err := h.countAll(allOfThem)
		if err != nil {
			t.Errorf("countAll = %v, want nil", err)
		}
		counted <- l
	}()
	tell(h.Store, firstBump)
	if got, want := <-counted, (Loss{Sends: 3}); got != want {
		t.Errorf("countAll = %+v, want %+v", got, want)
	}
}
