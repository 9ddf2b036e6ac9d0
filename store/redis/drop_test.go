package redis

import (
	"errors"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

// TestDroppedStaysDropped: a process that has read of a queue or topic before another one dropped it configures it late.
func TestDroppedStaysDropped(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	o := Options{URL: url, Prefix: freshPrefix(t, url)}
	a, late := open(t, o), open(t, o)
	for _, s := range []*Store{a, late} {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v, want nil", err)
			}
		})
	}
	ctx := t.Context()
	settings := store.Settings{Revision: 1}
	logSettings := store.LogSettings{Revision: 1, Partitions: 2}
	if err := errors.Join(a.Configure(ctx, 7, settings), a.ConfigureLog(ctx, 7, logSettings), a.Drop(ctx, 7), a.DropLog(ctx, 7)); err != nil {
		t.Fatal(err)
	}
	if err := late.Configure(ctx, 7, settings); !errors.Is(err, store.ErrGone) {
		t.Errorf("Configure of a queue that another process has dropped = %v, want ErrGone", err)
	}
	if err := late.ConfigureLog(ctx, 7, logSettings); !errors.Is(err, store.ErrGone) {
		t.Errorf("ConfigureLog of a log that another process has dropped = %v, want ErrGone", err)
	}
	if _, err := late.Send(ctx, store.SendParams{Queue: 7, Revision: 1, Entries: []store.Entry{{}}}); !errors.Is(err, store.ErrGone) {
		t.Errorf("Send = %v, want ErrGone", err)
	}
	if _, err := late.Append(ctx, store.AppendParams{Log: 7, Revision: 1, Parts: []store.AppendPart{{Records: []store.LogRecord{{}}}}}); !errors.Is(err, store.ErrGone) {
		t.Errorf("Append = %v, want ErrGone", err)
	}
	queues, err := late.Queues(ctx, 0, 10)
	logs, err2 := late.Logs(ctx, 0, 10)
	if err != nil || err2 != nil || len(queues)+len(logs) != 0 {
		t.Errorf("Queues, Logs = %v, %v (%v, %v), want none", queues, logs, err, err2)
	}
	if err := errors.Join(a.Drop(ctx, 7), a.DropLog(ctx, 7)); err != nil {
		t.Errorf("Drop once more = %v, want nil", err)
	}
}
