package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// fault is something that happens to the store or to a node while clients work.
type fault struct {
	name string
	// failover: all nodes that are there have to report that the store may have lost something.
	failover bool
	// do does it, and returns when all is whole again.
	do func()
}

// round has clients work, breaks something, and compares what is there then with what the clients know and the nodes report.
func (x *trial) round(f fault, whole func()) {
	t := x.t
	t.Helper()
	before := x.book.now()
	x.prepare(whole)
	stop := x.work()
	x.await(100)
	begun := time.Now()
	x.broken.Add(1)
	f.do()
	x.ready()
	took := time.Since(begun)
	x.broken.Add(1)
	x.await(100)
	stop()
	stopped := time.Now()
	whole()
	x.ready()
	x.survey()
	x.compare(f)
	after := x.book.now()
	t.Logf("%s: whole after %v, surveyed in %v; lost %d sends, %d appends, %d acks, reported %v", f.name, took.Round(time.Millisecond), time.Since(stopped).Round(time.Millisecond),
		after.sends-before.sends, after.appends-before.appends, after.acks-before.acks, after.reported)
	if t.Failed() {
		t.Fatalf("after %d rounds: %v", after.rounds, after)
	}
}

// await lets the clients get some more answers.
func (x *trial) await(more int64) {
	x.t.Helper()
	from := x.answers.Load()
	eventually(x.t, "answers", func() bool { return x.answers.Load() >= from+more })
}

// ready waits until all nodes say that they are.
func (x *trial) ready() {
	x.t.Helper()
	for i := range x.slots {
		c := x.slots[i].Load().c
		eventually(x.t, "a node to be ready", func() bool { return c.get("/readyz").status == http.StatusOK })
	}
}

// compare holds what nodes report against what the clients know is lost.
func (x *trial) compare(f fault) {
	t := x.t
	t.Helper()
	x.book.with(func() { x.book.sum.rounds++ })
	if f.failover {
		x.book.with(func() { x.book.sum.failovers++ })
		for i := range x.slots {
			n := x.slots[i].Load()
			eventually(t, n.name+" to report a failover", func() bool { now, _ := n.reported(t); return now > n.failovers })
		}
	}
	sum := x.book.now()
	late := time.After(patience / 2)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; { // they count in the background
		r := x.report()
		waiting = r["send"] < sum.sends-sum.repeats || r["append"] < sum.appends || r["settle"] < sum.acks
		select {
		case <-tick.C:
		case <-late:
			waiting = false
		}
	}
	reported := x.report()
	x.book.with(func() { x.book.sum.reported = reported })
	wrong := false
	for _, c := range []struct {
		kind             string
		lost, less, more int
	}{
		// Whom only a deduplication id told that his message is there was told of no change.
		{"send", sum.sends, sum.repeats, sum.unknownAll + sum.hidden},
		{"append", sum.appends, 0, 0},
		{"settle", sum.acks, 0, sum.ackedTwice + sum.hidden + sum.nacked},
	} {
		if n := reported[c.kind]; n < c.lost-c.less || n > c.lost+c.more {
			wrong = true
			t.Errorf("%s: the nodes report %d of kind %q lost, the clients know of %d, of which %d may not be reported, and of %d that may be lost beside them",
				f.name, n, c.kind, c.lost, c.less, c.more)
		}
	}
	x.book.explain(wrong)
	for i := range x.slots {
		n := x.slots[i].Load()
		now, _ := n.reported(t)
		var info struct{ Failovers struct{ Count int } }
		n.c.get("/v1/info").want(http.StatusOK).into(&info)
		logged := strings.Contains(n.srv.log.String(), "failed over")
		switch {
		case info.Failovers.Count < now:
			t.Errorf("%s: /v1/info of %s says that there were %d failovers, /metrics %d", f.name, n.name, info.Failovers.Count, now)
		case f.failover && !logged:
			t.Errorf("%s: %s did not log it", f.name, n.name)
		case !f.failover && now != n.failovers:
			t.Errorf("%s: %s reports %d failovers, there was none", f.name, n.name, now-n.failovers)
		}
		n.failovers = now
	}
}

// report is what all nodes that are there report in sum.
func (x *trial) report() counters {
	sum := make(counters)
	for i := range x.slots {
		_, lost := x.slots[i].Load().reported(x.t)
		for kind, n := range lost {
			sum[kind] += n
		}
	}
	return sum
}

// finish shows what a run went through, and fails one that went through too little.
func (x *trial) finish() {
	sum := x.book.now()
	x.t.Logf("%v", sum)
	if sum.acknowledged == 0 || sum.acked == 0 || sum.delivered == 0 {
		x.t.Error("this run says nothing")
	}
}

