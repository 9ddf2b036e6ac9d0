package redis

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// flushed are two stores on a server of their own, from which everything is taken while it runs.
type flushed struct {
	*history
	at   running
	seen [2]*failovers
}

func newFlushed(t *testing.T) *flushed {
	t.Helper()
	f := &flushed{at: ownServer(t), history: &history{T: t}}
	f.url = f.at.url
	for i, s := range []**Store{&f.Store, &f.second} {
		f.seen[i] = newFailovers()
		*s = open(t, f.seen[i].options(Options{URL: f.url, Silence: 4 * time.Second}))
	}
	return f
}

func (f *flushed) flush() {
	f.Helper()
	if err := f.at.client.FlushAll(f.Context()).Err(); err != nil {
		f.Fatal(err)
	}
}

// wantNoticed waits until both have noticed, and returns what each has counted.
func (f *flushed) wantNoticed() (first, second Loss) {
	f.Helper()
	losses := [2]Loss{}
	for i, seen := range f.seen {
		change, lost := seen.await(f.T)
		if change.Tags != allTags || !change.Emptied || !strings.Contains(change.To, "records") || change.From == "" {
			f.Errorf("store %d reports %+v, want all tags and that the records were gone", i, change)
		}
		losses[i] = lost
	}
	return losses[0], losses[1]
}

// wantQuiet sees to it that nobody bumps a second time: each record is what both know.
func (f *flushed) wantQuiet() {
	f.Helper()
	for tag := range allTags {
		bump, err := f.at.client.HGet(f.Context(), f.fenceKey(tag), "bump").Int64()
		if one, two := f.bumps[tag].Load(), f.second.bumps[tag].Load(); err != nil || bump != one || bump != two {
			f.Fatalf("record %d says %d, %v; the stores say %d and %d", tag, bump, err, one, two)
		}
	}
	for i, seen := range f.seen {
		if n := len(seen.changes); n > 0 {
			f.Errorf("store %d reports %d more failovers", i, n)
		}
	}
}

// Between a send and its claim everything goes. Both stores notice by themselves, agree, and count what is lost.
func TestFlushIsNoticed(t *testing.T) {
	t.Parallel()
	f := newFlushed(t)
	f.configure(some, store.Settings{})
	f.send(f.Store, some, 3)
	f.send(f.Store, some, 1)
	f.send(f.second, some, 2)
	f.flush()
	one, two := f.wantNoticed()
	if one.Sends != 4 || two.Sends != 2 || one.Partial || two.Partial {
		t.Errorf("lost %+v and %+v, want 4 messages of the first store and 2 of the second", one, two)
	}
	if _, err := f.Claim(t.Context(), store.ClaimParams{Queue: some, Revision: 1, Max: 1}); !errors.Is(err, store.ErrGone) {
		t.Errorf("Claim from a queue that was flushed = %v, want %v", err, store.ErrGone)
	}
	f.wantQuiet()
}

