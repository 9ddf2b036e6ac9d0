package integration

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// wallSteps are how far the wall clock is set.
var wallSteps = []time.Duration{
	time.Second, -time.Second, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 364 * 24 * time.Hour, -364 * 24 * time.Hour,
}

// TestWallClock sets the wall clock of a server before its first start, while it runs, and before its next start: what lasts
// does not notice, what names an instant follows, schedules go by the clock as it is, and every step is counted.
func TestWallClock(t *testing.T) {
	t.Parallel()
	for _, by := range wallSteps {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			w := &wallClock{T: t, data: filepath.Join(t.TempDir(), "data")}
			w.start(by) // it is wrong at the first start …
			w.fill("before")
			w.start(0) // … and right at the next
			w.wantStep(-by)
			w.wantAll("before")
			w.fill("while")
			w.client.post("/v1/dev/clock/step", fmt.Sprintf(`{"by":%q}`, by)).want(http.StatusOK)
			w.wantStep(by)
			w.wantAll("while")
			w.fill("at")
			w.start(0) // corrected while it was stopped
			w.wantStep(-by)
			w.wantAll("at")
		})
	}
}

type wallClock struct {
	*testing.T
	data   string
	server *server
	client *client
	due    time.Time // what the wall clock has to show for what waits for it
}

// start stops the server, if there is one, and starts it with the wall clock off by so much.
func (w *wallClock) start(offset time.Duration) {
	w.Helper()
	if w.server != nil {
		w.server.stop()
	}
	w.server = launchWith(w, w.data, func(c *exec.Cmd) {
		if offset != 0 {
			c.Env = append(c.Env, "DABBA_DEV_WALL_OFFSET="+offset.String())
		}
	}, "--dev", "--log-level", "error")
	w.server.await()
	w.client = w.server.client()
}

type clockInfo struct {
	Clock struct {
		Now      time.Time
		Steps    int
		LastStep struct{ By string } `json:"last_step"`
		Gap      *struct{ Measured bool }
	}
}

func (w *wallClock) info() clockInfo {
	w.Helper()
	var i clockInfo
	w.client.get("/v1/info").want(http.StatusOK).into(&i)
	return i
}

// wantStep waits until the last step is known: as it was, within the time that a start takes to read the clocks.
func (w *wallClock) wantStep(by time.Duration) {
	w.Helper()
	i := w.info()
	got, err := time.ParseDuration(i.Clock.LastStep.By)
	if err != nil || i.Clock.Steps < 1 || (got-by).Abs() > 500*time.Millisecond {
		w.Fatalf("steps: got %d, the last by %q (%v), want one by %v", i.Clock.Steps, i.Clock.LastStep.By, err, by)
	}
}

// fill makes queues with something that lasts, something that waits for the wall clock, and schedules.
func (w *wallClock) fill(name string) {
	w.Helper()
	now := w.info().Clock.Now
	w.client.create(name+"-lasting", `{"retention":"4d","visibility":"1h"}`)
	w.client.send(name+"-lasting", "leased")
	if got := w.client.receive(name+"-lasting", `{}`); len(got) != 1 {
		w.Fatalf("%d messages were received, want 1", len(got))
	}
	w.client.post("/v1/queues/"+name+"-lasting/messages", `{"body":"delayed","delay":"1h"}`).want(http.StatusOK)
	w.client.post("/v1/queues/"+name+"-lasting/messages", `{"body":"ready","ttl":"2h"}`).want(http.StatusOK)
	w.client.create(name+"-instant", `{}`)
	due := now.Add(30 * time.Minute)
	at := due.Format(time.RFC3339Nano)
	w.client.post("/v1/queues/"+name+"-instant/messages", `{"body":"at","deliver_at":"`+at+`"}`).want(http.StatusOK)
	w.client.create(name+"-paused", `{}`)
	w.client.post("/v1/queues/"+name+"-paused/messages", `{"body":"held"}`).want(http.StatusOK)
	w.client.post("/v1/queues/"+name+"-paused/pause", `{"consume":true,"until":"`+at+`"}`).want(http.StatusOK)
	w.client.create(name+"-ticks", `{}`)
	w.client.put("/v1/queues/"+name+"-ticks/schedules/every", `{"cron":"@every 1s","message":{"body":"every"}}`).want(http.StatusCreated)
	w.client.put("/v1/queues/"+name+"-ticks/schedules/cron", `{"cron":"* * * * * *","message":{"body":"cron"}}`).want(http.StatusCreated)
	if got := w.client.receive(name+"-ticks", `{"wait":"20s"}`); len(got) == 0 {
		w.Fatal("no schedule fired within 20 s")
	}
	w.due = due
}

// wantAll looks at everything that fill has made, after the clock was set.
func (w *wallClock) wantAll(name string) {
	w.Helper()
	now := w.info().Clock.Now
	for _, kind := range []string{"every", "cron"} {
		var s struct {
			NextFire time.Time `json:"next_fire"`
		}
		eventually(w, kind+" of "+name+" to fire soon by the clock as it is", func() bool {
			w.client.get("/v1/queues/" + name + "-ticks/schedules/" + kind).want(http.StatusOK).into(&s)
			return s.NextFire.Sub(w.info().Clock.Now).Abs() < 3*time.Second
		})
	}
	fired := map[string]bool{}
	for tries := 0; tries < 100 && len(fired) < 2; tries++ {
		for _, m := range w.client.receive(name+"-ticks", `{"max":100,"wait":"20s"}`) {
			at, err := time.Parse(time.RFC3339Nano, m.Attributes["dabba-fire-time"])
			if err != nil {
				w.Fatal(err)
			}
			if at.After(now) && at.Before(now.Add(10*time.Minute)) {
				fired[string(m.content())] = true
			}
		}
	}
	if len(fired) < 2 {
		w.Errorf("%s: after the clock was set only %v fired", name, fired)
	}
	if got, want := w.client.counts(name+"-lasting"), (counts{Ready: 1, Leased: 1, Delayed: 1}); got.Ready != want.Ready || got.Leased != want.Leased || got.Delayed != want.Delayed {
		w.Errorf("%s, after the clock was set: got %+v, want %+v", name, got, want)
	}
	if !w.due.After(w.info().Clock.Now) {
		for _, queue := range []string{"-instant", "-paused"} {
			if got := w.client.receive(name+queue, `{"wait":"5s"}`); len(got) != 1 {
				w.Errorf("%s%s, whose time has come: got %d messages, want 1", name, queue, len(got))
			}
		}
		return
	}
	for _, queue := range []string{"-instant", "-paused"} {
		if got := w.client.receive(name+queue, `{"wait":"0s"}`); len(got) != 0 {
			w.Errorf("%s%s, whose time has not come: got %d messages, want none", name, queue, len(got))
		}
	}
}
