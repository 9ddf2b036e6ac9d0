package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// commands of the transcripts. Each gives its answer; an empty one is shown as ok.
var commands = map[string]func(*session, command) string{
	"create":  (*session).create,
	"change":  (*session).change,
	"config":  (*session).config,
	"notes":   (*session).notes,
	"times":   (*session).times,
	"delete":  (*session).delete,
	"queues":  (*session).queues,
	"names":   (*session).names,
	"feeders": (*session).feeders,
	"counts":  (*session).counts,
	"send":    (*session).send,
	"sending": (*session).sending,
	"receive": (*session).receive,
	"undo":    (*session).undo,
	"wait":    (*session).wait,
	"answer":  (*session).answer,
	"hang-up": (*session).hangUp,
	"ack":     (*session).ack,
	"nack":    (*session).nack,
	"extend":  (*session).extend,
	"hide":    (*session).hide,
	"advance": (*session).advanceBy,
	"jump":    (*session).jumpBy,
	"restart": (*session).restartEngine,
	"drain":   (*session).drain,

	"schedule":   (*session).schedule,
	"schedules":  (*session).schedules,
	"unschedule": (*session).unschedule,
	"away":       (*session).away,

	"pause":        (*session).pause,
	"resume":       (*session).resume,
	"is-paused":    (*session).isPaused,
	"receive-many": (*session).receiveMany,
	"wait-many":    (*session).waitMany,
	"undo-many":    (*session).undoMany,

	"browse":            (*session).browse,
	"look":              (*session).look,
	"reschedule":        (*session).reschedule,
	"remove":            (*session).remove,
	"purge":             (*session).purge,
	"release":           (*session).releaseAll,
	"groups":            (*session).groups,
	"skip":              (*session).skip,
	"dead-letter-group": (*session).deadLetterGroup,
	"purge-group":       (*session).purgeGroup,

	"cool":    (*session).cool,
	"cooling": (*session).isCooling,

	"redrive": (*session).redrive,
	"task":    (*session).task,
	"tasks":   (*session).listTasks,
	"cancel":  (*session).cancel,

	"create-topic": (*session).createTopic,
	"topic":        (*session).topic,
	"topics":       (*session).topics,
	"delete-topic": (*session).deleteTopic,
	"produce":      (*session).produce,
	"read":         (*session).read,
	"trim":         (*session).trim,
	"commit":       (*session).commit,
	"committed":    (*session).committed,
}

// create queue [setting=value…]: put it with these settings, the others default.
func (s *session) create(c command) string {
	cfg := engine.DefaultConfig()
	s.settings(c, &cfg)
	_, created, err := s.engine.PutQueue(s.Context(), s.ref(c), cfg, engine.Condition{Match: c.value("if-match")})
	switch {
	case err != nil:
		return problem(err)
	case created:
		return "created"
	}
	return "replaced"
}

// change queue setting=value…: these settings only.
func (s *session) change(c command) string {
	s.settings(c, new(engine.QueueConfig)) // they are read even if there is nothing to change
	_, err := s.engine.ChangeQueue(s.Context(), s.ref(c), engine.Condition{Match: c.value("if-match")}, func(cfg engine.QueueConfig) (engine.QueueConfig, error) {
		s.settings(c, &cfg)
		return cfg, nil
	})
	if err != nil {
		return problem(err)
	}
	return ""
}

