package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The catalog is kept in the key-value part of the store, one pair for each queue: q/<tenant>/<name>, the tenant
// path-escaped, so that the slashes are unambiguous. The pair's revision is that of the configuration.
const (
	catalogPrefix = "q/"
	recordVersion = 4
)

// record is a catalog entry.
type record struct {
	id     store.QueueID
	config QueueConfig
	pause  Pause
	// createdAt and changedAt are zero in records of earlier versions; created and changed are the same in queue time.
	createdAt, changedAt time.Time
	created, changed     store.Instant
	revision             store.Revision
}

func tenantPrefix(tenant string) string { return catalogPrefix + url.PathEscape(tenant) + "/" }

func catalogKey(ref Ref) string { return tenantPrefix(ref.Tenant) + ref.Name }

func refOfKey(key string) (Ref, error) {
	escaped, name, ok := strings.Cut(strings.TrimPrefix(key, catalogPrefix), "/")
	tenant, err := url.PathUnescape(escaped)
	if !ok || err != nil {
		return Ref{}, fmt.Errorf("%w: catalog key %q", store.ErrCorrupt, key)
	}
	return Ref{tenant, name}, nil
}

// storedQueue is the JSON of a record. Durations are nanoseconds. Version 1 ends with Tags, version 2 with Paused, and
// version 3 has no Acks and no Shards; what they do not have is as in [DefaultConfig].
type storedQueue struct {
	Version         int               `json:"version"`
	ID              uint64            `json:"id,string"`
	Visibility      time.Duration     `json:"visibility"`
	Delay           time.Duration     `json:"delay"`
	Retention       time.Duration     `json:"retention"`
	MaxMessageBytes int64             `json:"max_message_bytes"`
	Wait            time.Duration     `json:"wait"`
	Retry           storedRetry       `json:"retry"`
	DeadLetter      storedDeadLetter  `json:"dead_letter"`
	Tags            map[string]string `json:"tags,omitempty"`
	FIFO            bool              `json:"fifo,omitempty"`
	Dedup           storedDedup       `json:"dedup"`
	Limits          storedLimits      `json:"limits"`
	Priorities      int               `json:"priorities"`
	Ageing          time.Duration     `json:"ageing"`
	Fair            bool              `json:"fair,omitempty"`
	Ack             AckMode           `json:"ack"`
	History         bool              `json:"history,omitempty"`
	Paused          storedPause       `json:"paused,omitzero"`
	GroupLock       GroupLock         `json:"group_lock"`
	Notes           map[string]string `json:"notes,omitempty"`
	Acks            Acks              `json:"acks"`
	MinInsync       uint32            `json:"min_insync_replicas"`
	Shards          uint32            `json:"shards"`
	CreatedAt       time.Time         `json:"created_at,omitzero"`
	ChangedAt       time.Time         `json:"changed_at,omitzero"`
	Created         store.Instant     `json:"created,omitzero"`
	Changed         store.Instant     `json:"changed,omitzero"`
}

type storedRetry struct {
	Policy      RetryPolicy   `json:"policy"`
	Base        time.Duration `json:"base"`
	Cap         time.Duration `json:"cap"`
	Jitter      Jitter        `json:"jitter"`
	MaxReceives uint32        `json:"max_receives"`
}

type storedDeadLetter struct {
	Queue   string `json:"queue,omitempty"`
	When    When   `json:"when"`
	Expired bool   `json:"expired,omitempty"`
	// AllowFrom is left out when it is nil, not when it is empty.
	AllowFrom []string `json:"allow_from,omitzero"`
}

type storedDedup struct {
	ContentBased bool          `json:"content_based,omitempty"`
	Window       time.Duration `json:"window"`
	Scope        DedupScope    `json:"scope"`
}

type storedLimits struct {
	MaxMessages      int64    `json:"max_messages,omitempty"`
	MaxBytes         int64    `json:"max_bytes,omitempty"`
	Overflow         Overflow `json:"overflow"`
	MaxInFlight      uint32   `json:"max_in_flight,omitempty"`
	PerGroupInFlight uint32   `json:"per_group_in_flight,omitempty"`
	Rate             float64  `json:"rate,omitempty"`
	PerGroupRate     float64  `json:"per_group_rate,omitempty"`
}

type storedPause struct {
	Produce      bool      `json:"produce,omitempty"`
	Consume      bool      `json:"consume,omitempty"`
	ProduceUntil time.Time `json:"produce_until,omitzero"`
	ConsumeUntil time.Time `json:"consume_until,omitzero"`
}

