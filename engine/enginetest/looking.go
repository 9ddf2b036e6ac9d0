package enginetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// filter reads [state=] [group=] [contains=] [attr=name:value] [older_than=] [ids=#1,#2].
func (s *session) filter(c command) engine.Filter {
	f := engine.Filter{Contains: c.value("contains"), OlderThan: s.duration(c, "older_than")}
	for state := range strings.SplitSeq(c.value("state"), ",") {
		if state != "" {
			f.States = append(f.States, engine.State(state))
		}
	}
	if group := c.value("group"); group != "" {
		f.Group = &group
	}
	if attr := c.value("attr"); attr != "" {
		name, value, _ := strings.Cut(attr, ":")
		f.Attributes = map[string]string{name: value}
	}
	if ids := c.value("ids"); ids != "" {
		for word := range strings.SplitSeq(ids, ",") {
			f.IDs = append(f.IDs, s.message(word))
		}
	}
	return f
}

// message is the id shown as #1, #2 and so on; of other words an id that was never given.
func (s *session) message(word string) engine.MessageID {
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "#")); err == nil && n >= 1 && n <= len(s.ids) {
		return s.ids[n-1]
	}
	return engine.MessageID([]byte("sixteen bytes id"))
}

// problem is like the function, with known ids in their short form.
func (s *session) problem(err error) string {
	text := problem(err)
	for i, id := range s.ids {
		text = strings.ReplaceAll(text, id.String(), fmt.Sprintf("#%d", i+1))
	}
	return text
}

// browse queue [as filter] [limit=]: the messages, page by page.
func (s *session) browse(c command) string {
	req := engine.BrowseRequest{Filter: s.filter(c), Limit: s.number(c, "limit")}
	if req.Limit == 0 {
		req.Limit = 100
	}
	var out strings.Builder
	for {
		found, err := s.engine.Browse(s.Context(), s.ref(c), req)
		if err != nil {
			return s.problem(err)
		}
		for i := range found.Views {
			fmt.Fprintln(&out, s.view(&found.Views[i]))
		}
		if req.From = found.Next; req.From == "" {
			break
		}
		fmt.Fprintln(&out, "and more")
	}
	if out.Len() == 0 {
		return "nothing"
	}
	return out.String()
}

// ago shows an instant as seen from now, rounded so that ticks do not show.
func ago(t time.Time) string {
	d := time.Since(t).Round(time.Second)
	if d < 0 {
		return "in " + (-d).String()
	}
	return d.String() + " ago"
}

func (s *session) view(v *engine.View) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s", s.id(v.ID), v.State)
	if v.State != engine.StateRemoved {
		fmt.Fprintf(&out, " %q receives=%d sent=%q", v.Body, v.Receives, ago(v.SentAt))
	}
	if v.Group != "" {
		fmt.Fprintf(&out, " group=%s", v.Group)
	}
	if !v.Due.IsZero() {
		fmt.Fprintf(&out, " due=%q", ago(v.Due))
	}
	if v.State == engine.StateLeased {
		fmt.Fprintf(&out, " lease=%q consumer=%q", ago(v.Lease.ExpiresAt), v.Consumer)
	}
	if v.Reason != "" {
		fmt.Fprintf(&out, " reason=%q", v.Reason)
	}
	if v.Origin != nil {
		fmt.Fprintf(&out, " from=%s after=%d because=%q", v.Origin.Queue, v.Origin.Receives, v.Origin.Reason)
	}
	return out.String()
}

// look queue id: the message and its timeline.
func (s *session) look(c command) string {
	found, err := s.engine.Look(s.Context(), s.ref(c), s.message(c.words[1]))
	return s.looked(found, err)
}

