package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// setNotes reads notes=name:value,… ("none" for an empty map, which removes them).
func setNotes(c command, cfg *engine.QueueConfig) {
	v := c.value("notes")
	if v == "" {
		return
	}
	cfg.Notes = map[string]string{}
	for note := range strings.SplitSeq(v, ",") {
		if name, value, ok := strings.Cut(note, ":"); ok {
			cfg.Notes[name] = value
		}
	}
}

// notes queue: what a wire keeps with it, as Config tells, which must be what Queue tells.
func (s *session) notes(c command) string {
	shared, err := s.engine.Config(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	q, err := s.engine.Queue(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	if !maps.Equal(q.Config.Notes, shared.Notes) {
		return fmt.Sprintf("Config tells %v and Queue %v", shared.Notes, q.Config.Notes)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(shared.Notes)) {
		fmt.Fprintf(&out, "%s: %s\n", name, shared.Notes[name])
	}
	if out.Len() == 0 {
		return "none"
	}
	return out.String()
}

// times queue: how long ago it was created and changed.
func (s *session) times(c command) string {
	q, err := s.engine.Queue(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	return fmt.Sprintf("created %v ago, changed %v ago", s.now().Sub(q.CreatedAt).Round(time.Second), s.now().Sub(q.ChangedAt).Round(time.Second))
}
