package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// TestScheduleOverKills kills the server twice in the middle of sending what many schedules have due, each of which fires
// every second: no fire time is sent twice, and none is left out but where the server was killed.
func TestScheduleOverKills(t *testing.T) {
	t.Parallel()
	for _, missed := range []string{"skip", "once"} {
		t.Run(missed, func(t *testing.T) {
			t.Parallel()
			const schedules = 100
			kills := size(2, 100)
			data := filepath.Join(t.TempDir(), "data")
			srv := start(t, data, "--log-level", "warn")
			c := srv.client()
			c.create("work", `{"visibility":"1h"}`)
			for i := range schedules {
				c.put(fmt.Sprintf("/v1/queues/work/schedules/tick-%d", i),
					`{"cron":"* * * * * *","missed":"`+missed+`","message":{"body":"x"}}`).want(http.StatusCreated)
			}
			r := random(seed(t), 0)
			sent := &fires{t: t, ids: make(map[string]map[time.Time]string)}
			for range kills {
				sent.receive(c, 2*schedules)
				sent.receive(c, 1) // now they are being sent
				<-time.After(time.Duration(r.IntN(10_000)) * time.Microsecond)
				srv.kill()
				srv = start(t, data, "--log-level", "warn")
				c = srv.client()
			}
			sent.receive(c, 3*schedules)
			for i := range schedules {
				sent.check(fmt.Sprintf("tick-%d", i), kills)
			}
		})
	}
}

// fires has the id of the message of each fire time of each schedule.
type fires struct {
	t   *testing.T
	ids map[string]map[time.Time]string
}

// receive waits for messages and notes what they were sent for. Those that a kill gave back come again, with their ids.
func (f *fires) receive(c *client, n int) {
	f.t.Helper()
	for n > 0 {
		got := c.receive("work", `{"max":1000,"wait":"1m"}`)
		if n -= len(got); len(got) == 0 {
			f.t.Fatal("nothing was sent for a minute")
		}
		for _, m := range got {
			schedule := m.Attributes["dabba-schedule"]
			at, err := time.Parse(time.RFC3339, m.Attributes["dabba-fire-time"])
			if err != nil || schedule == "" {
				f.t.Fatalf("a message came with the attributes %v: %v", m.Attributes, err)
			}
			if f.ids[schedule] == nil {
				f.ids[schedule] = make(map[time.Time]string)
			}
			if id := f.ids[schedule][at]; id != "" && id != m.ID {
				f.t.Errorf("%s was sent twice for %v, as %s and %s", schedule, at, id, m.ID)
			}
			f.ids[schedule][at] = m.ID
		}
	}
}

// check looks for seconds that were left out.
func (f *fires) check(schedule string, kills int) {
	f.t.Helper()
	var first, last time.Time
	for at := range f.ids[schedule] {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	gaps, before := 0, true
	for at := first; at.Before(last); at = at.Add(time.Second) {
		_, there := f.ids[schedule][at]
		if before && !there {
			gaps++
		}
		before = there
	}
	if gaps > kills || len(f.ids[schedule]) < 3 {
		f.t.Errorf("from %v to %v %s has %d messages with %d gaps, want gaps only for the %d kills",
			first, last, schedule, len(f.ids[schedule]), gaps, kills)
	}
}
