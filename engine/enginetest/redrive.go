package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// fuse is a store that can be lost in the middle of work: the n-th write of a task blows it, before it is done or just
// after, and from then on every call fails.
type fuse struct {
	store.Store
	// left counts the writes until it blows; it never does once it is negative.
	left atomic.Int64
	// after lets the last write happen, unknown to its caller.
	after bool
	blown atomic.Bool
}

// blow says whether this write is the last one.
func (f *fuse) blow() bool {
	if f.left.Add(-1) == 0 {
		f.blown.Store(true)
	}
	return f.blown.Load()
}

func (f *fuse) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	if f.blown.Load() || f.blow() && !f.after {
		return store.MoveResult{}, store.ErrClosed
	}
	res, err := f.Store.Move(ctx, p)
	if f.blown.Load() {
		return store.MoveResult{}, store.ErrClosed
	}
	return res, err
}

func (f *fuse) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if f.blown.Load() || f.blow() && !f.after {
		return 0, store.ErrClosed
	}
	rev, err := f.Store.Put(ctx, key, value, prev)
	if f.blown.Load() {
		return 0, store.ErrClosed
	}
	return rev, err
}

func (f *fuse) Get(ctx context.Context, key string) (store.Pair, error) {
	if f.blown.Load() {
		return store.Pair{}, store.ErrClosed
	}
	return f.Store.Get(ctx, key)
}

// putFuse puts a fuse into the store of an engine that is idle.
func (b *bundle) putFuse(writes int64, after bool) *fuse {
	synctest.Wait()
	f := &fuse{Store: b.store.Store, after: after}
	f.left.Store(writes)
	b.store.Store = f
	return f
}

// startRedrive starts one that must be accepted.
func (b *bundle) startRedrive(q engine.Ref, req engine.RedriveRequest) engine.Task {
	b.Helper()
	req.Principal = "someone"
	t, err := b.engine.Redrive(b.Context(), q, req)
	if err != nil {
		b.Fatalf("redrive %s: %v", q, err)
	}
	return t
}

func (b *bundle) look(id string) engine.Task {
	b.Helper()
	t, err := b.engine.Task(b.Context(), tenant, id)
	if err != nil {
		b.Fatalf("look at task %s: %v", id, err)
	}
	return t
}

// wantTask checks a task's state and how many messages it has moved.
func (b *bundle) wantTask(id string, state engine.TaskState, moved int64) engine.Task {
	b.Helper()
	t := b.look(id)
	if t.State != state || t.Moved != moved {
		b.Errorf("task: got %s with %d moved (of %d, error %q), want %s with %d", t.State, t.Moved, t.Total, t.Error, state, moved)
	}
	return t
}

// numbered are bodies, all different.
func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}

// drainIDs receives and acks all that is ready and counts each id.
func (b *bundle) drainIDs(q engine.Ref) map[engine.MessageID]int {
	b.Helper()
	seen := make(map[engine.MessageID]int)
	for {
		got := b.receive(q, engine.MaxBatch)
		if len(got.Messages) == 0 {
			return seen
		}
		var receipts []string
		for i := range got.Messages {
			seen[got.Messages[i].ID]++
			receipts = append(receipts, got.Messages[i].Receipt)
		}
		b.ack(q, receipts...)
	}
}

