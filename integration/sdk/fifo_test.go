package sdk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The load of TestManyClientsOnOneFIFOQueue.
const (
	fifoClients = 64
	fifoGroups  = 16
	perGroup    = 40
)

// TestManyClientsOnOneFIFOQueue has 64 clients send to and consume one queue at once: each group comes in order, nothing is
// lost or delivered to two at a time, and what was sent twice comes once.
func TestManyClientsOnOneFIFOQueue(t *testing.T) {
	t.Parallel()
	base := start(t)
	url := create(t, client(base), "load.fifo", map[string]string{"FifoQueue": "true"})

	var wg sync.WaitGroup
	for g := range fifoGroups {
		wg.Go(func() {
			if err := fillGroup(t, client(base), url, "g"+strconv.Itoa(g)); err != nil {
				t.Error(err)
			}
		})
	}
	l := &ledger{next: map[string]int{}, busy: map[string]bool{}}
	for range fifoClients - fifoGroups {
		wg.Go(func() {
			c := client(base)
			for l.done.Load() < fifoGroups*perGroup && !t.Failed() {
				if err := l.consume(t, c, url); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := receive(t, client(base), url, 10); len(got) > 0 {
		t.Errorf("%d messages are left or came twice: %v", len(got), bodies(got))
	}
	for group, n := range l.next {
		if n != perGroup {
			t.Errorf("group %s: %d messages came, want %d", group, n, perGroup)
		}
	}
}

// fillGroup sends the messages of one group in order, each twice.
func fillGroup(t *testing.T, c *sqs.Client, url *string, group string) error {
	for i := range perGroup {
		body := group + "/" + strconv.Itoa(i)
		var first string
		for range 2 {
			out, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{
				QueueUrl: url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: aws.String(strings.ReplaceAll(body, "/", "-")),
			})
			if err != nil {
				return fmt.Errorf("send %s: %w", body, err)
			}
			if first != "" && *out.MessageId != first {
				return fmt.Errorf("%s sent again has the id %s, was %s", body, *out.MessageId, first)
			}
			first = *out.MessageId
		}
	}
	return nil
}

// ledger knows what has come and who is at work.
type ledger struct {
	done atomic.Int64
	mu   sync.Mutex
	next map[string]int
	busy map[string]bool
}

// consume handles one receive.
func (l *ledger) consume(t *testing.T, c *sqs.Client, url *string) error {
	out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 3, WaitTimeSeconds: 1, VisibilityTimeout: 300})
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, m := range out.Messages {
		if err := l.take(*m.Body, held); err != nil {
			return err
		}
	}
	l.release(held)
	for _, m := range out.Messages {
		if err := remove(t, c, url, m); err != nil {
			return err
		}
		l.done.Add(1)
	}
	return nil
}

// take notes that the caller works on a message; held are the groups that it has already.
func (l *ledger) take(body string, held map[string]bool) error {
	group, number, _ := strings.Cut(body, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[group] && !held[group] {
		return fmt.Errorf("two clients hold messages of group %s", group)
	}
	l.busy[group], held[group] = true, true
	if l.next[group] != n {
		return fmt.Errorf("group %s: message %d came, want %d", group, n, l.next[group])
	}
	l.next[group]++
	return nil
}

// release comes before the deletes, since the group is free for others the moment the server has done the last of them.
func (l *ledger) release(held map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for group := range held {
		l.busy[group] = false
	}
}

func remove(t *testing.T, c *sqs.Client, url *string, m types.Message) error {
	if m.ReceiptHandle == nil {
		return errors.New("a message without a handle")
	}
	_, err := c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle})
	return err
}
