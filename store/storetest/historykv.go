package storetest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareKV(d drawer, kind string) (string, doer) {
	key := fmt.Sprint("key/", d.IntN(10))
	unconditional, back := d.one(4), d.IntN(10)
	prev := func(s *side) store.Revision {
		if unconditional || len(s.revisions) == 0 {
			return [...]store.Revision{0, store.AnyRevision}[back%2]
		}
		return s.revisions[len(s.revisions)-1-back%len(s.revisions)]
	}
	switch kind {
	case "put":
		value := payloadOf(d.Uint64(), d.IntN(1000))
		return fmt.Sprintf("Put(%q, %d bytes)", key, len(value)), func(s *side) (any, error) {
			r, err := s.store.Put(w.ctx, key, value, prev(s))
			if err == nil {
				s.revisions = append(s.revisions, r)
			}
			return "", err
		}
	case "delete":
		return fmt.Sprintf("Delete(%q)", key), func(s *side) (any, error) { return "", s.store.Delete(w.ctx, key, prev(s)) }
	case "get":
		return fmt.Sprintf("Get(%q)", key), func(s *side) (any, error) {
			p, err := s.store.Get(w.ctx, key)
			return brief(p.Value), err
		}
	case "list":
		limit := 1 + d.IntN(10)
		return fmt.Sprintf("List(%q, %q, %d)", "key/", key, limit), func(s *side) (any, error) {
			list, err := s.store.List(w.ctx, "key/", key, limit)
			var b strings.Builder
			for _, p := range list {
				fmt.Fprintf(&b, "[%s: %s] ", p.Key, brief(p.Value))
			}
			return b.String(), err
		}
	}
	panic("storetest: unknown call " + kind)
}

// brief tells payloads apart without printing all of them.
func brief(b []byte) string {
	return fmt.Sprintf("%x.. %d bytes, checksum %x", b[:min(len(b), 8)], len(b), crc32.ChecksumIEEE(b))
}

// kindOf names the sentinel of an error.
func kindOf(err error) string {
	for _, kind := range []error{
		store.ErrGone, store.ErrStaleConfig, store.ErrKeyReused, store.ErrNotFound, store.ErrConflict, store.ErrTooLarge,
		store.ErrFull, store.ErrUnknown, store.ErrClosed, store.ErrCorrupt,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