// redriveLosesAndDoublesNothingInACrash loses the engine at each write of a redrive in turn, once before and once after
// it was done, and has the next one go on.
func redriveLosesAndDoublesNothingInACrash(b *bundle) {
	const messages = 600
	for _, kind := range []string{"unseen", "seen", "renewed"} {
		for _, after := range []bool{false, true} {
			for writes := int64(2); ; writes++ { // the first write is the task's record
				name := fmt.Sprintf("%s-%v-%d", kind, after, writes)
				from, to := named("from-"+name), named("to-"+name)
				b.put(from)
				b.put(to)
				want := make(map[engine.MessageID]int)
				bodies := numbered(messages)
				for i := range bodies {
					bodies[i] += "k"
				}
				for _, id := range b.send(from, bodies...) {
					want[id] = 1
				}
				req := engine.RedriveRequest{To: to.Name}
				if kind == "seen" { // the messages are looked at before they are chosen
					req.Filter.Contains = "k"
				}
				req.Renew = kind == "renewed"
				f := b.putFuse(writes, after)
				t := b.startRedrive(from, req)
				synctest.Wait()
				crashed := f.blown.Load()
				b.restart()
				b.advance(time.Second)
				b.wantTask(t.ID, engine.TaskDone, messages)
				b.wantCounts(from, engine.Counts{})
				got := b.drainIDs(to)
				if req.Renew {
					b.wantOthers(want, got)
					got = want
				}
				if diff := cmp.Diff(want, got); diff != "" {
					b.Fatalf("crash at write %d (done: %v): messages in the target (-want +got):\n%s", writes, after, diff)
				}
				if !crashed {
					if writes < 5 { // three batches and a note are the least
						b.Fatalf("the redrive took %d writes only", writes-1)
					}
					break
				}
			}
		}
	}
}

// wantOthers wants as many messages as there were, once each, with ids that none of them had.
func (b *bundle) wantOthers(were, are map[engine.MessageID]int) {
	b.Helper()
	if len(are) != len(were) {
		b.Fatalf("%d messages became %d new ones", len(were), len(are))
	}
	for id, n := range are {
		if n != 1 || were[id] != 0 {
			b.Fatalf("message %s was received %d times, and was there before %d times; want a new one, once", id, n, were[id])
		}
	}
}

func editLosesAndDoublesNothingInACrash(b *bundle) {
	for _, after := range []bool{false, true} {
		for writes := int64(2); writes <= 3; writes++ {
			name := fmt.Sprintf("%v-%d", after, writes)
			from, to := named("from-"+name), named("to-"+name)
			b.put(from)
			b.put(to)
			id := b.send(from, "broken")[0]
			b.putFuse(writes, after)
			req := engine.RedriveRequest{To: to.Name, Edit: &engine.Edit{ID: id, Body: []byte("mended")}}
			if _, err := b.engine.Redrive(b.Context(), from, req); err == nil {
				b.Fatalf("crash at write %d (done: %v): the edit was answered with success", writes, after)
			}
			b.restart()
			all, err := b.engine.Tasks(b.Context(), tenant, "", 1, nil)
			if err != nil || len(all) != 1 {
				b.Fatalf("tasks after the crash: %v, %v", all, err)
			}
			moved := writes == 3 || after
			if moved {
				b.wantTask(all[0].ID, engine.TaskDone, 1)
				if got := b.one(to); string(got.Body) != "mended" || got.ID != id {
					b.Errorf("the target has message %s with body %q, want %s with the new body", got.ID, got.Body, id)
				}
			} else {
				b.wantTask(all[0].ID, engine.TaskFailed, 0)
				if got := b.one(from); string(got.Body) != "broken" || got.ID != id {
					b.Errorf("the source has message %s with body %q, want %s as it was", got.ID, got.Body, id)
				}
			}
			b.advance(time.Second) // so that the next task is newer
		}
	}
}

// redriveTellsEachBatch wants the audit to account for every message.
func redriveTellsEachBatch(b *bundle) {
	var moved, started, ended atomic.Int64
	b.events = engine.Events{
		TaskStarted: func(engine.Task) { started.Add(1) },
		TaskEnded:   func(engine.Task) { ended.Add(1) },
		Moved: func(m engine.Move) {
			moved.Add(int64(m.Messages))
			if m.Principal != "someone" || m.From.Name == m.To.Name || m.Messages > 256 {
				b.Errorf("told of %+v, want batches of at most 256 by someone", m)
			}
		},
	}
	b.restart()
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(1000)...)
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	synctest.Wait()
	b.wantTask(t.ID, engine.TaskDone, 1000)
	slow := b.startRedrive(named("to"), engine.RedriveRequest{To: ref.Name, Rate: 1})
	b.advance(5500 * time.Millisecond)
	if _, err := b.engine.CancelTask(b.Context(), tenant, slow.ID, "someone else"); err != nil {
		b.Fatal(err)
	}
	if got := [...]int64{started.Load(), moved.Load(), ended.Load()}; got != [...]int64{2, 1006, 2} {
		b.Errorf("told of %v starts, moved messages and ends, want 2, 1006 and 2", got)
	}
}