func (s *session) looked(found engine.Looked, err error) string {
	if err != nil {
		return s.problem(err)
	}
	var out strings.Builder
	fmt.Fprintln(&out, s.view(&found.View))
	for _, e := range found.Timeline {
		fmt.Fprintf(&out, "%s: %s", ago(e.At), e.Kind)
		if e.Consumer != "" {
			fmt.Fprintf(&out, " to %s", e.Consumer)
		}
		if e.Queue != "" {
			fmt.Fprintf(&out, " from %s after %d", e.Queue, e.Receives)
		}
		if e.Outcome != "" {
			fmt.Fprintf(&out, ", %s", e.Outcome)
		}
		if !e.EndedAt.IsZero() {
			fmt.Fprintf(&out, " %s", ago(e.EndedAt))
		}
		if e.Reason != "" {
			fmt.Fprintf(&out, " (%s)", e.Reason)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// reschedule queue id [delay=] [in=]. in sets a time of delivery.
func (s *session) reschedule(c command) string {
	to := engine.RescheduleRequest{Delay: s.duration(c, "delay")}
	if in := s.duration(c, "in"); in != nil {
		to.DeliverAt = new(s.now().Add(*in))
	}
	found, err := s.engine.Reschedule(s.Context(), s.ref(c), s.message(c.words[1]), to)
	if err != nil {
		return s.problem(err)
	}
	return s.view(&found.View)
}

// remove queue id.
func (s *session) remove(c command) string {
	if err := s.engine.Remove(s.Context(), s.ref(c), s.message(c.words[1])); err != nil {
		return s.problem(err)
	}
	return ""
}

// purge queue [as filter].
func (s *session) purge(c command) string {
	n, err := s.engine.Purge(s.Context(), s.ref(c), s.filter(c))
	if err != nil {
		return s.problem(err)
	}
	return fmt.Sprint(n)
}

// release queue consumer.
func (s *session) releaseAll(c command) string {
	n, err := s.engine.Release(s.Context(), s.ref(c), c.words[1])
	if err != nil {
		return s.problem(err)
	}
	return fmt.Sprint(n)
}

// groups queue [limit=]: page by page.
func (s *session) groups(c command) string {
	limit := s.number(c, "limit")
	if limit == 0 {
		limit = 100
	}
	var out strings.Builder
	var after *string
	for {
		found, err := s.engine.Groups(s.Context(), s.ref(c), after, limit)
		if err != nil {
			return s.problem(err)
		}
		for i := range found {
			fmt.Fprintln(&out, s.group(&found[i]))
		}
		if len(found) < limit {
			break
		}
		after = new(found[limit-1].Name)
		fmt.Fprintln(&out, "and more")
	}
	if out.Len() == 0 {
		return "nothing"
	}
	return out.String()
}

func (s *session) group(g *engine.Group) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%q ready=%d leased=%d delayed=%d dead=%d", g.Name, g.Ready, g.Leased, g.Delayed, g.Dead)
	if g.Head != nil {
		fmt.Fprintf(&out, " head=%s", s.id(*g.Head))
	}
	if g.HeadAge >= 0 {
		fmt.Fprintf(&out, " age=%v", g.HeadAge.Round(time.Second))
	}
	if !g.LockedUntil.IsZero() {
		fmt.Fprintf(&out, " locked=%q", ago(g.LockedUntil))
	}
	return out.String()
}

// skip queue group.
func (s *session) skip(c command) string {
	id, err := s.engine.SkipGroup(s.Context(), s.ref(c), c.words[1])
	switch {
	case err != nil:
		return s.problem(err)
	case id == nil:
		return "nothing"
	}
	return s.id(*id)
}

// dead-letter-group queue group [reason=].
func (s *session) deadLetterGroup(c command) string {
	n, err := s.engine.DeadLetterGroup(s.Context(), s.ref(c), c.words[1], c.value("reason"))
	if err != nil {
		return s.problem(err)
	}
	return fmt.Sprint(n)
}

// purge-group queue group.
func (s *session) purgeGroup(c command) string {
	n, err := s.engine.PurgeGroup(s.Context(), s.ref(c), c.words[1])
	if err != nil {
		return s.problem(err)
	}
	return fmt.Sprint(n)
}
