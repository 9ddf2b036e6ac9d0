package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Topics are kept in the key-value part of the store like queues: t/<tenant>/<name>, with the tenant path-escaped.
const (
	topicPrefix        = "t/"
	topicRecordVersion = 1
)

// topicRecord is a catalog entry.
type topicRecord struct {
	id       store.LogID
	config   TopicConfig
	revision store.Revision
	// repeated is not kept; see topicSetup.
	repeated bool
}

// topicsPrefix is what the keys of a tenant's topics begin with.
func topicsPrefix(tenant string) string {
	return topicPrefix + strings.TrimPrefix(tenantPrefix(tenant), catalogPrefix)
}

func topicKey(ref Ref) string { return topicsPrefix(ref.Tenant) + ref.Name }

func topicOfKey(key string) (Ref, error) {
	return refOfKey(catalogPrefix + strings.TrimPrefix(key, topicPrefix))
}

// storedTopic is the JSON of a record. Durations are nanoseconds.
type storedTopic struct {
	Version           int           `json:"version"`
	ID                uint64        `json:"id,string"`
	Partitions        uint32        `json:"partitions"`
	RetentionAge      time.Duration `json:"retention_age"`
	RetentionBytes    int64         `json:"retention_bytes,omitempty"`
	MaxRecordBytes    int64         `json:"max_record_bytes"`
	Acks              Acks          `json:"acks"`
	MinInsyncReplicas uint32        `json:"min_insync_replicas"`
}

func encodeTopic(id store.LogID, c TopicConfig) ([]byte, error) {
	return json.Marshal(storedTopic{
		Version: topicRecordVersion, ID: uint64(id), Partitions: c.Partitions,
		RetentionAge: c.RetentionAge, RetentionBytes: c.RetentionBytes, MaxRecordBytes: c.MaxRecordBytes,
		Acks: c.Acks, MinInsyncReplicas: c.MinInsyncReplicas,
	})
}

func decodeTopic(p store.Pair) (topicRecord, error) {
	var s storedTopic
	if err := json.Unmarshal(p.Value, &s); err != nil {
		return topicRecord{}, fmt.Errorf("%w: catalog entry %q: %w", store.ErrCorrupt, p.Key, err)
	}
	if s.Version != topicRecordVersion {
		return topicRecord{}, fmt.Errorf("%w: catalog entry %q has version %d, this program knows %d",
			store.ErrVersion, p.Key, s.Version, topicRecordVersion)
	}
	if s.Acks == acksOne {
		s.Acks = AcksLeader
	}
	return topicRecord{
		id:       store.LogID(s.ID),
		revision: p.Revision,
		config: TopicConfig{
			Partitions: s.Partitions, RetentionAge: s.RetentionAge, RetentionBytes: s.RetentionBytes,
			MaxRecordBytes: s.MaxRecordBytes, Acks: s.Acks, MinInsyncReplicas: s.MinInsyncReplicas,
		},
	}, nil
}

// readTopic gives nil when there is no such topic.
func (e *Engine) readTopic(ctx context.Context, ref Ref) (*topicRecord, error) {
	pair, err := e.store.Get(ctx, topicKey(ref))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog entry of topic %s: %w", ref, err)
	}
	r, err := decodeTopic(pair)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// TopicEntry is [CatalogEntry] for topics.
func TopicEntry(p store.Pair) (ref Ref, id store.LogID, ok bool, err error) {
	if !strings.HasPrefix(p.Key, topicPrefix) {
		return Ref{}, 0, false, nil
	}
	if ref, err = topicOfKey(p.Key); err != nil {
		return Ref{}, 0, false, err
	}
	r, err := decodeTopic(p)
	if err != nil {
		return Ref{}, 0, false, err
	}
	return ref, r.id, true, nil
}