func redriveKeepsItsRate(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(1000)...)
	b.send(ref, numbered(1000)...)
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to", Rate: 100})
	for second := int64(1); second <= 19; second++ {
		b.advance(time.Second)
		b.wantCounts(named("to"), engine.Counts{Ready: 100*second + 10}) // a tenth of a second's worth came at once
		if got := b.look(t.ID); got.Rate < 95 || got.Rate > 101 || got.ETA <= 0 {
			b.Errorf("after %ds the task shows a rate of %v and an ETA of %v, want 100", second, got.Rate, got.ETA)
		}
	}
	b.advance(time.Second)
	if done := b.wantTask(t.ID, engine.TaskDone, 2000); done.FinishedAt.Sub(done.CreatedAt) > 20*time.Second || done.ETA >= 0 {
		b.Errorf("the task shows %+v; want an end within 20s and no ETA", done)
	}
}

func redrivesTakeTurns(b *bundle) {
	const queues, messages = 5, 2000
	var order []string
	b.events = engine.Events{Moved: func(m engine.Move) { order = append(order, m.From.Name) }}
	b.restart()
	b.put(named("to"))
	for i := range queues {
		q := named(fmt.Sprint("q", i))
		b.put(q)
		b.send(q, numbered(messages/2)...)
		b.send(q, numbered(messages/2)...)
	}
	hold := make(chan struct{})
	b.store.beforeMove.set(func() error { <-hold; return nil })
	for i := range queues {
		b.startRedrive(named(fmt.Sprint("q", i)), engine.RedriveRequest{To: "to"})
	}
	close(hold)
	b.advance(time.Second)
	b.wantCounts(named("to"), engine.Counts{Ready: queues * messages})
	last := make(map[string]int)
	for i, name := range order {
		if was, ok := last[name]; ok && i-was > queues {
			b.Errorf("%s waited for %d batches of others, want turns: %v", name, i-was-1, order)
		}
		last[name] = i
	}
}

func cancelStopsARedriveAtOnce(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(1000)...)
	entered := make(chan struct{})
	b.store.beforeMove.set(func() error {
		close(entered)
		time.Sleep(time.Second)
		return nil
	})
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	<-entered
	cancelled, err := b.engine.CancelTask(b.Context(), tenant, t.ID, "someone else")
	if err != nil {
		b.Fatal(err)
	}
	if cancelled.State != engine.TaskCancelled || cancelled.CancelledBy != "someone else" || cancelled.Moved != 256 {
		b.Errorf("cancelled during the first batch: %+v; want 256 moved", cancelled)
	}
	b.wantCounts(ref, engine.Counts{Ready: 1000 - 256})
	b.restart()
	b.advance(time.Hour)
	b.wantTask(t.ID, engine.TaskCancelled, 256)
	b.wantCounts(ref, engine.Counts{Ready: 1000 - 256})
}

// arrivalsAreNotARedrives has messages come in as fast as it moves them.
func arrivalsAreNotARedrives(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(1000)...)
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to", Rate: 1000})
	for range 20 {
		b.send(ref, numbered(50)...)
		b.advance(50 * time.Millisecond)
	}
	b.advance(time.Second)
	b.wantTask(t.ID, engine.TaskDone, 1000)
	b.wantCounts(ref, engine.Counts{Ready: 1000})
	b.wantCounts(named("to"), engine.Counts{Ready: 1000})
}

func failedStepsAreTriedAgain(b *bundle) {
	told := atomic.Int64{}
	b.events = engine.Events{TaskStalled: func(engine.Ref, string, error) { told.Add(1) }}
	b.restart()
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(300)...)
	b.store.beforeMove.set(func() error { return fmt.Errorf("no room: %w", store.ErrFull) })
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	synctest.Wait()
	if got := b.look(t.ID); got.State != engine.TaskRunning || told.Load() != 1 {
		b.Errorf("after a failure: task %+v, told %d times; want it to run, and one word of it", got, told.Load())
	}
	b.advance(time.Second)
	b.wantTask(t.ID, engine.TaskDone, 300)
}

