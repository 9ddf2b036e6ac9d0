package rest

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dabba-mq/dabba/engine"
)

// TopicConfig is a topic's configuration on the wire. What a request leaves out has the default shown.
type TopicConfig struct {
	// From 1 to 1024. It never falls; left out it stays as it is.
	Partitions uint32          `json:"partitions" example:"1"`
	Retention  TopicRetention  `json:"retention"`
	Compaction TopicCompaction `json:"compaction"`
	// The most that key, value and headers of one record may have, in bytes; up to 64 MiB.
	MaxRecordBytes int64 `json:"max_record_bytes" example:"1048576"`
	// How many copies a produce waits for unless it says otherwise. leader: that of the server that leads; all: one on each
	// replica that keeps up. On a store without replicas both mean that the records are durable.
	Acks engine.Acks `json:"acks" swaggertype:"string" enums:"leader,all" example:"leader"`
	// How many copies there must be with all, the leader's included; with fewer the outcome is unknown. A store without
	// replicas has one.
	MinInsyncReplicas uint32 `json:"min_insync_replicas" example:"1"`
}

// TopicRetention says how long records stay.
type TopicRetention struct {
	// Since they were appended.
	Age Duration `json:"age" swaggertype:"string" extensions:"x-duration" example:"168h"`
	// The most that the keys, values and headers in each partition may have; 0 for no bound.
	Bytes int64 `json:"bytes" example:"0"`
}

// TopicCompaction is planned: a topic keeps all its records for now.
type TopicCompaction struct {
	Enabled bool `json:"enabled" example:"false"`
}

// Topic is a topic on the wire.
type Topic struct {
	Name       string      `json:"name" validate:"required" example:"clicks"`
	Config     TopicConfig `json:"config" validate:"required"`
	Partitions []Partition `json:"partitions" validate:"required"`
}

// Partition has the records from first_offset up to, but not including, high_watermark.
type Partition struct {
	Partition     uint32 `json:"partition" validate:"required" example:"0"`
	FirstOffset   uint64 `json:"first_offset" validate:"required" example:"0"`
	HighWatermark uint64 `json:"high_watermark" validate:"required" example:"124"`
	// Keys, values and headers; an estimate while some records of one produce were removed and others not.
	Bytes int64 `json:"bytes" validate:"required" example:"4096"`
	// How many offsets between have no record: after a failover of Redis those that may have been lost are passed over.
	Missing uint64 `json:"missing,omitzero"`
}

// TopicList is one page of topics.
type TopicList struct {
	Topics []Topic `json:"topics" validate:"required"`
	// Where the next page starts; absent on the last one.
	Cursor string `json:"cursor,omitzero"`
}

// ProduceRequest is up to 1000 records, which are appended all or not at all.
type ProduceRequest struct {
	Records []NewRecord `json:"records" validate:"required"`
	// The offset that the first record must get: all records must go to one partition then.
	ExpectedOffset *uint64 `json:"expected_offset,omitzero" example:"124"`
}

// NewRecord is one record to append: value or value_base64 is required.
type NewRecord struct {
	// Chooses the partition, unless partition does: records of one key keep their order.
	Key *string `json:"key,omitzero" example:"user-7"`
	// The value as text, or null for a tombstone.
	Value NullableText `json:"value,omitzero" swaggertype:"string" extensions:"x-nullable" example:"hello"`
	// The value as bytes.
	ValueBase64 []byte     `json:"value_base64,omitzero" swaggertype:"string" format:"base64" example:"aGVsbG8="`
	Headers     Attributes `json:"headers,omitzero" swaggertype:"object"`
	Partition   *uint32    `json:"partition,omitzero" example:"0"`
	// The record's own time; that of the append when left out.
	Timestamp *time.Time `json:"timestamp,omitzero" format:"date-time" example:"2026-11-29T16:50:00Z"`
}

// NullableText is a text or null; the zero value is that of a field that was left out.
type NullableText struct {
	given bool
	text  *string
}

