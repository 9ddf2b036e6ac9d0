package integration

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// work runs clients until the function it returns is called, which waits for them.
func (x *trial) work() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	run := func(client func(context.Context, *rand.Rand)) {
		r := random(x.r.Uint64(), 0)
		all.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				client(ctx, r)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	for range 2 {
		run(x.sendSome)
		run(x.consumeSome)
	}
	run(x.appendSome)
	for _, queue := range x.queues {
		if strings.HasSuffix(queue, ".fifo") {
			last := make(map[string]int)
			run(func(ctx context.Context, r *rand.Rand) { x.sendInOrder(ctx, r, queue, last) })
		}
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// compose makes up a message or record.
func (x *trial) compose(r *rand.Rand, place, group string) (*item, string) {
	body := make([]byte, 1+r.IntN(200))
	for i := range body {
		body[i] = byte('a' + r.IntN(26))
	}
	return &item{tag: "m" + strconv.FormatInt(x.tags.Add(1), 10), place: place, group: group, hash: sha256.Sum256(body)}, string(body)
}

// batch makes up messages for a queue and the request that sends them.
func (x *trial) batch(r *rand.Rand, queue string, size int, group func() string) ([]*item, string) {
	var items []*item
	var many []string
	for range size {
		g := ""
		if group != nil {
			g = group()
		}
		i, body := x.compose(r, queue, g)
		one := fmt.Sprintf(`{"body":%q,"attributes":{"tag":%q}`, body, i.tag)
		if g != "" {
			one += fmt.Sprintf(`,"group":%q,"dedup_id":%q`, g, i.tag)
		}
		items, many = append(items, i), append(many, one+"}")
	}
	return items, `{"messages":[` + strings.Join(many, ",") + `]}`
}

// sendSome sends to one of the standard queues, once without a key, with one until it is known that it happened.
func (x *trial) sendSome(ctx context.Context, r *rand.Rand) {
	queue := x.queues[r.IntN(len(x.queues))]
	if strings.HasSuffix(queue, ".fifo") {
		return
	}
	items, body := x.batch(r, queue, 1+r.IntN(4), nil)
	path := "/v1/queues/" + queue + "/messages"
	all := queue == copied
	if r.IntN(8) == 0 {
		path, all = path+"?acks=all", true
	}
	key := ""
	if r.IntN(2) == 0 {
		key = items[0].tag
	}
	x.send(ctx, r, items, all, path, body, key)
}

// send sends items, and again if that does no harm. It returns when that is answered, or the clients end.
func (x *trial) send(ctx context.Context, r *rand.Rand, items []*item, all bool, path, body, key string) bool {
	for _, i := range items {
		i.all, i.copied = all, i.place == copied
	}
	x.book.intend(items)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		n := x.node(r)
		x.book.with(func() {
			for _, i := range items {
				i.tries++
				i.refused = false // it may be delivered before this try is answered
			}
		})
		said, answer := x.call(n, path, body, key)
		switch said {
		case happened:
			ids, duplicate := idsOf(x.t, answer)
			x.book.confirm(items, n, ids, duplicate)
			return true
		case mayHave:
			x.book.doubt(items)
		case hasNot:
			x.book.refuse(items)
		}
		if key == "" && items[0].group == "" {
			return false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// idsOf are the ids, or offsets, in an answer to a send or an append, and whether it says that it had happened before.
func idsOf(t *testing.T, answer []byte) (ids []string, duplicate bool) {
	var sent struct {
		Results []struct {
			ID        string
			Offset    *uint64
			Duplicate bool
			Error     *struct{ Code, Detail string }
		}
		Duplicate bool
	}
	if err := json.Unmarshal(answer, &sent); err != nil {
		t.Errorf("a send was answered with %s: %v", answer, err)
	}
	duplicate = sent.Duplicate
	for _, one := range sent.Results {
		duplicate = duplicate || one.Duplicate
		if one.Error != nil {
			t.Errorf("a send was answered with %s", answer)
		}
		if one.Offset != nil {
			one.ID = fmt.Sprint(*one.Offset)
		}
		ids = append(ids, one.ID)
	}
	return ids, duplicate
}

// sendInOrder sends the next messages of one group; last are the numbers of the last ones.
func (x *trial) sendInOrder(ctx context.Context, r *rand.Rand, queue string, last map[string]int) {
	g := fmt.Sprintf("g%d", r.IntN(trialGroups))
	items, body := x.batch(r, queue, 1+r.IntN(3), func() string { return g })
	for _, i := range items {
		last[g]++
		i.number = last[g]
	}
	path := "/v1/queues/" + queue + "/messages"
	all := r.IntN(8) == 0
	if all {
		path += "?acks=all"
	}
	x.send(ctx, r, items, all, path, body, "")
}

// appendSome appends records to a partition.
func (x *trial) appendSome(ctx context.Context, r *rand.Rand) {
	p := r.IntN(trialPartitions)
	var items []*item
	var many []string
	for range 1 + r.IntN(3) {
		i, body := x.compose(r, fmt.Sprintf("%s/%d", trialTopic, p), "")
		i.record = true
		items = append(items, i)
		many = append(many, fmt.Sprintf(`{"value":%q,"headers":{"tag":%q},"partition":%d}`, body, i.tag, p))
	}
	key := ""
	if r.IntN(2) == 0 {
		key = items[0].tag
	}
	x.send(ctx, r, items, false, "/v1/topics/"+trialTopic+"/records", `{"records":[`+strings.Join(many, ",")+`]}`, key)
}

// consumeSome receives and settles.
func (x *trial) consumeSome(_ context.Context, r *rand.Rand) {
	queue, n := x.queues[r.IntN(len(x.queues))], x.node(r)
	before := x.broken.Load()
	said, answer := x.call(n, "/v1/queues/"+queue+"/receive", fmt.Sprintf(`{"max":%d,"wait":"100ms"}`, 1+r.IntN(10)), "")
	if said != happened {
		return
	}
	var got received
	if err := json.Unmarshal(answer, &got); err != nil {
		x.t.Errorf("a receive was answered with %s: %v", answer, err)
		return
	}
	items := x.take(queue, got.Messages, before)
	if x.bold {
		x.settleBoldly(r, n, queue, items, got.Messages)
		return
	}
	var old []*item
	var messages []message
	for i := range got.Messages {
		if items[i] != nil && items[i].safe {
			old, messages = append(old, items[i]), append(messages, got.Messages[i])
		}
	}
	x.ack(n, queue, old, messages)
}

// settleBoldly does one of the things that consumers do.
func (x *trial) settleBoldly(r *rand.Rand, n *node, queue string, items []*item, messages []message) {
	if len(messages) == 0 || slices.Contains(items, nil) {
		return
	}
	half := (len(items) + 1) / 2
	what := r.IntN(8)
	if what < 2 {
		x.book.with(func() { x.book.sum.nacked += len(items) })
	}
	switch what {
	case 0:
		x.giveUp(queue, messages)
		x.call(n, "/v1/queues/"+queue+"/nack", `{"receipts":`+receipts(messages)+`,"delay":"100ms"}`, "")
	case 1:
		x.giveUp(queue, messages) // heartbeats are not followed
		x.call(n, "/v1/queues/"+queue+"/extend", `{"receipts":`+receipts(messages)+`,"visibility":"1500ms"}`, "")
	case 2: // like a consumer that crashed
	case 3:
		x.ack(n, queue, items[:half], messages[:half])
	default:
		x.ack(x.node(r), queue, items, messages)
	}
}

// take notes what a receive got: in a group it is in order, and nobody else has some of it unless the store failed.
func (x *trial) take(queue string, messages []message, before int64) []*item {
	items := make([]*item, len(messages))
	for i := range messages {
		items[i] = x.book.deliver(queue, &messages[i])
	}
	if !strings.HasSuffix(queue, ".fifo") {
		return items
	}
	now := x.broken.Load()
	x.holds.Lock()
	defer x.holds.Unlock()
	last := make(map[string]int)
	for i := range messages {
		m, p := &messages[i], place{queue, messages[i].Group}
		if items[i] == nil {
			continue
		}
		if number := items[i].number; number <= last[m.Group] {
			x.t.Errorf("%v gave number %d after %d", p, number, last[m.Group])
		} else if last[m.Group] == 0 {
			h := x.holds.of[p]
			if h != nil && len(h.open) > 0 && h.ends.After(time.Now().Add(skew)) && h.broken == now && before == now && now%2 == 0 {
				x.t.Errorf("%v is given to two at once", p)
			}
			x.holds.of[p] = &groupHold{ends: m.Lease.ExpiresAt, broken: now, open: make(map[string]bool)}
		}
		last[m.Group] = items[i].number
		x.holds.of[p].open[m.Receipt] = true
	}
	return items
}

// giveUp notes that messages are about to be settled.
func (x *trial) giveUp(queue string, messages []message) {
	x.holds.Lock()
	defer x.holds.Unlock()
	for i := range messages {
		if h := x.holds.of[place{queue, messages[i].Group}]; h != nil {
			delete(h.open, messages[i].Receipt)
		}
	}
}

// ack acks messages; it returns how many of them were.
func (x *trial) ack(n *node, queue string, items []*item, messages []message) (done int) {
	if len(items) == 0 {
		return 0
	}
	x.giveUp(queue, messages)
	x.book.acking(items)
	said, answer := x.call(n, "/v1/queues/"+queue+"/ack", `{"receipts":`+receipts(messages)+`}`, "")
	if said == mayHave {
		return 0
	}
	var outcomes struct{ Results []outcome }
	if said == happened {
		if err := json.Unmarshal(answer, &outcomes); err != nil || len(outcomes.Results) != len(items) {
			x.t.Errorf("an ack of %d was answered with %s: %v", len(items), answer, err)
			return 0
		}
	}
	for i, one := range items {
		ok := said == happened && outcomes.Results[i].OK
		if said == happened && !ok && outcomes.Results[i].Error.Code != "lease_lost" {
			x.t.Errorf("the ack of %s was answered with %+v", one.tag, outcomes.Results[i].Error)
		}
		if ok {
			done++
		}
		x.book.acknowledge(one, n, messages[i].Lease.Token, ok)
	}
	return done
}
