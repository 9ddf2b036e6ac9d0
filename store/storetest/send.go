package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var sendCases = []testCase{
	{"numbers messages from one without gaps", sendNumbers},
	{"says when", sendTime},
	{"keeps the order of a batch", sendBatchOrder},
	{"takes a thousand messages at once", sendThousand},
	{"tells messages of one millisecond apart", sendSameMoment},
	{"keeps every byte", sendBytes},
	{"does not hold on to the caller's bytes", sendCopies},
	{"counts the size it is told", sendSize},
	{"delays to the millisecond", sendDelay},
	{"waits for a wall-clock time", sendNotBefore},
	{"waits for the later of two", sendLaterOfTwo},
	{"is at once when the time has passed", sendPast},
	{"lets a newcomer pass a delayed message", sendDelayedIsPassed},
	{"refuses what is gone or stale", sendRefuses},
}

func sendNumbers(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	for _, step := range []struct {
		queue  store.QueueID
		bodies []string
		first  store.Seq
	}{
		{q, []string{"a"}, 1},
		{q, []string{"b", "c", "d"}, 2},
		{other, []string{"x"}, 1},
		{q, []string{"e"}, 5},
	} {
		r := f.send(step.queue, step.bodies...)
		f.equal(fmt.Sprintf("Send(%q).First", step.bodies), r.First, step.first)
		f.equal(fmt.Sprintf("Send(%q).Count", step.bodies), r.Count, len(step.bodies))
		f.equal(fmt.Sprintf("Send(%q).Duplicate", step.bodies), r.Duplicate, false)
	}
	r := f.wantClaim(q, 10, "a", "b", "c", "d", "e")
	for i, m := range r.Messages {
		f.equal(fmt.Sprintf("Claim: Seq of message %d", i), m.Seq, store.Seq(i+1))
	}
}

func sendTime(f *fixture) {
	q := f.queue(store.Settings{})
	f.clock.Advance(1500 * time.Millisecond)
	want := f.clock.Now()
	r := f.send(q, "a")
	f.equal("Send.SentAt", r.SentAt.UTC(), want)
	f.clock.Advance(time.Minute)
	m, _ := f.claimOne(q)
	f.equal("Claim: SentAt", m.SentAt.UTC(), want)
}

func sendBatchOrder(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.send(q, "d")
	f.send(q, "e", "f")
	f.wantClaim(q, 2, "a", "b")
	f.wantClaim(q, 3, "c", "d", "e")
	f.wantClaim(q, 3, "f")
}

func sendThousand(f *fixture) {
	q := f.queue(store.Settings{})
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprintf("message %d", i))
	}
	f.send(q, want...)
	f.wantClaim(q, 1000, want...)
}

// "Equal-millisecond ids."
func sendSameMoment(f *fixture) {
	q := f.queue(store.Settings{})
	for _, body := range []string{"a", "b", "c"} {
		f.send(q, body)
	}
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.settle(q, items(r, store.Done, 0)[1])
	f.settle(q, items(r, store.Ready, 0)[0])
	f.wantCounts(q, "after one of three was acknowledged", counts{Ready: 1, Leased: 1, Bytes: 2})
	f.wantClaim(q, 3, "a")
}

func sendBytes(f *fixture) {
	q := f.queue(store.Settings{})
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	payloads := [][]byte{
		nil,
		{},
		{0},
		all,
		bytes.Repeat([]byte{0}, 4096),
		bytes.Repeat([]byte{0xFF}, 4095),
		bytes.Repeat(all, 4<<20/len(all)),
	}
	for _, p := range payloads {
		f.sendEntries(q, store.Entry{Payload: p, Size: uint32(len(p))})
	}
	r := f.claim(q, len(payloads))
	f.equal("Claim: number of messages", len(r.Messages), len(payloads))
	for i, m := range r.Messages {
		if !bytes.Equal(m.Payload, payloads[i]) {
			f.Errorf("Claim: payload %d of %d bytes came back different, with %d bytes", i, len(payloads[i]), len(m.Payload))
		}
		f.equal(fmt.Sprintf("Claim: Size of message %d", i), m.Size, uint32(len(payloads[i])))
	}
}