func (s *session) settings(c command, cfg *engine.QueueConfig) {
	for name, to := range map[string]*time.Duration{
		"visibility": &cfg.Visibility, "delay": &cfg.Delay, "retention": &cfg.Retention, "wait": &cfg.Wait,
		"retry.base": &cfg.Retry.Base, "retry.cap": &cfg.Retry.Cap,
		"dedup.window": &cfg.Dedup.Window, "ageing": &cfg.Ageing,
	} {
		if d := s.duration(c, name); d != nil {
			*to = *d
		}
	}
	setString(c, "retry.policy", &cfg.Retry.Policy)
	setString(c, "retry.jitter", &cfg.Retry.Jitter)
	setString(c, "dead_letter.queue", &cfg.DeadLetter.Queue)
	setString(c, "dead_letter.when", &cfg.DeadLetter.When)
	if names, ok := c.named["dead_letter.allow_from"]; ok {
		c.used["dead_letter.allow_from"] = true
		cfg.DeadLetter.AllowFrom = strings.FieldsFunc(names, func(r rune) bool { return r == ',' })
	}
	setString(c, "dedup.scope", &cfg.Dedup.Scope)
	setString(c, "limits.overflow", &cfg.Limits.Overflow)
	setString(c, "ack", &cfg.Ack)
	setString(c, "group_lock", &cfg.GroupLock)
	setNotes(c, cfg)
	s.bounds(c, cfg)
	if _, ok := c.named["retry.max_receives"]; ok {
		cfg.Retry.MaxReceives = uint32(s.number(c, "retry.max_receives"))
	}
	for name, to := range map[string]*bool{
		"fifo": &cfg.FIFO, "fair": &cfg.Fair, "history": &cfg.History,
		"dedup.content_based": &cfg.Dedup.ContentBased, "dead_letter.expired": &cfg.DeadLetter.Expired,
	} {
		if v := c.value(name); v != "" {
			*to = v == "yes"
		}
	}
	if _, ok := c.named["max_message_bytes"]; ok {
		cfg.MaxMessageBytes = int64(s.number(c, "max_message_bytes"))
	}
	if tag := c.value("tag"); tag != "" {
		name, value, _ := strings.Cut(tag, ":")
		cfg.Tags = map[string]string{name: value}
	}
}

// bounds reads the settings that are numbers and new.
func (s *session) bounds(c command, cfg *engine.QueueConfig) {
	l := &cfg.Limits
	for name, set := range map[string]func(float64){
		"limits.max_messages":        func(n float64) { l.MaxMessages = int64(n) },
		"limits.max_bytes":           func(n float64) { l.MaxBytes = int64(n) },
		"limits.max_in_flight":       func(n float64) { l.MaxInFlight = uint32(n) },
		"limits.per_group_in_flight": func(n float64) { l.PerGroupInFlight = uint32(n) },
		"limits.rate":                func(n float64) { l.Rate = n },
		"limits.per_group_rate":      func(n float64) { l.PerGroupRate = n },
		"priorities":                 func(n float64) { cfg.Priorities = int(n) },
	} {
		v := c.value(name)
		if v == "" {
			continue
		}
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			s.Fatalf("%s: %v", name, err)
		}
		set(n)
	}
}

func setString[S ~string](c command, name string, to *S) {
	if v, ok := c.named[name]; ok {
		*to = S(v)
		c.used[name] = true
	}
}

