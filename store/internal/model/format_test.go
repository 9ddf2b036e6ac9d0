package model

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

// TestTheFlagsOfSettings changes the byte that said expired dead and nothing else when there was no tail: what was written
// then must read as it did.
func TestTheFlagsOfSettings(t *testing.T) {
	ev := Configured{At: 1, Settings: store.Settings{Revision: 2, Mode: store.FIFO, History: 3}}
	b := ev.Encode(nil)
	at := len(b) - 5 // before the history
	for flags, want := range []store.Settings{
		{}, {ExpiredDead: true}, {Tail: true}, {ExpiredDead: true, Tail: true},
	} {
		want.Revision, want.Mode, want.History = 2, store.FIFO, 3
		b[at] = byte(flags)
		got, err := DecodeConfigured(b)
		if diff := cmp.Diff(want, got.Settings); diff != "" || err != nil {
			t.Errorf("settings with flags %d: %v (-want +got):\n%s", flags, err, diff)
		}
		if again := got.Encode(nil); again[at] != byte(flags) {
			t.Errorf("flags %d are written as %d", flags, again[at])
		}
	}
	b[at] = 4
	if _, err := DecodeConfigured(b); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("settings with an unknown flag: got %v, want %v", err, store.ErrCorrupt)
	}
}

// TestTheContentsOfMoved encodes messages with and without an origin in one record.
func TestTheContentsOfMoved(t *testing.T) {
	origin := &store.Origin{Queue: 2, Seq: 1, SentAt: Time(5), Receives: 4, Label: "l", Reason: "r", MovedAt: Time(testNow)}
	b := EncodeMoved(nil, 3, []Moved{
		{Body: Body{Seq: 4, Group: "g"}, NewSize: 3, Payload: []byte("new")},
		{Body: Body{Seq: 5}, Origin: origin, NewSize: 5, Payload: []byte("moved")},
		{Body: Body{Seq: 6, Expires: 9}},
	})
	Stamp(b, 7, testNow, 11)
	batch, err := DecodeBatch(b, 7)
	if err != nil {
		t.Fatal(err)
	}
	if !batch.Renewed() || batch.Source != 3 {
		t.Errorf("renewed %v from queue %d, want true from 3", batch.Renewed(), batch.Source)
	}
	want := []Stored{
		{Size: 3, SentAt: testNow, Payload: []byte("new")},
		{Size: 5, SentAt: testNow, Payload: []byte("moved"), Origin: origin},
		{SentAt: testNow, Payload: []byte{}},
	}
	for i, in := range batch.MovedIn().Entries {
		got, err := batch.Message(11 + store.Seq(i))
		if diff := cmp.Diff(want[i], got); diff != "" || err != nil {
			t.Errorf("message %d: %v (-want +got):\n%s", i, err, diff)
		}
		if (in.Alias == 0) != (got.Origin == nil) {
			t.Errorf("message %d has alias %d and origin %v, want both or none", i, in.Alias, got.Origin)
		}
	}
}
