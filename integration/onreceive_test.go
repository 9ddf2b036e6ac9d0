package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestOnReceiveDeliversOnceAtMost kills the server while clients receive from queues that ack on receive: no message
// comes twice, and none is lost but those of receives that were cut off.
func TestOnReceiveDeliversOnceAtMost(t *testing.T) {
	t.Parallel()
	const receivers, most = 4, 10
	k := newKiller(t)
	o := &onReceive{t: t, sent: make(map[string]bool), came: make(map[string]bool)}
	c := k.srv.client()
	c.create("once", `{"ack":"on_receive"}`)
	c.create("once.fifo", `{"ack":"on_receive","fifo":true}`)
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	kills := size(5, 500)
	for range kills {
		l := k.load(transport)
		l.seed = k.r.Uint64()
		var clients []work
		for i := range receivers {
			queue := []string{"once", "once.fifo"}[i%2]
			clients = append(clients,
				func(ctx context.Context, r *rand.Rand) error { return o.sendSome(ctx, l, r, queue) },
				func(ctx context.Context, r *rand.Rand) error {
					_, err := o.receive(ctx, l, queue, 1+r.IntN(most))
					return err
				})
		}
		l.runUntilKilled(t.Context(), k.srv, k.r, clients)
		transport.CloseIdleConnections()
		k.srv = start(t, k.data, k.args...)
	}
	for _, queue := range []string{"once", "once.fifo"} {
		for got := 1; got > 0; {
			var err error
			if got, err = o.receive(t.Context(), k.load(transport), queue, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A kill between the lease and its ack leaves a FIFO group locked for a while: those messages are there, and undelivered.
	there := make(map[string]bool)
	for _, queue := range []string{"once", "once.fifo"} {
		left, err := k.load(transport).browse(t.Context(), queue)
		if err != nil {
			t.Fatal(err)
		}
		for i := range left {
			tag := string(left[i].content())
			if there[tag] = true; o.came[tag] {
				t.Errorf("message %s of %s is there although it was delivered", tag, queue)
			}
		}
	}
	lost := 0
	for tag := range o.sent {
		if !o.came[tag] && !there[tag] {
			lost++
		}
	}
	t.Logf("%d kills; %d messages acknowledged, %d delivered, %d left, %d lost", kills, len(o.sent), len(o.came), len(there), lost)
	if lost > kills*receivers*most {
		t.Errorf("%d messages were lost; the receives that were cut off had %d at most", lost, kills*receivers*most)
	}
	if len(o.came) == 0 {
		t.Error("nothing was delivered, so this run says nothing")
	}
}

// onReceive is what its clients know.
type onReceive struct {
	t *testing.T

	mu         sync.Mutex
	sent, came map[string]bool
}

// sendSome sends a few messages, each known by its body.
func (o *onReceive) sendSome(ctx context.Context, l *load, r *rand.Rand, queue string) error {
	var tags, messages []string
	for range 1 + r.IntN(20) {
		tag := fmt.Sprint("m", l.tags.Add(1))
		tags = append(tags, tag)
		messages = append(messages, fmt.Sprintf(`{"body":%q,"group":"%d"}`, tag, r.IntN(10)))
	}
	_, _, err := l.call(ctx, "/v1/queues/"+queue+"/messages", "application/json", `{"messages":[`+strings.Join(messages, ",")+`]}`)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, tag := range tags {
		o.sent[tag] = true
	}
	return nil
}

func (o *onReceive) receive(ctx context.Context, l *load, queue string, most int) (int, error) {
	messages, err := l.receive(ctx, queue, fmt.Sprintf(`{"max":%d,"wait":"50ms"}`, most))
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range messages {
		tag := string(messages[i].content())
		if o.came[tag] {
			o.t.Errorf("message %s of %s was delivered twice", tag, queue)
		}
		o.came[tag] = true
	}
	return len(messages), err
}
