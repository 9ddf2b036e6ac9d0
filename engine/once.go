package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"time"

	"github.com/dabba-mq/dabba/store"
)

func (k *IdempotencyKey) validate() *Error {
	if k != nil && (k.Key == "" || len(k.Key) > MaxKeyBytes) {
		return invalid("Idempotency-Key", fmt.Sprintf("A key has 1 to %d characters.", MaxKeyBytes))
	}
	return nil
}

// once is what the store remembers about a repeatable send, in the record of its messages: the key, what was asked,
// and which messages were refused before the store saw them.
func once(tenant string, req SendRequest, outcomes []SendOutcome) *store.Once {
	o := &store.Once{Window: cmp.Or(req.remember, IdempotencyWindow), Note: note(outcomes)}
	key := sha256.New()
	for _, s := range []string{tenant, req.Key.Principal, req.Key.Path, req.Key.Key} {
		key.Write(appendString(nil, s))
	}
	copy(o.Key[:], key.Sum(nil))
	content := sha256.New()
	for i := range req.Messages {
		fingerprint(content, &req.Messages[i])
	}
	copy(o.Fingerprint[:], content.Sum(nil))
	return o
}

// fingerprint hashes all that a client said about a message. Every part has a fixed or a written length.
func fingerprint(h hash.Hash, m *Message) {
	head := appendHead(make([]byte, 0, payloadBound(m)-len(m.Body)), m)
	h.Write(appendString(nil, head))
	own := make([]byte, 0, 32)
	if m.Delay != nil {
		own = binary.LittleEndian.AppendUint64(append(own, 1), uint64(*m.Delay))
	}
	if m.DeliverAt != nil {
		own = binary.LittleEndian.AppendUint64(append(own, 2), uint64(m.DeliverAt.UnixMilli()))
	}
	if m.Refused != nil {
		own = append(own, 3)
	}
	if m.Group != "" {
		own = appendString(append(own, 4), m.Group)
	}
	if m.Priority != 0 {
		own = binary.AppendVarint(append(own, 5), int64(m.Priority))
	}
	if m.TTL != nil {
		own = binary.LittleEndian.AppendUint64(append(own, 6), uint64(*m.TTL))
	}
	h.Write(appendString(nil, own))
	h.Write(binary.AppendUvarint(nil, uint64(len(m.Body))))
	h.Write(m.Body)
}

// A note keeps the outcomes of a send for those who repeat it: one version byte, the number of messages as uint16,
// then two bits for each message, lowest first. At MaxBatch it has 253 bytes; the store allows 1 KiB.
const (
	noteVersion = 1
	noteHead    = 3

	noteAccepted = 0
	noteInvalid  = 1
	noteTooLarge = 2
)

func note(outcomes []SendOutcome) []byte {
	b := make([]byte, noteHead+(len(outcomes)+3)/4)
	b[0] = noteVersion
	binary.LittleEndian.PutUint16(b[1:], uint16(len(outcomes)))
	for i := range outcomes {
		b[noteHead+i/4] |= verdictBits(outcomes[i].Err) << (i % 4 * 2)
	}
	return b
}

func verdictBits(err *Error) byte {
	switch {
	case err == nil:
		return noteAccepted
	case err.Code == CodeTooLarge:
		return noteTooLarge
	default:
		return noteInvalid
	}
}

// recall replaces the outcomes of a repeat by those of the first time. Where both agree on a refusal the words of the
// repeat stay: they are about the same content.
func recall(outcomes []SendOutcome, b []byte) error {
	if len(b) != noteHead+(len(outcomes)+3)/4 || b[0] != noteVersion ||
		int(binary.LittleEndian.Uint16(b[1:])) != len(outcomes) {
		return fmt.Errorf("%w: note %x for %d messages", store.ErrCorrupt, b[:min(len(b), noteHead)], len(outcomes))
	}
	for i := range outcomes {
		was := b[noteHead+i/4] >> (i % 4 * 2) & 3
		if was == verdictBits(outcomes[i].Err) {
			continue
		}
		switch was {
		case noteAccepted:
			outcomes[i].Err = nil
		case noteTooLarge:
			outcomes[i].Err = errWasTooLarge
		default:
			outcomes[i].Err = errWasInvalid
		}
	}
	return nil
}

// What is said about a message that was refused the first time but would not be now.
var (
	errWasTooLarge = &Error{
		Code: CodeTooLarge, Outcome: NotApplied,
		Detail: "It was too large when this idempotency key was first used; send it again with a new key.",
	}
	errWasInvalid = &Error{
		Code: CodeInvalidRequest, Outcome: NotApplied,
		Detail: "It was refused when this idempotency key was first used; send it again with a new key.",
	}
	errWasFull = &Error{
		Code: CodeQueueFull, Field: "limits", Outcome: NotApplied, RetryAfter: time.Second,
		Detail: "The queue was full when this idempotency key was first used; send it again with a new key.",
	}
)
