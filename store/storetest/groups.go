package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var groupsCases = []testCase{
	{"list by name what has messages", groupsNames},
	{"list by the page", groupsPages},
	{"count messages by state", groupsCount},
	{"show the age of what is next", groupsHead},
	{"show until when a group is locked", groupsLocked},
	{"of fair queues are not locked", groupsFair},
	{"are gone when they are empty", groupsEmpty},
	{"refuse an unknown queue", groupsRefuse},
}

func (f *fixture) groups(q store.QueueID) []store.Group {
	f.Helper()
	f.pause()
	list, err := f.store.Groups(f.Context(), q, nil, 1000)
	if err != nil {
		f.Fatalf("Groups(%v) = %v, want nil", q, err)
	}
	return list
}

func groupNames(list []store.Group) []string {
	var names []string
	for _, g := range list {
		names = append(names, g.Name)
	}
	return names
}

func groupsNames(f *fixture) {
	for _, mode := range []store.Mode{store.Fair, store.FIFO} {
		q := f.queue(store.Settings{Mode: mode})
		f.equal("Groups of an empty queue", groupNames(f.groups(q)), []string(nil))
		f.sendEntries(q, grouped("1", "b"), grouped("2", "a"), entry("3"), grouped("4", "ab"), grouped("5", "b"), grouped("6", "\xff"))
		f.equal("Groups", groupNames(f.groups(q)), []string{"", "a", "ab", "b", "\xff"})
	}
}

func groupsPages(f *fixture) {
	q := f.fifo()
	for _, name := range []string{"d", "", "c", "a", "b"} {
		f.sendGroup(q, name, "m")
	}
	for _, c := range []struct {
		after *string
		limit int
		want  []string
	}{
		{nil, 2, []string{"", "a"}},
		{new(""), 2, []string{"a", "b"}},
		{new("b"), 10, []string{"c", "d"}},
		{new("bb"), 1, []string{"c"}},
		{new("d"), 10, nil},
	} {
		list, err := f.store.Groups(f.Context(), q, c.after, c.limit)
		f.wantError("Groups", err, nil)
		f.equal(fmt.Sprintf("Groups(limit %d)", c.limit), groupNames(list), c.want)
	}
}

func groupsCount(f *fixture) {
	q := f.queue(store.Settings{Mode: store.Fair})
	f.sendGroup(q, "g", "leased", "backing off", "dead", "ready")
	r := f.wantClaim(q, 3, "leased", "backing off", "dead")
	f.settle(q, items(r, store.Ready, time.Hour)[1], items(r, store.Dead, 0)[2])
	e := delayed("delayed", time.Hour)
	e.Group = "g"
	f.sendEntries(q, e, grouped("x", "other"))
	g := f.groups(q)[0]
	f.equal("Groups: Ready, Leased, Delayed and Dead", [4]int64{g.Ready, g.Leased, g.Delayed, g.Dead}, [4]int64{1, 1, 2, 1})
	f.clock.Advance(time.Hour)
	g = f.groups(q)[0]
	f.equal("Groups an hour later: Ready, Leased, Delayed and Dead", [4]int64{g.Ready, g.Leased, g.Delayed, g.Dead}, [4]int64{4, 0, 0, 1})
}

func groupsHead(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "a", "1", "2")
	f.clock.Advance(10 * time.Second)
	f.sendEntries(q, grouped("3", "b"), store.Entry{Group: "c", Delay: time.Hour})
	f.clock.Advance(5 * time.Second)
	list := f.groups(q)
	f.wantHead(list[0], 1, 15*time.Second)
	f.wantHead(list[1], 3, 5*time.Second)
	if list[2].HeadAge >= 0 {
		f.Errorf("Groups: got head age %v of a group with nothing ready, want a negative one", list[2].HeadAge)
	}
	f.equal("Groups: Head of a group with nothing ready", list[2].Head, store.Seq(0))
	f.finish(q, f.wantClaim(q, 1, "1"))
	f.wantHead(f.groups(q)[0], 2, 15*time.Second)
}

// wantHead expects a message to be next in a group, and its age to a second.
func (f *fixture) wantHead(g store.Group, seq store.Seq, age time.Duration) {
	f.Helper()
	if g.Head != seq || g.HeadAge < age-time.Second || g.HeadAge > age+time.Second {
		f.Fatalf("Groups: got head %d of group %q, %v old, want %d, %v old within a second", g.Head, g.Name, g.HeadAge, seq, age)
	}
}

func groupsLocked(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "a", "1", "2", "3")
	f.sendGroup(q, "b", "4")
	f.equal("Groups of what is not locked: LockedUntil", f.groups(q)[0].LockedUntil.IsZero(), true)
	r := f.wantClaim(q, 2, "1", "2")
	locked := f.groups(q)[0]
	f.equal("Groups of a locked group: LockedUntil", locked.LockedUntil.UTC(), r.Deadline.UTC())
	f.equal("Groups of a locked group: Head", locked.Head, store.Seq(1))
	f.equal("Groups of another: LockedUntil", f.groups(q)[1].LockedUntil.IsZero(), true)
	f.settle(q, items(r, store.Done, 0)[0], items(r, store.Ready, time.Hour)[1])
	locked = f.groups(q)[0]
	f.equal("Groups of a group that backs off: LockedUntil", locked.LockedUntil.UTC(), f.clock.Now().Add(time.Hour))
	f.equal("Groups of a group that backs off: Head", locked.Head, store.Seq(2))
	f.clock.Advance(time.Hour)
	f.equal("Groups after a backoff: LockedUntil", f.groups(q)[0].LockedUntil.IsZero(), true)
}

func groupsFair(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "a", "1", "2")
	f.wantClaim(q, 1, "1")
	g := f.groups(q)[0]
	f.equal("Groups of a fair queue: LockedUntil", g.LockedUntil.IsZero(), true)
	f.wantHead(g, 2, 0)
}

func groupsEmpty(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "a", "1")
	f.sendGroup(q, "b", "2")
	f.sendGroup(q, "c", "3")
	f.finish(q, f.wantClaim(q, 1, "1"))
	f.settle(q, items(f.wantClaim(q, 1, "2"), store.Dead, 0)...)
	f.equal("Groups with a dead message", groupNames(f.groups(q)), []string{"b", "c"})
	f.purge(q, store.Selection{Group: new("b")})
	f.equal("Groups after a purge of one", groupNames(f.groups(q)), []string{"c"})
}

func groupsRefuse(f *fixture) {
	_, err := f.store.Groups(f.Context(), 404, nil, 10)
	f.wantError("Groups of an unknown queue", err, store.ErrGone)
}
