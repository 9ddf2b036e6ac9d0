package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// refusalEvery is how often a kind of refusal is logged.
const refusalEvery = time.Second

// refusals is a handler that logs each kind of refusal once a second, with how many there were: clients that repeat what a
// full or busy server refuses must not fill the disk with lines about it. Everything else passes.
type refusals struct {
	slog.Handler
	kinds *kinds
}

// kinds are those that were logged within the last second.
type kinds struct {
	mu   sync.Mutex
	seen map[string]*refusal
}

// refusal is a kind under way: how many lines were held back, and the last of them.
type refusal struct {
	count int
	last  slog.Record
}

func newRefusals(h slog.Handler) slog.Handler {
	return &refusals{h, &kinds{seen: make(map[string]*refusal)}}
}

// WithAttrs implements [slog.Handler].
func (r *refusals) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &refusals{r.Handler.WithAttrs(attrs), r.kinds}
}

// WithGroup implements [slog.Handler].
func (r *refusals) WithGroup(name string) slog.Handler {
	return &refusals{r.Handler.WithGroup(name), r.kinds}
}

// Handle implements [slog.Handler].
func (r *refusals) Handle(ctx context.Context, rec slog.Record) error {
	kind := refusalKind(rec)
	if kind == "" {
		return r.Handler.Handle(ctx, rec)
	}
	r.kinds.mu.Lock()
	if known := r.kinds.seen[kind]; known != nil {
		known.count++
		known.last = rec.Clone()
		r.kinds.mu.Unlock()
		return nil
	}
	r.kinds.seen[kind] = &refusal{}
	r.kinds.mu.Unlock()
	time.AfterFunc(refusalEvery, func() { r.sum(context.WithoutCancel(ctx), kind) })
	return r.Handler.Handle(ctx, rec)
}

// sum logs the last line that was held back, with how many there were; after a second without any the kind is new again.
func (r *refusals) sum(ctx context.Context, kind string) {
	r.kinds.mu.Lock()
	known := r.kinds.seen[kind]
	count, last := known.count, known.last
	known.count = 0
	if count == 0 {
		delete(r.kinds.seen, kind)
	}
	r.kinds.mu.Unlock()
	if count == 0 {
		return
	}
	time.AfterFunc(refusalEvery, func() { r.sum(ctx, kind) })
	last.AddAttrs(slog.Int("times", count))
	_ = r.Handler.Handle(ctx, last) // a log that cannot be written keeps nobody waiting
}

// refusalKind names the kind of refusal that a line is about: the message, and the status or the code of the error. Empty
// for any other line.
func refusalKind(rec slog.Record) (kind string) {
	if rec.Level != slog.LevelWarn {
		return ""
	}
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "status":
			if s := a.Value.String(); s == "429" || s == "503" || s == "507" {
				kind = rec.Message + " " + s
			}
		case "error":
			switch code, _, _ := strings.Cut(a.Value.String(), ":"); code {
			case "storage_full", "unavailable", "queue_full", "paused":
				kind = rec.Message + " " + code
			}
		}
		return kind == ""
	})
	return kind
}