// Who makes something again before anyone has noticed notices there and then: nothing is given out twice.
func TestFlushGivesNothingOutTwice(t *testing.T) {
	t.Parallel()
	f := newFlushed(t)
	ctx := t.Context()
	f.configure(some, store.Settings{})
	first := f.send(f.Store, some, 1)
	held := f.claim(f.Store, some, 1)
	was, err := f.Put(ctx, "k", []byte("v"), 0)
	if err != nil {
		t.Fatal(err)
	}
	topic := store.LogID(9)
	if err := f.ConfigureLog(ctx, topic, store.LogSettings{Revision: 1, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	f.append(topic)

	f.flush()
	f.configure(some, store.Settings{})
	next := f.send(f.second, some, 1)
	if next <= first+1<<20 {
		t.Errorf("the first message after the flush has sequence %d, want one far above %d", next, first)
	}
	again := f.claim(f.Store, some, 1)
	if len(again.Messages) != 1 || again.Token <= held.Token+1<<20 {
		t.Errorf("Claim after the flush = %+v, want a message and a token far above %d", again, held.Token)
	}
	if got := f.ack(f.second, some, held); !slices.Equal(got, []store.Outcome{store.Gone}) {
		t.Errorf("a receipt of before settles: outcomes %v, want that its message is gone", got)
	}
	if is, err := f.second.Put(ctx, "k", []byte("w"), 0); err != nil || is <= was+1<<20 {
		t.Errorf("Put after the flush = revision %d, %v; want one far above %d", is, err, was)
	}
	if err := f.ConfigureLog(ctx, topic, store.LogSettings{Revision: 1, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if at := f.append(topic); at == 0 {
		t.Error("the first record after the flush has offset 0, which one before had")
	}
	one, two := f.wantNoticed()
	if want := (Loss{Server: one.Server, Sends: 1, Receives: 1, Appends: 1, Catalog: 1}); one != want {
		t.Errorf("the first store has counted %+v, want %+v", one, want)
	}
	if want := (Loss{Server: two.Server}); two != want {
		t.Errorf("the second store has counted %+v, want %+v: it did nothing before", two, want)
	}
	f.wantQuiet()
}

func (f *flushed) append(id store.LogID) store.Offset {
	f.Helper()
	got, err := f.Append(f.Context(), store.AppendParams{
		Log: id, Revision: 1, Parts: []store.AppendPart{{Records: []store.LogRecord{{Payload: []byte("x"), Size: 1}}}},
	})
	if err != nil || len(got.Parts) != 1 {
		f.Fatalf("Append = %+v, %v; want one part", got, err)
	}
	return got.Parts[0].First
}

// A process that is started after the flush enters records that say what they said to it as to the one before: that there was no
// failover yet. They are others all the same.
func TestFlushBeforeAStart(t *testing.T) {
	t.Parallel()
	f := newFlushed(t)
	f.configure(some, store.Settings{})
	first := f.send(f.Store, some, 1)
	f.flush()
	third := open(t, Options{URL: f.url})
	f.configure(some, store.Settings{})
	if next := f.send(third, some, 1); next <= first+1<<20 {
		t.Errorf("the first message after the flush has sequence %d, want one far above %d", next, first)
	}
	if one, _ := f.wantNoticed(); one.Sends != 1 {
		t.Errorf("the first store has counted %+v, want one message that is lost", one)
	}
}

// A record of one tag that somebody has removed, while the rest is there: nothing is lost, and it goes on.
func TestRecordIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFlushed(t)
	f.configure(some, store.Settings{})
	first := f.send(f.Store, some, 1)
	if err := f.at.client.Del(t.Context(), f.fenceKey(int(some))).Err(); err != nil {
		t.Fatal(err)
	}
	v := f.topology.known()[0]
	if holds, err := v.recordHolds(t.Context(), f.at.client, int(some)); holds || err != nil {
		t.Errorf("a record that was removed holds: %t, %v; want it noticed", holds, err)
	}
	if err := v.remember(t.Context(), int(some)); err != nil {
		t.Fatal(err)
	}
	if holds, err := v.recordHolds(t.Context(), f.at.client, int(some)); !holds || err != nil {
		t.Errorf("a record that was entered again holds: %t, %v; want it so", holds, err)
	}
	if r := f.claim(f.second, some, 1); len(r.Messages) != 1 || r.Messages[0].Seq != first {
		t.Errorf("Claim after a record was removed = %+v, want message %d", r, first)
	}
}

// One leader of a cluster is flushed. What the others have goes on without another failover.
func TestFlushOfOneLeader(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: fleet.URL, Silence: 4 * time.Second}))
	q := store.QueueID(7)
	if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	first := sendUntil(t, s, q, "a")
	master := fleet.MasterOf(t, s.fenceKey(int(q)))
	if err := redistest.Client(t, master.URL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	change, lost := seen.await(t)
	if change.Tags == 0 || change.Tags == allTags || lost.Sends != 1 {
		t.Errorf("reported %+v and %+v, want some tags and one message that is lost", change, lost)
	}
	if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if next := sendUntil(t, s, q, "b"); next <= first+1<<20 {
		t.Errorf("after the flush a message has sequence %d, want one far above %d", next, first)
	}
}
