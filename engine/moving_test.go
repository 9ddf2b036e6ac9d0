package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// slowMoves is a store of which the first move out of a queue is not concluded for a while: its messages are seen nowhere.
type slowMoves struct {
	store.Store
	moving atomic.Bool
}

func (s *slowMoves) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	if s.moving.Load() {
		return store.MoveResult{}, fmt.Errorf("%w: the move is concluded later", store.ErrUnknown)
	}
	return s.Store.Move(ctx, p)
}

func (s *slowMoves) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	if s.moving.Load() {
		return store.ScanResult{}, nil
	}
	return s.Store.Scan(ctx, p)
}

func (s *slowMoves) Stats(ctx context.Context, q store.QueueID) (store.Stats, error) {
	if s.moving.Load() {
		return store.Stats{OldestAge: -1, NextDue: store.NoDue, Moving: 3}, nil
	}
	return s.Store.Stats(ctx, q)
}

// TestMessagesOnTheirWay: as long as messages are in no count, a redrive does not end and their queue is not empty.
func TestMessagesOnTheirWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowMoves{Store: memory.New(memory.Options{Now: time.Now})}
		e, err := Open(t.Context(), slow, Options{Now: time.Now, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // it is memory
		from, to := Ref{"t", "from"}, Ref{"t", "to"}
		for _, ref := range []Ref{from, to} {
			if _, _, err := e.PutQueue(t.Context(), ref, DefaultConfig(), Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if _, err := e.Send(t.Context(), from, SendRequest{Messages: []Message{{Body: []byte("x")}}}); err != nil {
				t.Fatal(err)
			}
		}
		task, err := e.Redrive(t.Context(), from, RedriveRequest{To: to.Name, Rate: 1})
		if err != nil {
			t.Fatal(err)
		}
		slow.moving.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if now, err := e.Task(t.Context(), "t", task.ID); err != nil || now.State != TaskRunning {
			t.Errorf("while messages are on their way the redrive is %+v, %v, want it running", now, err)
		}
		if err := e.DeleteQueue(t.Context(), from, Condition{}, false); err == nil || ErrorOf(err).Code != CodeConflict {
			t.Errorf("DeleteQueue while messages are on their way = %v, want a conflict", err)
		}
		slow.moving.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if now, err := e.Task(t.Context(), "t", task.ID); err != nil || now.State != TaskDone || now.Moved != 3 {
			t.Errorf("in the end the redrive is %+v, %v, want it done with 3 moved", now, err)
		}
		if err := e.DeleteQueue(t.Context(), from, Condition{}, false); err != nil {
			t.Errorf("DeleteQueue of a queue whose messages have arrived elsewhere = %v, want nil", err)
		}
	})
}
