package enginetest

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // so that the transcripts need no zones on the machine

	"github.com/dabba-mq/dabba/engine"
)

// schedule queue name cron [tz=] [missed=] [body=] [group=]: its next fire times.
func (s *session) schedule(c command) string {
	spec := engine.ScheduleSpec{
		Cron: c.words[2], Zone: c.value("tz"),
		Message: engine.Message{Body: []byte(c.value("body")), Group: c.value("group")},
	}
	setString(c, "missed", &spec.Missed)
	shown, created, err := s.engine.PutSchedule(s.Context(), s.ref(c), c.words[1], spec)
	if err != nil {
		return problem(err)
	}
	if created {
		return "created " + fires(shown.Upcoming...)
	}
	return "replaced " + fires(shown.Upcoming...)
}

// schedules queue [after=] [limit=]: their names, what they sent last and what comes next.
func (s *session) schedules(c command) string {
	all, more, err := s.engine.Schedules(s.Context(), s.ref(c), c.value("after"), s.number(c, "limit"))
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, one := range all {
		fmt.Fprintf(&out, "%s %q", one.Name, one.Cron)
		if !one.LastFire.IsZero() {
			fmt.Fprintf(&out, " last %s", fires(one.LastFire))
		}
		fmt.Fprintf(&out, " next %s\n", fires(one.Upcoming[:1]...))
	}
	if more {
		fmt.Fprintln(&out, "more")
	}
	if out.Len() == 0 {
		return "none"
	}
	return out.String()
}

// unschedule queue name.
func (s *session) unschedule(c command) string {
	if err := s.engine.DeleteSchedule(s.Context(), s.ref(c), c.words[1]); err != nil {
		return problem(err)
	}
	return ""
}

// away duration: the server is down for so long.
func (s *session) away(c command) string {
	d, err := time.ParseDuration(c.words[0])
	if err != nil {
		s.Fatal(err)
	}
	s.stop()
	time.Sleep(d)
	s.start()
	return ""
}

func fires(times ...time.Time) string {
	all := make([]string, len(times))
	for i, t := range times {
		all[i] = t.UTC().Format(time.RFC3339)
	}
	return strings.Join(all, " ")
}