// UnmarshalJSONFrom reads a string or null.
func (n *NullableText) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != '"' && kind != 'n' {
		return &valueError{reason: "must be a string, or null for a tombstone"}
	}
	n.given = true
	return json.UnmarshalDecode(dec, &n.text)
}

// MarshalJSONTo writes what UnmarshalJSONFrom reads.
func (n NullableText) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, n.text)
}

// ProduceAnswer has the place of each record, in order.
type ProduceAnswer struct {
	Results []ProduceResult `json:"results" validate:"required"`
	// The idempotency key was used before; this is what happened then.
	Duplicate bool `json:"duplicate,omitzero"`
}

// ProduceResult is the place of one record.
type ProduceResult struct {
	Partition uint32 `json:"partition" validate:"required" example:"0"`
	Offset    uint64 `json:"offset" validate:"required" example:"124"`
	Duplicate bool   `json:"duplicate,omitzero"`
}

// ReadAnswer holds records with consecutive offsets; none is not an error.
type ReadAnswer struct {
	Records []Record `json:"records" validate:"required"`
	// Where to read on.
	NextOffset uint64 `json:"next_offset" validate:"required" example:"125"`
	// The offset that the next record to come will have.
	HighWatermark uint64 `json:"high_watermark" validate:"required" example:"125"`
}

// Record is one record of a topic.
type Record struct {
	Partition uint32 `json:"partition" validate:"required" example:"0"`
	Offset    uint64 `json:"offset" validate:"required" example:"124"`
	// Null when there is none.
	Key *string `json:"key" validate:"required" extensions:"x-nullable" example:"user-7"`
	// The value, if it is valid UTF-8; null for a tombstone.
	Value *string `json:"value,omitzero" extensions:"x-nullable" example:"hello"`
	// The value otherwise.
	ValueBase64 []byte     `json:"value_base64,omitzero" swaggertype:"string" format:"base64"`
	ContentType string     `json:"content_type,omitzero" example:"image/jpeg"`
	Headers     Attributes `json:"headers" validate:"required" swaggertype:"object"`
	Timestamp   time.Time  `json:"timestamp" validate:"required" format:"date-time"`
	TraceParent string     `json:"traceparent,omitzero"`
}

// CommitRequest sets committed offsets; those of other partitions stay.
type CommitRequest struct {
	// By partition, the next offset to read.
	Offsets map[uint32]uint64 `json:"offsets" validate:"required" swaggertype:"object,integer" example:"0:124"`
	// By partition, the committed offset that must be there, or null for none yet. Null instead of the object is that for each
	// partition in offsets.
	Expected ExpectedOffsets `json:"expected,omitzero" swaggertype:"object,integer" extensions:"x-nullable,x-nullable-values" example:"0:120"`
}

// ExpectedOffsets are by partition; the zero value is that of a field that was left out.
type ExpectedOffsets struct {
	// none says that nothing may have been committed for any partition of the request.
	none bool
	of   map[uint32]*uint64
}

// UnmarshalJSONFrom reads an object or null.
func (e *ExpectedOffsets) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	e.none = dec.PeekKind() == 'n'
	return json.UnmarshalDecode(dec, &e.of)
}

// MarshalJSONTo writes what UnmarshalJSONFrom reads.
func (e ExpectedOffsets) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, e.of)
}

// engine is what is expected of the partitions that are committed.
func (e ExpectedOffsets) engine(committed map[uint32]uint64) map[uint32]*uint64 {
	if !e.none {
		return e.of
	}
	expected := make(map[uint32]*uint64, len(committed))
	for p := range committed {
		expected[p] = nil
	}
	return expected
}

// Committed are the committed offsets of one name.
type Committed struct {
	Name string `json:"name" validate:"required" example:"billing"`
	// By partition, the next offset to read.
	Offsets map[uint32]uint64 `json:"offsets" validate:"required" swaggertype:"object,integer" example:"0:124"`
}
