package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the tests need no zones on the machine

	"github.com/google/go-cmp/cmp"
)

func mustRule(t *testing.T, expression, zone string) rule {
	t.Helper()
	r, err := parseRule(expression, zone)
	if err != nil {
		t.Fatalf("parseRule(%q, %q): %v", expression, zone, err)
	}
	return r
}

// fires lists the fire times after t, as the clocks of the zone show them.
func (r rule) fires(t time.Time, n int) []string {
	var all []string
	for range n {
		t = r.after(t)
		all = append(all, t.In(r.zone).Format("2006-01-02 15:04:05 -0700"))
	}
	return all
}

func TestFireTimes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{"weekdays", "30 8 * * 1-5", "Europe/Berlin", "2026-11-27T12:00:00Z", []string{
			"2026-11-30 08:30:00 +0100", "2026-12-01 08:30:00 +0100",
		}},
		{"with seconds", "15,45 59 23 31 12 *", "UTC", "2026-12-31T23:59:15Z", []string{
			"2026-12-31 23:59:45 +0000", "2027-12-31 23:59:15 +0000",
		}},
		{"a day of month or of week", "0 0 13 * fri", "UTC", "2026-11-01T00:00:00Z", []string{
			"2026-11-06 00:00:00 +0000", "2026-11-13 00:00:00 +0000", "2026-11-20 00:00:00 +0000", "2026-11-27 00:00:00 +0000",
			"2026-12-04 00:00:00 +0000", "2026-12-11 00:00:00 +0000", "2026-12-13 00:00:00 +0000",
		}},
		{"a leap day over a century without one", "0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", []string{
			"2104-02-29 00:00:00 +0000",
		}},
		{"every hour by name", "@hourly", "Asia/Kolkata", "2026-06-01T00:00:00Z", []string{
			"2026-06-01 06:00:00 +0530", "2026-06-01 07:00:00 +0530",
		}},

		{"New York, forward, a time in the gap", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{
			"2026-03-08 03:00:00 -0400", "2026-03-09 02:30:00 -0400",
		}},
		{"New York, forward, many times in the gap", "*/10 2 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{
			"2026-03-08 03:00:00 -0400", "2026-03-09 02:00:00 -0400", "2026-03-09 02:10:00 -0400",
		}},
		{"New York, forward, a time in the gap and its end", "30 2,3 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{
			"2026-03-08 03:00:00 -0400", "2026-03-08 03:30:00 -0400", "2026-03-09 02:30:00 -0400",
		}},
		{"New York, forward, the end of the gap is a fire time anyway", "0 2,3 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{
			"2026-03-08 03:00:00 -0400", "2026-03-09 02:00:00 -0400",
		}},
		{"New York, forward, not on that day", "30 2 * * 1-6", "America/New_York", "2026-03-07T12:00:00Z", []string{
			"2026-03-09 02:30:00 -0400",
		}},
		{"New York, forward, hourly", "30 * * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{
			"2026-03-08 01:30:00 -0500", "2026-03-08 03:30:00 -0400", "2026-03-08 04:30:00 -0400",
		}},
		{"New York, back, a time that comes twice", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{
			"2026-11-01 01:30:00 -0400", "2026-11-02 01:30:00 -0500",
		}},
		{"New York, back, asked in between", "30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", []string{
			"2026-11-02 01:30:00 -0500",
		}},
		{"New York, back, the hour after", "0,30 1,2 * * *", "America/New_York", "2026-11-01T04:00:00Z", []string{
			"2026-11-01 01:00:00 -0400", "2026-11-01 01:30:00 -0400", "2026-11-01 02:00:00 -0500", "2026-11-01 02:30:00 -0500",
		}},
		{"New York, back, hourly", "30 * * * *", "America/New_York", "2026-11-01T05:00:00Z", []string{
			"2026-11-01 01:30:00 -0400", "2026-11-01 01:30:00 -0500", "2026-11-01 02:30:00 -0500",
		}},

		{"Berlin, forward, a time in the gap", "15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29 03:00:00 +0200", "2026-03-30 02:15:00 +0200",
		}},
		{"Berlin, back, a time that comes twice", "0 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{
			"2026-10-25 02:00:00 +0200", "2026-10-26 02:00:00 +0100",
		}},
		{"Berlin, back, every twenty minutes", "*/20 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", []string{
			"2026-10-25 02:40:00 +0200", "2026-10-25 02:00:00 +0100", "2026-10-25 02:20:00 +0100", "2026-10-25 02:40:00 +0100",
			"2026-10-25 03:00:00 +0100",
		}},

		// Lord Howe Island moves its clocks by half an hour.
		{"Lord Howe, forward, a time in the gap", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{
			"2026-10-04 02:30:00 +1100", "2026-10-05 02:15:00 +1100",
		}},
		{"Lord Howe, forward, beside the gap", "45 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{
			"2026-10-04 02:45:00 +1100", "2026-10-05 02:45:00 +1100",
		}},
		{"Lord Howe, back, a time that comes twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{
			"2026-04-05 01:45:00 +1100", "2026-04-06 01:45:00 +1030",
		}},
		{"Lord Howe, back, a time that comes once", "15 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{
			"2026-04-05 01:15:00 +1100", "2026-04-06 01:15:00 +1030",
		}},
		{"Lord Howe, back, every ten minutes", "*/10 * * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", []string{
			"2026-04-05 01:50:00 +1100", "2026-04-05 01:30:00 +1030", "2026-04-05 01:40:00 +1030", "2026-04-05 01:50:00 +1030",
			"2026-04-05 02:00:00 +1030",
		}},

		{"Beirut has no midnight", "@daily", "Asia/Beirut", "2026-03-28T12:00:00Z", []string{
			"2026-03-29 01:00:00 +0300", "2026-03-30 00:00:00 +0300",
		}},
		{"Samoa had no such day", "0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", []string{
			"2011-12-31 00:00:00 +1400", "2012-12-30 12:00:00 +1400",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			after, err := time.Parse(time.RFC3339, tc.after)
			if err != nil {
				t.Fatal(err)
			}
			got := mustRule(t, tc.cron, tc.zone).fires(after, len(tc.want))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fire times of %q in %s after %s (-want +got):\n%s", tc.cron, tc.zone, tc.after, diff)
			}
		})
	}
}