func finishedTasksAreForgotten(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	old := b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	b.advance(6 * 24 * time.Hour)
	b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	b.wantTask(old.ID, engine.TaskDone, 0)
	b.advance(25 * time.Hour)
	b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	_, err := b.engine.Task(b.Context(), tenant, old.ID)
	b.wantCode(err, engine.CodeNotFound)
	if all, err := b.engine.Tasks(b.Context(), tenant, "", 10, nil); err != nil || len(all) != 2 || all[0].CreatedAt.Before(all[1].CreatedAt) {
		b.Errorf("tasks: got %v, %v; want the two newer ones, the newest first", all, err)
	}
}

// anotherNodeGoesOnWithARedrive has one node die and another one, which has waited for the end of its lease, go on.
func anotherNodeGoesOnWithARedrive(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(1000)...)
	shared := b.store.Store
	open := func(node string) (*engine.Engine, *fuse) {
		b.Helper()
		f := &fuse{Store: shared}
		e, err := engine.Open(b.Context(), f, engine.Options{Now: time.Now, Rand: rand.Reader, Node: node})
		if err != nil {
			b.Fatalf("open node %s: %v", node, err)
		}
		return e, f
	}
	done := func(e *engine.Engine) {
		b.Helper()
		if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Errorf("close a node: %v", err)
		}
	}
	first, lost := open("first")
	t, err := first.Redrive(b.Context(), ref, engine.RedriveRequest{To: "to", Rate: 10})
	if err != nil {
		b.Fatal(err)
	}
	b.advance(10 * time.Second)
	lost.blown.Store(true)
	done(first)

	second, _ := open("second")
	b.advance(19 * time.Second)
	b.wantCounts(named("to"), engine.Counts{Ready: 101})
	b.advance(13 * time.Second)
	if moved := b.counts(named("to")).Ready; moved == 101 {
		b.Error("nobody went on with the task of a node that was not heard of for 30s")
	}
	b.advance(2 * time.Minute)
	b.wantTask(t.ID, engine.TaskDone, 1000)
	b.wantCounts(ref, engine.Counts{})
	b.wantCounts(named("to"), engine.Counts{Ready: 1000})
	done(second)

	// One that closes in good order gives its tasks up at once.
	third, _ := open("third")
	t, err = third.Redrive(b.Context(), named("to"), engine.RedriveRequest{To: ref.Name, Rate: 100})
	if err != nil {
		b.Fatal(err)
	}
	b.advance(5 * time.Second)
	done(third)
	fourth, _ := open("fourth")
	b.advance(5 * time.Second)
	b.wantTask(t.ID, engine.TaskDone, 1000)
	done(fourth)
}

// redriveFindsTheNewest has a queue whose sequences are far apart.
func redriveFindsTheNewest(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	for range 5 {
		b.send(ref, numbered(1000)...)
		got := b.receive(ref, 999)
		var receipts []string
		for i := range got.Messages {
			receipts = append(receipts, got.Messages[i].Receipt)
		}
		b.ack(ref, receipts...)
	}
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to"})
	b.send(ref, "new")
	synctest.Wait()
	b.wantTask(t.ID, engine.TaskDone, 5)
	b.wantCounts(ref, engine.Counts{Ready: 1})
}

// unreadableTaskHoldsUpNoOther: neither the start of others, nor going on with them, nor their list.
func unreadableTaskHoldsUpNoOther(b *bundle) {
	b.put(ref)
	b.put(named("to"))
	b.send(ref, numbered(100)...)
	bad := "task/" + tenant + "/00000000000000000000000000000000" // before all others
	if _, err := b.store.Put(b.Context(), bad, []byte(`{"version":9}`), 0); err != nil {
		b.Fatal(err)
	}
	t := b.startRedrive(ref, engine.RedriveRequest{To: "to", Rate: 10})
	b.restart()
	b.advance(20 * time.Second)
	b.wantTask(t.ID, engine.TaskDone, 100)
	all, err := b.engine.Tasks(b.Context(), tenant, "", 10, nil)
	if err != nil || len(all) != 1 || all[0].ID != t.ID {
		b.Errorf("tasks = %v, %v, want the one that can be read", all, err)
	}
}
