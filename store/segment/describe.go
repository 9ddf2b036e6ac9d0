package segment

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

var typeNames = map[uint8]string{
	typeConfigured: "configured",
	typeDropped:    "dropped",
	typeSent:       "sent",
	typeClaimed:    "claimed",
	typeSettled:    "settled",
	typeSwept:      "swept",
	typeMoved:      "moved",
	typeChanged:    "changed",
	typeRestarted:  "restarted",
	typeKept:       "kept",
	typePurged:     "purged",
	typeClock:      "clock",
	typeStepped:    "stepped",

	typeLogConfigured: "log configured",
	typeLogDropped:    "log dropped",
	typeAppended:      "appended",
	typeTrimmed:       "trimmed",
}

func generation(id store.QueueID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(id))
}

// describe says what a record did.
func describe(lsn journal.LSN, pos journal.Position, size uint32, r record.Record) RecordInfo {
	name, ok := typeNames[r.Type]
	if !ok {
		name = fmt.Sprintf("type %d", r.Type)
	}
	what, err := story(r)
	if err != nil {
		what = err.Error()
	}
	return RecordInfo{
		File: pos.File, Offset: pos.Offset, LSN: uint64(lsn), Size: size, Type: name, Queue: generation(store.QueueID(r.Object)), What: what,
	}
}

// story tells it in words; times are UTC.
func story(r record.Record) (string, error) {
	switch r.Type {
	case typeDropped:
		return "queue deleted with its messages", nil
	case typeRestarted:
		return "a process opened the folder", nil
	case typeClock:
		e, err := model.DecodeReading(r.Payload)
		return fmt.Sprintf("queue time %s, %s by the wall clock", instant(e.At), instant(e.At+model.Millis(e.Ahead))), err
	case typeStepped:
		ev, err := model.DecodeStepped(r.Payload)
		return fmt.Sprintf("the wall clock is ahead of queue time by %v", time.Duration(ev.Ahead)*time.Millisecond), err
	case typeConfigured:
		ev, err := model.DecodeConfigured(r.Payload)
		return tellConfigured(ev), err
	case typeSent, typeMoved:
		b, err := decodeBatch(r)
		if err != nil {
			return "", err
		}
		from := ""
		if r.Type == typeMoved {
			from = fmt.Sprintf(" from queue %x", b.Source)
			if b.Renewed() {
				from += " as new ones"
			}
		}
		return fmt.Sprintf("messages %s, %d bytes%s", between(b.First, b.First+store.Seq(b.Len())-1), b.Bytes(), from), nil
	case typeClaimed:
		ev, err := model.DecodeClaimed(r.Payload)
		return tellClaimed(ev), err
	case typeSettled:
		ev, err := model.DecodeSettled(r.Payload)
		return tellSettled(ev), err
	case typeSwept:
		ev, err := model.DecodeSwept(r.Payload)
		return tellRemoved(nil, ev.Expired, ev.Lapsed), err
	case typePurged:
		ev, err := model.DecodePurged(r.Payload)
		if ev.All {
			return "all messages purged", err
		}
		return "purged " + ranges(ev.Seqs), err
	case typeChanged:
		ev, err := model.DecodeChanged(r.Payload)
		if ev.Deleted {
			return fmt.Sprintf("key %q deleted", ev.Pair.Key), err
		}
		return fmt.Sprintf("key %q set to %d bytes, revision %d", ev.Pair.Key, len(ev.Pair.Value), ev.Pair.Revision), err
	case typeKept:
		k, err := model.DecodeKept(r.Payload)
		return fmt.Sprintf("message %d of %d bytes", k.Seq, k.Size), err
	}
	return logStory(r)
}

func tellConfigured(ev model.Configured) string {
	what := "changed"
	if ev.Created {
		what = "created"
	}
	what = fmt.Sprintf("%s: revision %d", what, ev.Settings.Revision)
	if n := ev.Settings.MaxReceives; n > 0 {
		when := "at once"
		if ev.Settings.Lazy {
			when = "at the next receive"
		}
		what += fmt.Sprintf(", dead after %d deliveries (%s)", n, when)
	}
	if ev.Settings.Retention > 0 {
		what += fmt.Sprintf(", kept for %v", ev.Settings.Retention)
	}
	for _, part := range []struct {
		set  bool
		text string
	}{
		{ev.Settings.Mode == store.FIFO, "FIFO"},
		{ev.Settings.Tail, "groups locked from the first message in flight on"},
		{ev.Settings.Mode == store.Fair, "fair"},
		{ev.Settings.Levels > 1, fmt.Sprintf("%d levels", ev.Settings.Levels)},
		{ev.Settings.MaxMessages > 0, fmt.Sprintf("at most %d messages", ev.Settings.MaxMessages)},
		{ev.Settings.MaxBytes > 0, fmt.Sprintf("at most %d bytes", ev.Settings.MaxBytes)},
	} {
		if part.set {
			what += ", " + part.text
		}
	}
	return what
}

func tellClaimed(ev model.Claimed) string {
	var parts []string
	if len(ev.Seqs) > 0 {
		part := fmt.Sprintf("leased %s until %s with token %d", ranges(ev.Seqs), instant(ev.Deadline), ev.Token)
		if ev.Consumer != "" {
			part += fmt.Sprintf(" by %q", ev.Consumer)
		}
		parts = append(parts, part)
	}
	if ev.Repeated {
		parts = append(parts, "again")
	}
	if removed := tellRemoved(ev.Died, ev.Expired, ev.Lapsed); removed != "" {
		parts = append(parts, removed)
	}
	return strings.Join(parts, "; ")
}

func tellRemoved(died, expired, lapsed []store.Seq) string {
	var parts []string
	if len(died) > 0 {
		parts = append(parts, "dead "+ranges(died))
	}
	if len(expired) > 0 {
		parts = append(parts, "expired "+ranges(expired))
	}
	if len(lapsed) > 0 {
		parts = append(parts, "dead since expired "+ranges(lapsed))
	}
	return strings.Join(parts, "; ")
}

func tellSettled(ev model.Settled) string {
	parts := make([]string, 0, len(ev.Changes))
	for _, c := range ev.Changes {
		part := ""
		switch c.Target {
		case store.Done:
			part = fmt.Sprintf("done %d", c.Seq)
		case store.Ready:
			part = fmt.Sprintf("ready %d from %s", c.Seq, instant(c.Due))
		case store.Leased:
			part = fmt.Sprintf("leased %d until %s", c.Seq, instant(c.Due))
		case store.Dead:
			part = fmt.Sprintf("dead %d", c.Seq)
		default:
			part = fmt.Sprintf("target %d for %d", c.Target, c.Seq)
		}
		if c.Uncount {
			part += ", not counted"
		}
		if c.Reason != "" {
			part += fmt.Sprintf(", reason %q", c.Reason)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func instant(at model.Millis) string { return model.Time(at).Format("2006-01-02T15:04:05.000Z") }

// ranges writes sequences, which mostly rise by one, as "1-5, 8".
func ranges(seqs []store.Seq) string {
	var parts []string
	for i := 0; i < len(seqs); {
		first := i
		for i++; i < len(seqs) && seqs[i] == seqs[i-1]+1; i++ {
		}
		parts = append(parts, between(seqs[first], seqs[i-1]))
	}
	return strings.Join(parts, ", ")
}

func between(first, last store.Seq) string {
	if first == last {
		return strconv.FormatUint(uint64(first), 10)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
