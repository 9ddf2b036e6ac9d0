package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// claimID is how one store names a claim.
type claimID struct {
	queue store.QueueID
	token store.Token
}

func (w *historyWorld) prepareClaim(d drawer, q store.QueueID, all bool) (string, doer) {
	p := store.ClaimParams{
		Queue: q, Revision: w.settings[q].Revision, Max: d.few(), MaxBytes: 1 << 30, Visibility: d.duration(), Consumer: d.consumer(),
	}
	if d.one(4) {
		p.MaxBytes = int64(d.IntN(2000))
	}
	if d.one(3) {
		p.Attempt, p.AttemptWindow = [16]byte{byte(1 + d.IntN(3))}, d.duration()
	}
	if all {
		p = store.ClaimParams{Queue: q, Revision: p.Revision, Max: 10_000, MaxBytes: 1 << 30, Visibility: time.Minute}
	}
	name := fmt.Sprintf("Claim(%x, revision %d, max %d, max bytes %d, for %v by %q, attempt %d for %v)",
		uint64(q), p.Revision, p.Max, p.MaxBytes, p.Visibility, p.Consumer, p.Attempt[0], p.AttemptWindow)
	return name, func(s *side) (any, error) {
		r, err := s.store.Claim(w.ctx, p)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "deadline %v died %d expired %d ready %v repeated %v next due %v",
			moment(r.Deadline), r.Died, r.Expired, r.Ready, r.Repeated, r.NextDue)
		if len(r.Messages) > 0 {
			s.claimed, s.claim = r.Messages, s.number(claimID{q, r.Token})
			fmt.Fprintf(&b, " claim %d", s.claim)
		}
		for _, m := range r.Messages {
			fmt.Fprintf(&b, "\n      [%s]", showDelivery(m))
		}
		return b.String(), nil
	}
}

// number is that of a claim, the next one if it is new.
func (s *side) number(id claimID) int {
	n, seen := s.numbers[id]
	if !seen {
		n = len(s.tokens)
		s.tokens = append(s.tokens, id.token)
		s.numbers[id] = n
	}
	return n
}

func showDelivery(m store.Delivery) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s size %d sent %v receives %d entered %d available %v group %q priority %d expires %v",
		m.Seq, brief(m.Payload), m.Size, moment(m.SentAt), m.Receives, m.Entered, moment(m.AvailableAt), m.Group, m.Priority, moment(m.ExpiresAt))
	if o := m.Origin; o != nil {
		fmt.Fprintf(&b, " origin %x %d %v %d %q %q %v",
			uint64(o.Queue), o.Seq, moment(o.SentAt), o.Receives, o.Label, o.Reason, moment(o.MovedAt))
	}
	return b.String()
}

// moment prints a time as the distance from the start of the history.
func moment(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return "+" + at.Sub(epoch).String()
}
