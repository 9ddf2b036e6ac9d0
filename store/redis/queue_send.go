package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueSend = newScript("queue_send")

// send appends messages to a part, together with other sends that wait.
func (s part) send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	if b := sendBurden(p); mergeable(p, b) {
		return merge(ctx, s.Store, s.sends, s.sendKind(p), p, b)
	}
	res, _, err := s.sendAlone(ctx, p)
	return res, err
}

// sendAlone makes one send. It also returns how many messages gave way to each entry, nil if none did.
func (s part) sendAlone(ctx context.Context, p store.SendParams) (store.SendResult, []int, error) {
	r, now, err := s.queue(ctx, queueSend, revised(p.Queue, p.Revision).acked(p.Acks), sendArgs(p)...)
	if err != nil {
		return store.SendResult{}, nil, err
	}
	res, gaveWay, err := r.sent(now, len(p.Entries))
	s.told(p.Queue, r, now, sends, res.Count)
	return res, gaveWay, err
}

// sent reads the reply to a send of n entries.
func (r *reply) sent(now int64, n int) (store.SendResult, []int, error) {
	res := store.SendResult{First: store.Seq(r.int()), Count: int(r.int())}
	gaveWay := r.gaveWay(n)
	for _, k := range gaveWay {
		res.Evicted += k
	}
	res.SentAt = instantOf(r.int())
	res.Duplicate = r.int() == 1
	res.NextDue = until(now, r.int())
	note := r.text()
	if res.Duplicate {
		res.Note = []byte(note)
	}
	for r.more() {
		res.Fates = append(res.Fates, store.Fate{Verdict: store.Verdict(r.int()), Seq: store.Seq(r.int())})
	}
	return res, gaveWay, r.done()
}

// gaveWay reads how many messages gave way to each of n entries; nil if none did.
func (r *reply) gaveWay(n int) []int {
	list := r.list()
	if !list.more() {
		return nil
	}
	all := make([]int, n)
	for list.more() {
		entry, k := list.int(), list.int()
		if entry < 1 || entry > int64(n) {
			list.fail("the number of an entry", entry)
			return nil
		}
		all[entry-1] = int(k)
	}
	return all
}

func sendArgs(p store.SendParams) []any {
	args := make([]any, 0, 5+10*len(p.Entries))
	args = append(args, flag(p.Whole))
	if o := p.Once; o != nil {
		args = append(args, string(o.Key[:]), string(o.Fingerprint[:]), millis(max(o.Window, 0)), o.Note)
	} else {
		args = append(args, "", "", 0, "")
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		args = append(args, e.Payload, e.Size, millis(max(e.Delay, 0)), wallMillis(e.NotBefore), flag(e.InOrder), e.Group, e.Priority,
			millis(e.TTL), keyText(e.Dedup), flag(e.Displace))
	}
	return args
}
