package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// survey leases everything that the queues hold, compares it with the ledger, repeats what was cut off, acks a part and
// gives the rest back.
func (l *load) survey(ctx context.Context, r *rand.Rand) error {
	found := map[string][]message{}
	if err := l.leaseAll(ctx, found); err != nil {
		return err
	}
	held := map[string]int{}
	for _, queue := range []string{jobs, rejects} {
		l.ledger.deliver(queue, found[queue])
		for i := range found[queue] {
			held[found[queue][i].Attributes["tag"]]++
		}
	}
	if err := l.repeatPending(ctx, held); err != nil {
		return err
	}
	for queue, messages := range found {
		if err := l.giveBack(ctx, queue, messages, r); err != nil {
			return err
		}
	}
	return nil
}

// leaseAll receives until a queue has nothing but what is leased here. A message may move from jobs to rejects in the
// meantime, so rejects is looked at last.
func (l *load) leaseAll(ctx context.Context, found map[string][]message) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		done := true
		for _, queue := range []string{jobs, rejects} {
			c, err := l.counts(ctx, queue)
			if err != nil {
				return err
			}
			if c.Ready == 0 && c.Delayed == 0 && c.Dead == 0 && c.Leased == int64(len(found[queue])) {
				continue
			}
			done = false
			got, err := l.receive(ctx, queue, `{"max":1000,"wait":"100ms","visibility":"10m"}`)
			if err != nil {
				return fmt.Errorf("%s has %+v, of which %d are leased here: %w", queue, c, len(found[queue]), err)
			}
			found[queue] = append(found[queue], got...)
		}
		if done {
			return nil
		}
	}
}

func (l *load) counts(ctx context.Context, queue string) (counts, error) {
	var q struct{ Counts counts }
	err := l.get(ctx, "/v1/queues/"+queue, &q)
	return q.Counts, err
}

func (l *load) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+path, nil)
	if err != nil {
		return err
	}
	res, err := l.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s = %d: %.1000s", req.URL, res.StatusCode, content)
	}
	return nil
}

// repeatPending repeats what was cut off, once it is known what the queues hold.
func (l *load) repeatPending(ctx context.Context, held map[string]int) error {
	l.ledger.settle(held)
	for _, req := range l.ledger.takePending() {
		ids, duplicate, err := l.send(ctx, req)
		if err != nil {
			return err
		}
		l.ledger.repeated(req, ids, duplicate, held)
	}
	l.ledger.forget(held)
	return nil
}

// giveBack acks what is more than a few hundred, and lets the other leases end.
func (l *load) giveBack(ctx context.Context, queue string, messages []message, r *rand.Rand) error {
	const keep = 300
	r.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
	for len(messages) > keep {
		n := min(1000, len(messages)-keep)
		if err := l.ack(ctx, queue, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	if len(messages) == 0 {
		return nil
	}
	l.ledger.giveUp(messages)
	_, err := l.results(ctx, queue, "extend", `{"receipts":`+receipts(messages)+`,"visibility":0}`)
	return err
}

// drain acks everything.
func (l *load) drain(ctx context.Context) error {
	found := map[string][]message{}
	if err := l.leaseAll(ctx, found); err != nil {
		return err
	}
	for queue, messages := range found {
		l.ledger.deliver(queue, messages)
		for len(messages) > 0 {
			n := min(1000, len(messages))
			if err := l.ack(ctx, queue, messages[:n]); err != nil {
				return err
			}
			messages = messages[n:]
		}
		c, err := l.counts(ctx, queue)
		if err != nil {
			return err
		}
		if c != (counts{}) {
			return fmt.Errorf("%s has %+v after everything was acked", queue, c)
		}
	}
	return nil
}

// percentile of durations; they are sorted.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
