package enginetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// session performs the commands of one transcript.
type session struct {
	*bundle
	ids      []engine.MessageID
	receipts []string
	tasks    []string
	last     *engine.Received
	lastMany *engine.ReceivedMany
	pending  map[string]*pending
}

// pending is a receive or send that waits in the background.
type pending struct {
	hangUp context.CancelFunc
	done   chan struct{}
	// answer is set before done is closed.
	answer func() string
}

// background makes a call that may wait. What it gives makes the answer, once that is asked for.
func (s *session) background(as string, call func(context.Context) func() string) {
	ctx, cancel := context.WithCancel(s.Context())
	p := &pending{hangUp: cancel, done: make(chan struct{})}
	s.pending[as] = p
	go func() {
		defer close(p.done)
		p.answer = call(ctx)
	}()
}

func newSession(b *bundle) *session {
	return &session{bundle: b, pending: make(map[string]*pending)}
}

// do performs one command and gives its answer, which ends with a line feed.
func (s *session) do(line string) string {
	s.Helper()
	c, err := parseCommand(line)
	if err != nil {
		s.Fatalf("%s: %v", line, err)
	}
	perform, ok := commands[c.verb]
	if !ok {
		s.Fatalf("%s: there is no such command", line)
	}
	answer := perform(s, c)
	synctest.Wait()
	for name := range c.named {
		if !c.used[name] {
			s.Fatalf("%s: %s has no use here", line, name)
		}
	}
	if answer == "" {
		return "ok\n"
	}
	return strings.TrimRight(answer, "\n") + "\n"
}

// end hangs up what still waits.
func (s *session) end() {
	for _, p := range s.pending {
		p.hangUp()
		<-p.done
	}
}

// command is a verb, words, and named values as in delay=10s.
type command struct {
	verb  string
	words []string
	named map[string]string
	used  map[string]bool
}

// parseCommand splits at blanks; words and values may be quoted as in Go.
func parseCommand(line string) (command, error) {
	c := command{named: make(map[string]string), used: make(map[string]bool)}
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " ") {
		name := ""
		if end := strings.IndexAny(rest, "= \""); end > 0 && rest[end] == '=' {
			name, rest = rest[:end], rest[end+1:]
		}
		word, length := rest, len(rest)
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			length = len(quoted)
			if word, err = strconv.Unquote(quoted); err != nil {
				return c, err
			}
		} else if end := strings.IndexByte(rest, ' '); end >= 0 {
			word, length = rest[:end], end
		}
		rest = rest[length:]
		switch {
		case name != "":
			c.named[name] = word
		case c.verb == "":
			c.verb = word
		default:
			c.words = append(c.words, word)
		}
	}
	return c, nil
}

// value is a named value, empty if it was not given.
func (c *command) value(name string) string {
	c.used[name] = true
	return c.named[name]
}

func (s *session) duration(c command, name string) *time.Duration {
	v := c.value(name)
	if v == "" {
		return nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	return &d
}

func (s *session) number(c command, name string) int {
	v := c.value(name)
	if v == "" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	return n
}

// ref is the queue named by the first word, as in orders or other:orders for another tenant.
func (s *session) ref(c command) engine.Ref {
	if len(c.words) == 0 {
		s.Fatalf("%s: name a queue", c.verb)
	}
	if t, name, ok := strings.Cut(c.words[0], ":"); ok {
		return engine.Ref{Tenant: t, Name: name}
	}
	return engine.Ref{Tenant: tenant, Name: c.words[0]}
}

// id shows a message id as #1, #2 and so on.
func (s *session) id(id engine.MessageID) string {
	for i, known := range s.ids {
		if known == id {
			return fmt.Sprintf("#%d", i+1)
		}
	}
	s.ids = append(s.ids, id)
	return fmt.Sprintf("#%d", len(s.ids))
}

// receiptName shows a receipt as r1, r2 and so on.
func (s *session) receiptName(receipt string) string {
	for i, known := range s.receipts {
		if known == receipt {
			return fmt.Sprintf("r%d", i+1)
		}
	}
	s.receipts = append(s.receipts, receipt)
	return fmt.Sprintf("r%d", len(s.receipts))
}

// receipt is the one shown as r1, r2 and so on; other words are taken as they are.
func (s *session) receipt(word string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "r")); err == nil && n >= 1 && n <= len(s.receipts) {
		return s.receipts[n-1]
	}
	return word
}

func problem(err error) string {
	e := engine.ErrorOf(err)
	field := ""
	if e.Field != "" {
		field = " in " + e.Field
	}
	return fmt.Sprintf("%s%s: %s", e.Code, field, e.Detail)
}
