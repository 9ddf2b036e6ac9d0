package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// Produce appends records to a topic: all of them or none. The answer means that they are durable. A record goes to the
// partition it names; else its key chooses, by the 64-bit FNV-1a hash of its bytes modulo the number of partitions; the
// records of a request that have neither go to one partition, and the next request's to the next. In each partition
// records keep the order of the request.
func (e *Engine) Produce(ctx context.Context, ref Ref, req ProduceRequest) (ProduceAnswer, error) {
	if n := len(req.Records); n < 1 || n > MaxBatch {
		return ProduceAnswer{}, invalid("records", fmt.Sprintf("Give 1 to %d records; these are %d.", MaxBatch, n))
	}
	if err := firstError(req.Key.validate(), validAsked(req.Acks)); err != nil {
		return ProduceAnswer{}, err
	}
	p := produce{req: &req, spread: e.topics.spread.Add(1)}
	var done ProduceAnswer
	looked := false
	err := e.followTopic(ctx, ref, func(t *topic, s *topicSetup) error {
		params, err := p.params(ctx, t, s)
		if err != nil && e.shared() && !looked {
			// The store need not tell that another node has changed what it was refused by.
			looked = true
			if err := e.renewTopic(ctx, ref); err != nil {
				return err
			}
			if now, ok := e.topics.byName(ref); ok && now.setup.Load() != s {
				return store.ErrStaleConfig
			}
		}
		if err != nil {
			return err
		}
		res, err := e.store.Append(ctx, params)
		if err != nil {
			return fmt.Errorf("produce to %s: %w", ref, err)
		}
		done, err = e.produced(t, &p, res)
		return err
	})
	return done, err
}

// produce is one produce under way.
type produce struct {
	req    *ProduceRequest
	spread uint64
	choice choice
	bytes  int64
}

// choice is how partitions were chosen: it is remembered with an idempotency key, so that a repeat finds the same ones
// although there may be more partitions by then.
type choice struct {
	partitions uint32
	// keyless is the partition of the records that leave the choice to the engine.
	keyless uint32
}

func (c choice) of(r *Record) uint32 {
	switch {
	case r.Partition != nil:
		return *r.Partition
	case r.Key != nil:
		h := fnv.New64a()
		_, _ = h.Write(r.Key) // never fails
		return uint32(h.Sum64() % uint64(c.partitions))
	}
	return c.keyless
}

// params makes the request ready for the store. The records are encoded into one buffer, which they share.
func (p *produce) params(ctx context.Context, t *topic, s *topicSetup) (store.AppendParams, error) {
	p.choice = choice{s.config.Partitions, uint32(p.spread % uint64(s.config.Partitions))}
	p.bytes = 0
	room := 0
	for i := range p.req.Records {
		r := &p.req.Records[i]
		size := recordSize(r)
		if err := r.validate(i, size, &s.config); err != nil {
			return store.AppendParams{}, err
		}
		room += recordBound(r)
		p.bytes += size
	}
	if memlimit.Full(ctx) {
		return store.AppendParams{}, keepsTooMuch()
	}
	if err := memlimit.Charge(ctx, int64(room+entryCost*len(p.req.Records))); err != nil {
		return store.AppendParams{}, err
	}
	params := store.AppendParams{
		Log: t.id, Revision: uint64(s.revision),
		Acks: copies(p.req.Acks, s.config.Acks, s.config.MinInsyncReplicas),
	}
	at := make(map[uint32]int) // in params.Parts
	buffer := make([]byte, 0, room)
	for i := range p.req.Records {
		r := &p.req.Records[i]
		start := len(buffer)
		buffer = appendRecord(buffer, r)
		record := store.LogRecord{Payload: buffer[start:len(buffer):len(buffer)], Size: uint32(recordSize(r))}
		if r.Timestamp != nil {
			record.Time = *r.Timestamp
		}
		partition := p.choice.of(r)
		n, known := at[partition]
		if !known {
			n = len(params.Parts)
			at[partition] = n
			params.Parts = append(params.Parts, store.AppendPart{Partition: partition})
		}
		params.Parts[n].Records = append(params.Parts[n].Records, record)
	}
	if p.req.ExpectedOffset != nil {
		if len(params.Parts) > 1 {
			return store.AppendParams{}, invalid("expected_offset",
				"The records go to several partitions; give each the same partition to use expected_offset.")
		}
		params.Parts[0].Expect = new(store.Offset(*p.req.ExpectedOffset))
	}
	if p.req.Key != nil {
		params.Once = p.once(t.ref.Tenant)
	}
	return params, nil
}