func sendCopies(f *fixture) {
	q := f.queue(store.Settings{})
	payload, note := []byte("payload"), []byte("note")
	once := store.Once{Key: [16]byte{1}, Window: time.Minute, Note: note}
	f.sendOnce(q, &once, store.Entry{Payload: payload, Size: 7})
	copy(payload, "XXXXXXX")
	copy(note, "XXXX")
	f.equal("repeated Send.Note", string(f.sendOnce(q, &once, entry("b")).Note), "note")
	r := f.wantClaim(q, 1, "payload")
	copy(r.Messages[0].Payload, "YYYYYYY") // it belongs to the receiver
	f.settle(q, items(r, store.Ready, 0)...)
	f.wantClaim(q, 1, "payload")
}

func sendSize(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, store.Entry{Payload: []byte("stored"), Size: 3}, store.Entry{Payload: []byte("x"), Size: 1 << 31})
	f.wantCounts(q, "of told sizes", counts{Ready: 2, Bytes: 3 + 1<<31})
	r := f.claim(q, 2)
	f.equal("Claim: Size", []uint32{r.Messages[0].Size, r.Messages[1].Size}, []uint32{3, 1 << 31})
}

func sendDelay(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", 5*time.Second))
	f.clock.Advance(5*time.Second - time.Millisecond)
	f.wantClaim(q, 1)
	f.wantCounts(q, "just before the delay ends", counts{Delayed: 1, Bytes: 1})
	f.clock.Advance(time.Millisecond)
	f.wantCounts(q, "when the delay ends", counts{Ready: 1, Bytes: 1})
	f.wantClaim(q, 1, "a")
}

func sendNotBefore(f *fixture) {
	q := f.queue(store.Settings{})
	e := entry("a")
	e.NotBefore = f.clock.Now().Add(time.Hour)
	f.sendEntries(q, e)
	f.clock.Advance(time.Hour - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 1, "a")
}

func sendLaterOfTwo(f *fixture) {
	q := f.queue(store.Settings{})
	now := f.clock.Now()
	f.sendEntries(q,
		store.Entry{Payload: []byte("a"), Delay: 2 * time.Second, NotBefore: now.Add(time.Second)},
		store.Entry{Payload: []byte("b"), Delay: time.Second, NotBefore: now.Add(3 * time.Second)})
	f.clock.Advance(1999 * time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "a")
	f.clock.Advance(999 * time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "b")
}

func sendPast(f *fixture) {
	q := f.queue(store.Settings{})
	e := entry("a")
	e.NotBefore = f.clock.Now().Add(-time.Hour)
	f.sendEntries(q, e)
	f.wantClaim(q, 1, "a")
}

// A message takes its place when it becomes available, not when it was sent.
func sendDelayedIsPassed(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("late", time.Minute), entry("a"))
	f.clock.Advance(2 * time.Minute)
	f.send(q, "b")
	f.wantClaim(q, 3, "a", "late", "b")
}

func sendRefuses(f *fixture) {
	q := f.queue(store.Settings{})
	for _, c := range []struct {
		name   string
		params store.SendParams
		want   error
	}{
		{"an unknown queue", store.SendParams{Queue: 404, Revision: 1}, store.ErrGone},
		{"a newer revision", store.SendParams{Queue: q, Revision: 2}, store.ErrStaleConfig},
		{"an older revision", store.SendParams{Queue: q}, store.ErrStaleConfig},
	} {
		c.params.Entries = entries(strings.Repeat("x", 100))
		c.params.Once = &store.Once{Key: [16]byte{7}, Window: time.Hour}
		_, err := f.store.Send(f.Context(), c.params)
		f.wantError("Send to "+c.name, err, c.want)
	}
	f.wantCounts(q, "after refused sends", counts{})
	r := f.sendOnce(q, &store.Once{Key: [16]byte{7}, Window: time.Hour}, entry("a"))
	f.equal("Send after refused sends: First", r.First, store.Seq(1))
	f.equal("Send after refused sends: Duplicate", r.Duplicate, false)
}