// TestSingleRedisFails kills and freezes a Redis with appendfsync always, parts one of the nodes from it, and kills that node.
// Nothing that was acknowledged is lost.
func TestSingleRedisFails(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--appendfsync", "always")
	proxy := redistest.StartProxy(t, redis)
	x := newTrial(t, [2]string{redis.URL, proxy.URL}, 1, nil)
	x.bold = true
	noticed := func() {
		c := x.slots[1].Load().c
		eventually(t, "a node to notice", func() bool { return c.get("/readyz").status != http.StatusOK })
	}
	faults := []fault{
		{"kill -9 of Redis", true, func() { redis.Kill(); noticed(); redis.Restart(t) }},
		{"Redis frozen", false, func() { redis.Freeze(t); noticed(); redis.Thaw(t) }},
		{"requests of a node stalled", false, func() { proxy.Stall(redistest.ToServer); noticed(); x.await(100); proxy.Heal() }},
		{"answers to a node stalled", false, func() { proxy.Stall(redistest.ToClient); noticed(); x.await(100); proxy.Heal() }},
		{"connections of a node cut", false, func() { proxy.Cut(); noticed(); x.await(100); proxy.Heal() }},
		{"kill -9 of a node", false, func() { x.killNode(1); x.await(100); x.startNode(1) }},
	}
	for range size(1, 10) {
		for _, f := range faults {
			x.round(f, func() {})
		}
	}
	x.finish()
	sum := x.book.now()
	if sum.sends+sum.appends+sum.acks+sum.goneSends+sum.goneAppends+sum.goneAcks > 0 {
		t.Error("something is lost")
	}
	for kind, n := range sum.reported {
		if n > 0 {
			t.Errorf("the nodes report %d of kind %q lost", n, kind)
		}
	}
}

// TestSentinelFailsOver kills the master while its replicas are behind, and parts it from them together with one of the
// nodes, so that both sides go on. What is lost is reported, exactly.
func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	net := redistest.NewNet(t)
	s := redistest.StartSentinelOn(t, net)
	x := newTrial(t, [2]string{s.URL, s.URL}, 2, net.Join)
	whole := func() { s.AwaitWhole(t) }
	x.tooFewCopies(without(s.Servers, s.Master(t)))
	faults := []fault{
		{"kill -9 of the master, replicas behind", true, func() {
			old := s.Master(t)
			net.Between(names(old), names(without(s.Servers, old)...))
			x.await(200)
			old.Kill()
			net.Sever()
			s.AwaitFailover(t, old)
			x.await(100)
			old.Restart(t)
			whole()
		}},
		{"the master parted from all but a node", true, func() {
			old := s.Master(t)
			net.Isolate(old.Name, x.slots[x.r.IntN(2)].Load().name)
			s.AwaitFailover(t, old)
			x.await(200)
			net.Heal()
			whole()
		}},
	}
	if torture() {
		faults = append(faults,
			fault{"kill -9 of the master", true, func() {
				old := s.Master(t)
				old.Kill()
				s.AwaitFailover(t, old)
				old.Restart(t)
				whole()
			}},
			fault{"the master frozen", true, func() {
				old := s.Master(t)
				old.Freeze(t)
				s.AwaitFailover(t, old)
				old.Thaw(t)
				whole()
			}},
			fault{"the master parted from all but the nodes", true, func() {
				old := s.Master(t)
				net.Isolate(old.Name, x.slots[0].Load().name, x.slots[1].Load().name)
				s.AwaitFailover(t, old)
				x.await(200)
				net.Heal()
				whole()
			}})
	}
	x.torment(faults, whole)
}

// torment goes through faults that lose something. In a long run half of the rounds is with bold clients, of whom less is
// known.
func (x *trial) torment(faults []fault, whole func()) {
	x.t.Helper()
	for range size(1, 15) {
		for _, f := range faults {
			x.round(f, whole)
		}
	}
	// A run in which nothing is lost says nothing of how losses are counted: it may be that no queue was on what failed.
	for more := 5; x.book.now().sends == 0; more-- {
		if more == 0 {
			x.t.Fatal("nothing is lost")
		}
		x.round(faults[0], whole)
	}
	x.bold = true
	for range size(0, 15) {
		for _, f := range faults {
			x.round(f, whole)
		}
	}
	x.finish()
}

// tooFewCopies freezes all replicas: whoever wants more copies than one then learns that the outcome is unknown, soon,
// and that it happened when he repeats his request later.
func (x *trial) tooFewCopies(replicas []*redistest.Server) {
	t, c := x.t, x.slots[0].Load().c.with("Idempotency-Key", "too few copies")
	t.Helper()
	for _, s := range replicas {
		s.Freeze(t)
	}
	i, content := x.compose(x.r, copied, "")
	x.book.intend([]*item{i})
	path, body := "/v1/queues/"+copied+"/messages", fmt.Sprintf(`{"messages":[{"body":%q,"attributes":{"tag":%q}}]}`, content, i.tag)
	begun := time.Now()
	p := c.post(path, body).refused(http.StatusServiceUnavailable, "unavailable")
	took := time.Since(begun)
	if p.Outcome != "unknown" || took > 10*time.Second {
		t.Errorf("a send that no replica has was answered with outcome %q after %v", p.Outcome, took)
	}
	t.Logf("a send that no replica has was answered as unknown after %v", took.Round(time.Millisecond))
	x.slots[0].Load().c.post("/v1/queues/standard-0/messages?acks=leader", `{"body":"x","attributes":{"tag":"leader"}}`).want(http.StatusOK)
	for _, s := range replicas {
		s.Thaw(t)
	}
	again := false
	eventually(t, "enough copies", func() bool {
		a := c.post(path, body)
		if a.status != http.StatusOK {
			return false
		}
		ids, duplicate := idsOf(t, a.body)
		x.book.confirm([]*item{i}, x.slots[0].Load(), ids, duplicate)
		again = duplicate
		return true
	})
	if !again {
		t.Error("the repeat of a send that had happened was not answered as a duplicate")
	}
	x.slots[0].Load().c.post("/v1/queues/standard-0/purge", "").want(http.StatusOK)
}

func names(servers ...*redistest.Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Name)
	}
	return all
}

func without(servers []*redistest.Server, one *redistest.Server) []*redistest.Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s *redistest.Server) bool { return s == one })
}