func storedOf(id store.QueueID, c QueueConfig) storedQueue {
	return storedQueue{
		Version: recordVersion, ID: uint64(id),
		Visibility: c.Visibility, Delay: c.Delay, Retention: c.Retention,
		MaxMessageBytes: c.MaxMessageBytes, Wait: c.Wait,
		Retry: storedRetry(c.Retry), DeadLetter: storedDeadLetter(c.DeadLetter), Tags: c.Tags,
		FIFO: c.FIFO, Dedup: storedDedup(c.Dedup),
		Limits: storedLimits{
			MaxMessages: c.Limits.MaxMessages, MaxBytes: c.Limits.MaxBytes, Overflow: c.Limits.Overflow,
			MaxInFlight: c.Limits.MaxInFlight, PerGroupInFlight: c.Limits.PerGroupInFlight,
			Rate: c.Limits.Rate, PerGroupRate: c.Limits.PerGroupRate,
		},
		Priorities: c.Priorities, Ageing: c.Ageing, Fair: c.Fair, Ack: c.Ack, History: c.History,
		GroupLock: c.GroupLock, Notes: c.Notes,
		Acks: c.Acks, MinInsync: c.MinInsyncReplicas, Shards: c.Shards,
	}
}

func (s *storedQueue) config() QueueConfig {
	return QueueConfig{
		FIFO:       s.FIFO,
		Visibility: s.Visibility, Delay: s.Delay, Retention: s.Retention,
		MaxMessageBytes: s.MaxMessageBytes, Wait: s.Wait,
		Dedup: Dedup(s.Dedup), Retry: Retry(s.Retry), DeadLetter: DeadLetter(s.DeadLetter),
		Limits: Limits{
			MaxMessages: s.Limits.MaxMessages, MaxBytes: s.Limits.MaxBytes, Overflow: s.Limits.Overflow,
			MaxInFlight: s.Limits.MaxInFlight, PerGroupInFlight: s.Limits.PerGroupInFlight,
			Rate: s.Limits.Rate, PerGroupRate: s.Limits.PerGroupRate,
		},
		Priorities: s.Priorities, Ageing: s.Ageing, Fair: s.Fair, Ack: s.Ack, History: s.History, Tags: s.Tags,
		GroupLock: s.GroupLock, Notes: s.Notes,
		Acks: s.Acks, MinInsyncReplicas: s.MinInsync, Shards: s.Shards,
	}
}

func encodeRecord(r record) ([]byte, error) {
	s := storedOf(r.id, r.config)
	s.Paused, s.CreatedAt, s.ChangedAt = storedPause(r.pause), r.createdAt, r.changedAt
	s.Created, s.Changed = r.created, r.changed
	return json.Marshal(s)
}

func decodeRecord(p store.Pair) (record, error) {
	s := storedOf(0, DefaultConfig())
	s.Version = 0
	if err := json.Unmarshal(p.Value, &s); err != nil {
		return record{}, fmt.Errorf("%w: catalog entry %q: %w", store.ErrCorrupt, p.Key, err)
	}
	if s.Version < 1 || s.Version > recordVersion {
		return record{}, fmt.Errorf("%w: catalog entry %q has version %d, this program knows 1 to %d",
			store.ErrVersion, p.Key, s.Version, recordVersion)
	}
	return record{
		id: store.QueueID(s.ID), revision: p.Revision, config: s.config(), pause: Pause(s.Paused),
		createdAt: s.CreatedAt, changedAt: s.ChangedAt, created: s.Created, changed: s.Changed,
	}, nil
}

// readRecord gives nil when there is no such queue.
func (e *Engine) readRecord(ctx context.Context, ref Ref) (*record, error) {
	pair, err := e.store.Get(ctx, catalogKey(ref))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog entry of %s: %w", ref, err)
	}
	r, err := decodeRecord(pair)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// CatalogEntry reads a pair of the store's key-value part: which queue it is about, and under which id the store knows
// that. It is false for a pair that is not about a queue. It is for tools that look at a store without an engine.
func CatalogEntry(p store.Pair) (ref Ref, id store.QueueID, ok bool, err error) {
	if !strings.HasPrefix(p.Key, catalogPrefix) {
		return Ref{}, 0, false, nil
	}
	if ref, err = refOfKey(p.Key); err != nil {
		return Ref{}, 0, false, err
	}
	r, err := decodeRecord(p)
	if err != nil {
		return Ref{}, 0, false, err
	}
	return ref, r.id, true, nil
}
