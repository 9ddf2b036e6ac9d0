package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2026, 11, 29, 12, 0, second, 0, time.UTC) }
	ranOut := store.Visit{LeasedAt: at(5), EndedAt: at(6), Consumer: "a", End: store.RanOut}
	nacked := store.Visit{LeasedAt: at(2), EndedAt: at(3), Consumer: "b", End: store.GivenBack, Reason: "no stock"}
	sent := Event{Kind: EventSent, At: at(1)}
	wasNacked := Event{Kind: EventDelivered, At: at(2), EndedAt: at(3), Consumer: "b", Outcome: EndingNacked, Reason: "no stock"}
	hasRunOut := Event{Kind: EventDelivered, At: at(5), EndedAt: at(6), Consumer: "a", Outcome: EndingRanOut}
	for name, tc := range map[string]struct {
		view store.View
		want []Event
	}{
		"sent": {
			store.View{Delivery: store.Delivery{SentAt: at(1)}, State: store.StateReady},
			[]Event{sent},
		},
		"given back": {
			store.View{Delivery: store.Delivery{SentAt: at(1)}, State: store.StateReady, LeasedAt: at(5), Consumer: "a", Visits: []store.Visit{nacked, ranOut}},
			[]Event{sent, wasNacked, hasRunOut},
		},
		"leased": {
			store.View{Delivery: store.Delivery{SentAt: at(1)}, State: store.StateLeased, LeasedAt: at(7), Consumer: "c", Visits: []store.Visit{nacked}},
			[]Event{sent, wasNacked, {Kind: EventDelivered, At: at(7), Consumer: "c", Outcome: EndingLeased}},
		},
		"moved here": {
			store.View{
				Delivery: store.Delivery{SentAt: at(1), Origin: &store.Origin{Label: "work", Reason: "why", Receives: 3, MovedAt: at(4)}},
				State:    store.StateReady,
			},
			[]Event{sent, {Kind: EventMoved, At: at(4), Queue: "work", Reason: "why", Receives: 3}},
		},
		"acked": {
			store.View{LeasedAt: at(7), Consumer: "c", Visits: []store.Visit{nacked}, RemovedAt: at(8), Removal: store.Acked},
			[]Event{
				wasNacked,
				{Kind: EventDelivered, At: at(7), EndedAt: at(8), Consumer: "c", Outcome: EndingAcked},
				{Kind: EventRemoved, At: at(8), Outcome: EndingAcked},
			},
		},
		"acked after the lease": {
			store.View{LeasedAt: at(5), Consumer: "a", Visits: []store.Visit{nacked, ranOut}, RemovedAt: at(8), Removal: store.Acked},
			[]Event{wasNacked, hasRunOut, {Kind: EventRemoved, At: at(8), Outcome: EndingAcked}},
		},
		"purged before anyone received it": {
			store.View{RemovedAt: at(8), Removal: store.Purged},
			[]Event{{Kind: EventRemoved, At: at(8), Outcome: EndingPurged}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, timeline(&tc.view)); diff != "" {
				t.Errorf("timeline (-want +got):\n%s", diff)
			}
		})
	}
}