func TestEveryGoesOnFromItsAnchor(t *testing.T) {
	t.Parallel()
	r := mustRule(t, "@every 90m", "Europe/Berlin")
	begun := time.Date(2026, 10, 24, 22, 0, 0, 5e8, time.UTC)
	if got, want := r.after(begun), begun.Truncate(time.Second).Add(90*time.Minute); !got.Equal(want) {
		t.Errorf("first fire time after %v: got %v, want %v", begun, got, want)
	}
	r.anchor = begun.Truncate(time.Second)
	// Over the end of summer time; the intervals are real.
	for n := 1; n < 10; n++ {
		want := r.anchor.Add(time.Duration(n) * 90 * time.Minute)
		for _, before := range []time.Duration{1, time.Minute, 90 * time.Minute} {
			if got := r.after(want.Add(-before)); !got.Equal(want) {
				t.Errorf("fire time after %v: got %v, want %v", want.Add(-before), got, want)
			}
		}
	}
}

// TestFireTimesDoNotDependOnTheQuestion checks, around zone changes, that the fire times are a set: whoever asks from
// anywhere between two of them gets the second.
func TestFireTimesDoNotDependOnTheQuestion(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	zones := []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Beirut", "UTC"}
	crons := []string{"30 2 * * *", "*/15 1,2 * * *", "* * * * *", "0 0 * * *", "45 1-3 * * 0", "*/7 */2 * * *", "@every 17m", "10 30 2 * 3,4,10,11 *"}
	for range 300 {
		r := mustRule(t, crons[rnd.IntN(len(crons))], zones[rnd.IntN(len(zones))])
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rnd.IntN(365*24*3600)) * time.Second)
		r.anchor = from
		_, change := from.In(r.zone).ZoneBounds()
		if !change.IsZero() && rnd.IntN(4) > 0 {
			from = change.UTC().Add(-time.Duration(rnd.IntN(3*3600)) * time.Second)
			r.anchor = from.Add(-time.Hour)
		}
		fire := r.after(from)
		for range 20 {
			next := r.after(fire)
			if !next.After(fire) {
				t.Fatalf("%+v: %v comes after %v", r, next, fire)
			}
			asked := fire.Add(time.Duration(rnd.Int64N(int64(next.Sub(fire)))))
			if got := r.after(asked); !got.Equal(next) {
				t.Fatalf("%+v after %v: got %v, but after %v it is %v", r, asked, got, fire, next)
			}
			if got := r.latest(from.Add(r.after(from).Sub(from)), asked); !got.Equal(fire) {
				t.Fatalf("%+v: latest up to %v: got %v, want %v", r, asked, got, fire)
			}
			fire = next
		}
	}
}

func TestLatestOfManyMissedIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	r := mustRule(t, "* * * * * *", "Europe/Berlin")
	fire := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	now := fire.AddDate(6, 0, 0).Add(1500 * time.Millisecond)
	if got, want := r.latest(fire, now), now.Truncate(time.Second); !got.Equal(want) {
		t.Errorf("latest fire time up to %v: got %v, want %v", now, got, want)
	}
}

func TestBadExpressionsAreExplained(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ cron, zone, field, says string }{
		{"", "UTC", "cron", "this one has 0"},
		{"* * * *", "UTC", "cron", "5 fields, or 6 with seconds in front; this one has 4"},
		{"* * * * * * *", "UTC", "cron", "this one has 7"},
		{"60 * * * *", "UTC", "cron", "The minute is 0 to 59"},
		{"* 24 * * *", "UTC", "cron", `The hour is 0 to 23, or a list (1,3), a range (1-3) or a step (*/2) of them; "24" is none of these`},
		{"* * 0 * *", "UTC", "cron", "The day of month is 1 to 31"},
		{"* * * 13 *", "UTC", "cron", "The month is 1 to 12 or jan to dec"},
		{"* * * * 7", "UTC", "cron", "0 is Sunday"},
		{"* * * * L", "UTC", "cron", "The day of week"},
		{"61 * * * * *", "UTC", "cron", "The second is"},
		{"5-1 * * * *", "UTC", "cron", "The minute is"},
		{"*/0 * * * *", "UTC", "cron", "The minute is"},
		{"* , * * *", "UTC", "cron", "The hour is"},
		{"1-2-3 * * * *", "UTC", "cron", "The minute is"},
		{"-1 * * * *", "UTC", "cron", "The minute is"},
		{"TZ=Europe/Berlin", "UTC", "cron", "in the field tz"},
		{"CRON_TZ=UTC 0 0 * * *", "UTC", "cron", "in the field tz"},
		{"@fortnightly", "UTC", "cron", `"@hourly"`},
		{"@every", "UTC", "cron", `"@every" with a duration`},
		{"@every 500ms", "UTC", "cron", "whole seconds"},
		{"@every 1500ms", "UTC", "cron", "whole seconds"},
		{"@every -1m", "UTC", "cron", "whole seconds"},
		{"@every soon", "UTC", "cron", `"@every 90s"`},
		{strings.Repeat("1,", 200) + "1 * * * *", "UTC", "cron", "at most 256 bytes"},
		{"0 0 * * *", "Mars/Olympus_Mons", "tz", `such as "Europe/Berlin"`},
		{"0 0 * * *", "Local", "tz", "IANA"},
		{"0 0 * * *", "", "tz", "IANA"},
		{"0 0 * * *", "../../etc/passwd", "tz", "IANA"},
	} {
		_, err := parseRule(tc.cron, tc.zone)
		if err == nil || err.Code != CodeInvalidRequest || err.Field != tc.field || !strings.Contains(err.Detail, tc.says) {
			t.Errorf("parseRule(%q, %q) = %v, want one about %s that says %q", tc.cron, tc.zone, err, tc.field, tc.says)
		}
		if err != nil && tc.field == "cron" && !strings.Contains(err.Detail, "An example: ") && !strings.Contains(err.Detail, "at most") {
			t.Errorf("parseRule(%q, %q) gives no example: %s", tc.cron, tc.zone, err.Detail)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"* * * * *", "0 30 8 * * mon-fri", "@daily", "@every 10s", "*/5 ? 1-3/2 jan,feb 0", "TZ="} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expression string) {
		r, err := parseRule(expression, "Europe/Berlin")
		if err != nil {
			return
		}
		if next := r.after(now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q fires at %v, which is not after %v", expression, next, now)
		}
	})
}