// config queue: its settings.
func (s *session) config(c command) string {
	q, err := s.engine.Queue(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	return fmt.Sprintf("visibility=%v delay=%v retention=%v max_message_bytes=%d wait=%v\n"+
		"retry: %s base=%v cap=%v jitter=%s max_receives=%d\ndead_letter: %q %s\ntags: %v",
		q.Config.Visibility, q.Config.Delay, q.Config.Retention, q.Config.MaxMessageBytes, q.Config.Wait,
		q.Config.Retry.Policy, q.Config.Retry.Base, q.Config.Retry.Cap, q.Config.Retry.Jitter, q.Config.Retry.MaxReceives,
		q.Config.DeadLetter.Queue, q.Config.DeadLetter.When, q.Config.Tags)
}

// delete queue [force].
func (s *session) delete(c command) string {
	if err := s.engine.DeleteQueue(s.Context(), s.ref(c), engine.Condition{}, slices.Contains(c.words[1:], "force")); err != nil {
		return problem(err)
	}
	return ""
}

// queues [prefix] [tenant=] [after=] [limit=]: their names.
func (s *session) queues(c command) string {
	of, prefix := tenant, ""
	setString(c, "tenant", &of)
	if len(c.words) > 0 {
		prefix = c.words[0]
	}
	all, err := s.engine.Queues(s.Context(), of, prefix, c.value("after"), s.number(c, "limit"), nil)
	if err != nil {
		return problem(err)
	}
	if len(all) == 0 {
		return "none"
	}
	var out strings.Builder
	for _, q := range all {
		fmt.Fprintln(&out, q.Ref.Name)
	}
	return out.String()
}

// counts queue.
func (s *session) counts(c command) string {
	q, err := s.engine.Queue(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	oldest := "none"
	if q.OldestAge >= 0 {
		oldest = q.OldestAge.Round(time.Second).String()
	}
	return fmt.Sprintf("ready=%d leased=%d delayed=%d dead=%d bytes=%d oldest=%s",
		q.Counts.Ready, q.Counts.Leased, q.Counts.Delayed, q.Counts.Dead, q.Counts.Bytes, oldest)
}

// send queue body… [delay=] [in=] [key=] [type=] [attr=name:value] [group=] [dedup=] [priority=] [ttl=]: the ids. in sets
// a time of delivery.
func (s *session) send(c command) string {
	req := s.sendRequest(c)
	return s.sent(s.engine.Send(s.Context(), s.ref(c), req))
}

// sending queue body… as=name […as send]: a send in the background.
func (s *session) sending(c command) string {
	ref, req := s.ref(c), s.sendRequest(c)
	s.background(c.value("as"), func(ctx context.Context) func() string {
		sent, err := s.engine.Send(ctx, ref, req)
		return func() string { return s.sent(sent, err) }
	})
	return ""
}

func (s *session) sendRequest(c command) engine.SendRequest {
	m := engine.Message{
		Delay: s.duration(c, "delay"), TTL: s.duration(c, "ttl"), ContentType: c.value("type"),
		Group: c.value("group"), DedupID: c.value("dedup"), Priority: s.number(c, "priority"),
	}
	if in := s.duration(c, "in"); in != nil {
		at := s.now().Add(*in)
		m.DeliverAt = &at
	}
	if attr := c.value("attr"); attr != "" {
		name, value, _ := strings.Cut(attr, ":")
		m.Attributes = []engine.Attribute{{Name: name, Value: []byte(value)}}
	}
	var req engine.SendRequest
	for _, body := range c.words[1:] {
		m.Body = []byte(body)
		req.Messages = append(req.Messages, m)
	}
	if key := c.value("key"); key != "" {
		req.Key = &engine.IdempotencyKey{Principal: "someone", Path: c.words[0], Key: key}
	}
	return req
}

func (s *session) sent(sent engine.SendAnswer, err error) string {
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	if sent.Duplicate {
		fmt.Fprintln(&out, "duplicate")
	}
	for _, o := range sent.Outcomes {
		if o.Err != nil {
			fmt.Fprintln(&out, problem(o.Err))
			continue
		}
		if o.Dropped {
			fmt.Fprintln(&out, "dropped")
			continue
		}
		fmt.Fprint(&out, s.id(o.ID))
		if o.Sequence > 0 {
			fmt.Fprintf(&out, " sequence=%d", o.Sequence)
		}
		if o.Duplicate {
			fmt.Fprint(&out, " duplicate")
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func (s *session) receiveRequest(c command) engine.ReceiveRequest {
	return engine.ReceiveRequest{
		Max: s.number(c, "max"), Wait: s.duration(c, "wait"),
		Visibility: s.duration(c, "visibility"), Consumer: c.value("consumer"), AttemptID: c.value("attempt"),
	}
}

// receive queue [max=] [wait=] [visibility=] [consumer=] [attempt=].
func (s *session) receive(c command) string {
	got, err := s.engine.Receive(s.Context(), s.ref(c), s.receiveRequest(c))
	return s.received(got, err)
}

func (s *session) received(got *engine.Received, err error) string {
	if err != nil {
		return problem(err)
	}
	s.last = got
	var out strings.Builder
	for i := range got.Messages {
		d := &got.Messages[i]
		fmt.Fprintf(&out, "%s %s %s receives=%d", s.receiptName(d.Receipt), s.id(d.ID), strconv.Quote(string(d.Body)), d.Receives)
		if d.Group != "" {
			fmt.Fprintf(&out, " group=%s", d.Group)
		}
		if d.DedupID != "" {
			fmt.Fprintf(&out, " dedup=%s", d.DedupID)
		}
		if d.Priority != 0 {
			fmt.Fprintf(&out, " priority=%d", d.Priority)
		}
		if d.Sequence != 0 {
			fmt.Fprintf(&out, " sequence=%d", d.Sequence)
		}
		if !d.ExpiresAt.IsZero() {
			fmt.Fprintf(&out, " ends_in=%v", d.ExpiresAt.Sub(s.now()).Round(time.Second))
		}
		if d.ContentType != "" {
			fmt.Fprintf(&out, " type=%s", d.ContentType)
		}
		for _, a := range d.Attributes {
			fmt.Fprintf(&out, " attr=%s:%s", a.Name, a.Value)
		}
		if d.Origin != nil {
			fmt.Fprintf(&out, " from=%s after=%d reason=%q", d.Origin.Queue, d.Origin.Receives, d.Origin.Reason)
		}
		fmt.Fprintln(&out)
	}
	if len(got.Messages) == 0 {
		return "nothing"
	}
	return out.String()
}

// undo: the client of the last receive did not get its answer.
func (s *session) undo(command) string {
	if err := s.last.Undo(s.Context()); err != nil {
		return problem(err)
	}
	return ""
}

// wait queue as=name […as receive]: a receive in the background.
func (s *session) wait(c command) string {
	ref, req := s.ref(c), s.receiveRequest(c)
	s.background(c.value("as"), func(ctx context.Context) func() string {
		got, err := s.engine.Receive(ctx, ref, req)
		return func() string { return s.received(got, err) }
	})
	return ""
}

// answer name: what a background receive or send got.
func (s *session) answer(c command) string {
	p := s.pending[c.words[0]]
	select {
	case <-p.done:
		return p.answer()
	default:
		return "waits"
	}
}

// hang-up name: the client of a background receive or send goes away.
func (s *session) hangUp(c command) string {
	p := s.pending[c.words[0]]
	p.hangUp()
	<-p.done
	return ""
}

// ack queue receipt… [any=yes]: with any those of earlier deliveries, too.
func (s *session) ack(c command) string {
	var receipts []string
	for _, r := range c.words[1:] {
		receipts = append(receipts, s.receipt(r))
	}
	if c.value("any") == "yes" {
		return results(s.engine.AckAny(s.Context(), s.ref(c), receipts))
	}
	return results(s.engine.Ack(s.Context(), s.ref(c), receipts, ""))
}

// nack queue receipt… [delay=] [reason=] [dead=yes].
func (s *session) nack(c command) string {
	var items []engine.NackItem
	for _, r := range c.words[1:] {
		items = append(items, engine.NackItem{
			Receipt: s.receipt(r), Delay: s.duration(c, "delay"),
			Reason: c.value("reason"), Dead: c.value("dead") == "yes",
		})
	}
	return results(s.engine.Nack(s.Context(), s.ref(c), items, ""))
}

// extend queue receipt… visibility=.
func (s *session) extend(c command) string {
	var items []engine.ExtendItem
	for _, r := range c.words[1:] {
		items = append(items, engine.ExtendItem{Receipt: s.receipt(r), Visibility: *s.duration(c, "visibility")})
	}
	return results(s.engine.Extend(s.Context(), s.ref(c), items, ""))
}

// hide queue receipt… visibility= [within=]: a change of visibility, within 12h of the receive unless it says otherwise.
func (s *session) hide(c command) string {
	var items []engine.ExtendItem
	for _, r := range c.words[1:] {
		items = append(items, engine.ExtendItem{Receipt: s.receipt(r), Visibility: *s.duration(c, "visibility")})
	}
	within := 12 * time.Hour
	if d := s.duration(c, "within"); d != nil {
		within = *d
	}
	return results(s.engine.ChangeVisibility(s.Context(), s.ref(c), items, within))
}

func results(all []engine.ItemResult, err error) string {
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, r := range all {
		if r.Err != nil {
			fmt.Fprintln(&out, problem(r.Err))
			continue
		}
		fmt.Fprintln(&out, "ok")
	}
	return out.String()
}

// advance duration.
func (s *session) advanceBy(c command) string {
	d, err := time.ParseDuration(c.words[0])
	if err != nil {
		s.Fatal(err)
	}
	s.advance(d)
	return ""
}

// jump duration: the clock is put forward.
func (s *session) jumpBy(c command) string {
	d, err := time.ParseDuration(c.words[0])
	if err != nil {
		s.Fatal(err)
	}
	s.jump(d)
	return ""
}

// restart: close and open again.
func (s *session) restartEngine(command) string {
	s.restart()
	return ""
}

// drain: let no receive wait any longer.
func (s *session) drain(command) string {
	s.engine.Drain()
	return ""
}
