package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the tests need no zones on the machine

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestScheduleIsPutShownAndDeleted(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	const path = "/v1/queues/q/schedules/nightly"
	srv.Get(path).Refused(http.StatusNotFound, "not_found", "").Has("no schedule named nightly")

	body := `{"cron":"30 8 * * 1-5","tz":"Europe/Berlin","message":{"body":"good morning","attributes":{"a":"b"},"delay":"5s","ttl":"1h"}}`
	created := srv.Put(path, body).Want(http.StatusCreated)
	if got := created.Header.Get("Location"); got != path {
		t.Errorf("Location = %q, want %q", got, path)
	}
	var shown rest.Schedule
	srv.Get(path).Want(http.StatusOK).
		Has(`"tz":"Europe/Berlin"`).Has(`"missed":"skip"`).Has(`"message":{"body":"good morning","attributes":{"a":"b"},"delay":"5s","ttl":"1h"}`).
		Decode(&shown)
	if next := time.Time(shown.NextFire); len(shown.Upcoming) != 3 || next.Format("2006-01-02T15:04:05.000Z") != shown.Upcoming[0] || !shown.LastFire.IsZero() {
		t.Errorf("next_fire %v, upcoming %v, last_fire %v", shown.NextFire, shown.Upcoming, shown.LastFire)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, fire := range shown.Upcoming {
		at, err := time.ParseInLocation(time.RFC3339, fire, berlin)
		if at = at.In(berlin); err != nil || at.Format("15:04:05") != "08:30:00" || at.Weekday() == time.Sunday || at.Weekday() == time.Saturday {
			t.Errorf("it fires at %v", at)
		}
	}

	srv.Put(path, `{"cron":"@hourly","missed":"once","message":{"body_base64":"/w=="}}`).Want(http.StatusOK).
		Has(`"tz":"UTC"`).Has(`"missed":"once"`).Has(`"body_base64":"/w=="`)
	srv.Delete(path).Want(http.StatusNoContent)
	srv.Delete(path).Refused(http.StatusNotFound, "not_found", "")
}

func TestScheduleSends(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Put("/v1/queues/q/schedules/tick", `{"cron":"* * * * * *","message":{"body":"tick"}}`).Want(http.StatusCreated)
	m := one(t, srv, `{"wait":"10s"}`)
	srv.Delete("/v1/queues/q/schedules/tick").Want(http.StatusNoContent)
	of := make(map[string]string)
	for _, a := range m.Attributes {
		of[a.Name] = string(a.Value)
	}
	fire, err := time.Parse(time.RFC3339, of["dabba-fire-time"])
	if err != nil || fire.Nanosecond() != 0 || time.Since(fire) > time.Minute || of["dabba-schedule"] != "tick" {
		t.Errorf("attributes of the message: %v", of)
	}
}

func TestSchedulesArePaged(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Get("/v1/queues/q/schedules").Want(http.StatusOK).Has(`{"schedules":[]}`)
	srv.Get("/v1/queues/none/schedules").Refused(http.StatusNotFound, "not_found", "")
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("s%02d", i)
		want = append(want, name)
		srv.Put("/v1/queues/q/schedules/"+name, `{"cron":"@daily","message":{"body":"x"}}`).Want(http.StatusCreated)
	}
	var got []string
	for cursor, pages := "", 1; ; pages++ {
		var page rest.ScheduleList
		srv.Get("/v1/queues/q/schedules?limit=10&cursor=" + cursor).Want(http.StatusOK).Decode(&page)
		for _, s := range page.Schedules {
			got = append(got, s.Name)
		}
		if cursor = page.Cursor; cursor == "" {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
	srv.Get("/v1/queues/q/schedules?limit=0").Refused(http.StatusBadRequest, "invalid_request", "limit")
	srv.Get("/v1/queues/q/schedules?cursor=x").Refused(http.StatusBadRequest, "invalid_request", "cursor")
}

func TestBadSchedulesAreExplained(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, tc := range []struct {
		name, body, field, says string
		code                    engine.Code
	}{
		{"nothing", ``, "cron", "An example", "invalid_request"},
		{"no message", `{"cron":"@daily"}`, "message.body", "missing", "invalid_request"},
		{"an hour that is not", `{"cron":"0 25 * * *","message":{"body":"x"}}`, "cron", "The hour is 0 to 23", "invalid_request"},
		{"too often", `{"cron":"@every 100ms","message":{"body":"x"}}`, "cron", "one at least", "invalid_request"},
		{"a zone that is not", `{"cron":"@daily","tz":"CEST+1","message":{"body":"x"}}`, "tz", "Europe/Berlin", "invalid_request"},
		{"a policy that is not", `{"cron":"@daily","missed":"all","message":{"body":"x"}}`, "missed", "skip or once", "invalid_request"},
		{"a time of delivery", `{"cron":"@daily","message":{"body":"x","deliver_at":"2030-01-01T00:00:00Z"}}`, "message.deliver_at", "delay", "invalid_request"},
		{"a delay that is not", `{"cron":"@daily","message":{"body":"x","delay":"soon"}}`, "message.delay", "duration", "invalid_request"},
		{"a priority without levels", `{"cron":"@daily","message":{"body":"x","priority":3}}`, "message.priority", "priorities", "invalid_request"},
		{"two bodies", `{"cron":"@daily","message":{"body":"x","body_base64":"eA=="}}`, "message.body", "not both", "invalid_request"},
		{"an unknown field", `{"cron":"@daily","message":{"body":"x","size":"red"}}`, "message.size", "not known", "unknown_field"},
		{"a timezone", `{"cron":"@daily","timezone":"UTC","message":{"body":"x"}}`, "timezone", "not known", "unknown_field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := srv.For(t)
			srv.Put("/v1/queues/q/schedules/s", tc.body).Refused(http.StatusBadRequest, tc.code, tc.field).Has(tc.says)
		})
	}
	srv.Put("/v1/queues/q/schedules/a.b", `{"cron":"@daily","message":{"body":"x"}}`).Refused(http.StatusBadRequest, "invalid_request", "name")
	srv.Put("/v1/queues/none/schedules/s", `{"cron":"@daily","message":{"body":"x"}}`).Refused(http.StatusNotFound, "not_found", "")
	large := `{"cron":"@daily","message":{"body":"` + strings.Repeat("x", engine.MaxScheduleMessageBytes+1) + `"}}`
	srv.Put("/v1/queues/q/schedules/s", large).Refused(http.StatusRequestEntityTooLarge, "too_large", "message.body")
	srv.Get("/v1/queues/q/schedules").Want(http.StatusOK).Has(`{"schedules":[]}`)
}
