package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// redrive queue [to=] [as filter] [rate=] [renew=yes] [edit=#1 body=] [key=] [dry_run=yes]: the task, or the counts.
func (s *session) redrive(c command) string {
	req := engine.RedriveRequest{To: c.value("to"), Filter: s.filter(c), Principal: "someone"}
	if rate := c.value("rate"); rate != "" {
		n, err := strconv.ParseFloat(rate, 64)
		if err != nil {
			s.Fatalf("rate: %v", err)
		}
		req.Rate = n
	}
	req.Renew = c.value("renew") == "yes"
	if edit := c.value("edit"); edit != "" {
		req.Edit = &engine.Edit{ID: s.message(edit), Body: []byte(c.value("body"))}
	}
	if key := c.value("key"); key != "" {
		req.Key = &engine.IdempotencyKey{Principal: "someone", Path: c.words[0], Key: key}
	}
	if c.value("dry_run") == "yes" {
		return s.planRedrive(c, req)
	}
	t, err := s.engine.Redrive(s.Context(), s.ref(c), req)
	if err != nil {
		return s.problem(err)
	}
	return s.shownTask(t)
}

func (s *session) planRedrive(c command, req engine.RedriveRequest) string {
	plan, err := s.engine.PlanRedrive(s.Context(), s.ref(c), req)
	if err != nil {
		return s.problem(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "total=%d skipped=%d", plan.Total, plan.Skipped)
	for _, name := range slices.Sorted(maps.Keys(plan.ByTarget)) {
		fmt.Fprintf(&out, " %s=%d", name, plan.ByTarget[name])
	}
	return out.String()
}

// task t1: how far it is.
func (s *session) task(c command) string {
	t, err := s.engine.Task(s.Context(), tenant, s.taskID(c.words[0]))
	if err != nil {
		return problem(err)
	}
	return s.shownTask(t)
}

// tasks [tenant=] [of=queue] [limit=]: the newest first.
func (s *session) listTasks(c command) string {
	of := tenant
	setString(c, "tenant", &of)
	limit := engine.MaxBatch
	if n := s.number(c, "limit"); n != 0 {
		limit = n
	}
	all, err := s.engine.Tasks(s.Context(), of, "", limit, nil)
	if q := c.value("of"); q != "" {
		all, err = s.engine.TasksOf(s.Context(), engine.Ref{Tenant: of, Name: q}, limit)
	}
	if err != nil {
		return problem(err)
	}
	if len(all) == 0 {
		return "none"
	}
	var out strings.Builder
	for _, t := range all {
		fmt.Fprintln(&out, s.shownTask(t))
	}
	return out.String()
}

// cancel t1.
func (s *session) cancel(c command) string {
	t, err := s.engine.CancelTask(s.Context(), tenant, s.taskID(c.words[0]), "someone else")
	if err != nil {
		return problem(err)
	}
	return s.shownTask(t)
}

// taskID is the id shown as t1, t2 and so on; other words are taken as they are.
func (s *session) taskID(word string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "t")); err == nil && n >= 1 && n <= len(s.tasks) {
		return s.tasks[n-1]
	}
	return word
}

func (s *session) shownTask(t engine.Task) string {
	i := slices.Index(s.tasks, t.ID)
	if i < 0 {
		i = len(s.tasks)
		s.tasks = append(s.tasks, t.ID)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "t%d %s %s moved=%d total=%d skipped=%d", i+1, t.Queue.Name, t.State, t.Moved, t.Total, t.Skipped)
	if t.State == engine.TaskRunning && t.ETA >= 0 {
		fmt.Fprintf(&out, " eta=%v", t.ETA.Round(time.Second))
	}
	if t.CancelledBy != "" {
		fmt.Fprintf(&out, " by=%q", t.CancelledBy)
	}
	if t.Error != "" {
		fmt.Fprintf(&out, " %s error=%q", t.ErrorCode, t.Error)
	}
	if t.Duplicate {
		fmt.Fprint(&out, " duplicate")
	}
	return out.String()
}