// produced names the places of the records.
func (e *Engine) produced(t *topic, p *produce, res store.AppendResult) (ProduceAnswer, error) {
	e.topicDueIn(t, res.NextDue)
	if res.Duplicate {
		first, err := decodeChoice(res.Note)
		if err != nil {
			return ProduceAnswer{}, fromStore(fmt.Errorf("read the first outcome of a produce to %s: %w", t.ref, err))
		}
		p.choice = first
	} else if e.events.Produced != nil {
		e.events.Produced(t.ref, len(p.req.Records), p.bytes)
	}
	next := make(map[uint32]uint64, len(res.Parts))
	for _, part := range res.Parts {
		next[part.Partition] = uint64(part.First)
	}
	answer := ProduceAnswer{Places: make([]RecordPlace, len(p.req.Records)), Duplicate: res.Duplicate}
	for i := range p.req.Records {
		partition := p.choice.of(&p.req.Records[i])
		answer.Places[i] = RecordPlace{partition, next[partition]}
		next[partition]++
	}
	return answer, nil
}

// once is what the store remembers about a repeatable produce, in the record of its records.
func (p *produce) once(tenant string) *store.Once {
	o := &store.Once{Window: IdempotencyWindow, Note: p.choice.encode()}
	key := sha256.New()
	for _, s := range []string{tenant, p.req.Key.Principal, p.req.Key.Path, p.req.Key.Key} {
		key.Write(appendString(nil, s))
	}
	copy(o.Key[:], key.Sum(nil))
	content := sha256.New()
	if p.req.ExpectedOffset != nil {
		content.Write(binary.LittleEndian.AppendUint64([]byte{1}, *p.req.ExpectedOffset))
	}
	for i := range p.req.Records {
		r := &p.req.Records[i]
		own := make([]byte, 0, 16)
		if r.Partition != nil {
			own = binary.LittleEndian.AppendUint32(append(own, 1), *r.Partition)
		}
		if r.Timestamp != nil {
			own = binary.LittleEndian.AppendUint64(append(own, 2), uint64(r.Timestamp.UnixMilli()))
		}
		content.Write(appendString(nil, own))
		encoded := appendRecord(make([]byte, 0, recordBound(r)), r)
		content.Write(binary.AppendUvarint(nil, uint64(len(encoded))))
		content.Write(encoded)
	}
	copy(o.Fingerprint[:], content.Sum(nil))
	return o
}

// A choice is kept as one version byte and two numbers.
const (
	choiceVersion = 1
	choiceSize    = 9
)

func (c choice) encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{choiceVersion}, c.partitions)
	return binary.LittleEndian.AppendUint32(b, c.keyless)
}

func decodeChoice(b []byte) (choice, error) {
	if len(b) != choiceSize || b[0] != choiceVersion || binary.LittleEndian.Uint32(b[1:]) == 0 {
		return choice{}, fmt.Errorf("%w: note %x", store.ErrCorrupt, b[:min(len(b), choiceSize)])
	}
	return choice{binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint32(b[5:])}, nil
}

// fromTopics is fromStore for calls on topics.
func fromTopics(err error) *Error {
	e := fromStore(err)
	offset, ok := errors.AsType[*store.OffsetError](err)
	if !ok {
		return e
	}
	b := boundsOf(offset.Bounds)
	refused := Error{Outcome: NotApplied, Bounds: &b, cause: err}
	switch {
	case errors.Is(err, store.ErrConflict):
		refused.Code, refused.Field = CodeConflict, "expected_offset"
		refused.Detail = fmt.Sprintf("The next offset of partition %d is %d, not %d; read what was appended since, then decide anew.",
			offset.Partition, b.HighWatermark, offset.Offset)
	case errors.Is(err, store.ErrTrimmed):
		refused.Code, refused.Field = CodeOffsetTrimmed, "offset"
		refused.Detail = fmt.Sprintf("The record was removed; the first that partition %d still has is %d.", offset.Partition, b.FirstOffset)
	default:
		refused.Code, refused.Field = CodeOffsetOutOfRange, "offset"
		refused.Detail = fmt.Sprintf("Partition %d ends at %d, which is the next offset to come.", offset.Partition, b.HighWatermark)
	}
	return &refused
}
