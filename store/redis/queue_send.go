package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueSend = newScript("queue_send")

// send appends messages to a part.
func (s part) send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	r, now, err := s.queue(ctx, queueSend, revised(p.Queue, p.Revision), sendArgs(p)...)
	if err != nil {
		return store.SendResult{}, err
	}
	res := store.SendResult{First: store.Seq(r.int()), Count: int(r.int()), Evicted: int(r.int()), SentAt: instantOf(r.int())}
	res.Duplicate = r.int() == 1
	res.NextDue = until(now, r.int())
	note := r.text()
	if res.Duplicate {
		res.Note = []byte(note)
	}
	for r.more() {
		res.Fates = append(res.Fates, store.Fate{Verdict: store.Verdict(r.int()), Seq: store.Seq(r.int())})
	}
	return res, r.done()
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
