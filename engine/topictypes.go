package engine

import "time"

// Limits that hold for every topic.
const (
	// MaxPartitions is the most partitions a topic may have.
	MaxPartitions = 1024
	// MaxRead is the most records one read may ask for, DefaultRead what it gets if it does not say.
	MaxRead     = 10_000
	DefaultRead = 500
	// MaxHeaders is the most headers one record may have.
	MaxHeaders = MaxAttributes
	// MaxRecordKeyBytes bounds a record's key.
	MaxRecordKeyBytes = 1 << 10
)

// TopicConfig is what the owner of a topic sets. Start from [DefaultTopicConfig].
type TopicConfig struct {
	// Partitions is from 1 to [MaxPartitions] and never falls; 0 means what the topic has, or 1 for a new one.
	Partitions uint32
	// RetentionAge is how long a record stays after it was appended; at least one second.
	RetentionAge time.Duration
	// RetentionBytes bounds keys, values and headers in each partition; 0 means no bound.
	RetentionBytes int64
	// MaxRecordBytes bounds key, value and headers of one record, from 1 to [MaxMessageBytesLimit].
	MaxRecordBytes int64
	// Acks is how many copies a produce waits for unless it says otherwise.
	Acks Acks
	// MinInsyncReplicas is how many copies there must be, the leader's included, when a produce waits for all: from 1 to
	// [MaxInsyncReplicas]; 1 on a store without replicas.
	MinInsyncReplicas uint32
}

// DefaultTopicConfig is the configuration of a topic created with an empty request.
func DefaultTopicConfig() TopicConfig {
	return TopicConfig{
		RetentionAge:      7 * 24 * time.Hour,
		MaxRecordBytes:    1 << 20,
		Acks:              AcksLeader,
		MinInsyncReplicas: 1,
	}
}

// Topic is a topic as its owner sees it.
type Topic struct {
	Ref    Ref
	Config TopicConfig
	// ETag names this state of the configuration. It has no quotes.
	ETag       string
	Partitions []PartitionState
}

// PartitionState describes one partition.
type PartitionState struct {
	Partition uint32
	PartitionBounds
	// Bytes is the sum of keys, values and headers; an estimate while part of a produce has been removed.
	Bytes int64
	// Missing is how many offsets between hold no record: a failover of the store has passed over them.
	Missing uint64
}

// PartitionBounds say which records a partition has: those from FirstOffset up to, but not including, HighWatermark.
type PartitionBounds struct {
	FirstOffset, HighWatermark uint64
}

// Record is what a client produces.
type Record struct {
	// Key chooses the partition if Partition does not; nil for none.
	Key []byte
	// Value is nil for a tombstone, and empty for an empty value.
	Value []byte
	// Headers keep their order. Names are unique.
	Headers []Attribute
	// ContentType is given back as it is; empty when the client named none.
	ContentType string
	// TraceParent is the W3C header of the producer; empty when there was none.
	TraceParent string
	Partition   *uint32
	// Timestamp is the record's own time; nil for that of the append.
	Timestamp *time.Time
}

// ProduceRequest is 1 to [MaxBatch] records, which are appended all or not at all. The engine keeps none of its memory.
type ProduceRequest struct {
	Records []Record
	// ExpectedOffset is the offset that the first record must get; all must go to one partition then. Nil for any.
	ExpectedOffset *uint64
	// Key makes the request repeatable; nil for none.
	Key *IdempotencyKey
	// Acks replaces the topic's, unless empty.
	Acks Acks
}

// ProduceAnswer has the place of each record, in order.
type ProduceAnswer struct {
	Places []RecordPlace
	// Duplicate says that the key was used before and the places are those of the first time.
	Duplicate bool
}

// RecordPlace is where a record is.
type RecordPlace struct {
	Partition uint32
	Offset    uint64
}

// ReadRequest describes one read of a partition.
type ReadRequest struct {
	Partition uint32
	Start     Start
	// Max is from 1 to [MaxRead]; 0 means [DefaultRead].
	Max int
	// MaxBytes bounds keys, values and headers of the answer, but for its first record; 0 means [MaxAnswerBytes], the most.
	MaxBytes int64
	// Wait is how long the read stays open while there is nothing to give.
	Wait time.Duration
}

// Start is where a read begins. The zero Start is offset 0.
type Start struct {
	Kind StartKind
	// Offset is for AtOffset, Time for AtTime.
	Offset uint64
	Time   time.Time
}

// StartKind says how a Start is given.
type StartKind uint8

// The kinds.
const (
	AtOffset   StartKind = iota
	AtEarliest           // the first record there is
	AtLatest             // the next record to come
	AtTime               // the first record whose timestamp is not before Time
)

// ReadAnswer holds records with consecutive offsets. Its memory belongs to the reader.
type ReadAnswer struct {
	Records []ReadRecord
	// NextOffset is where to read on.
	NextOffset uint64
	PartitionBounds
	// Cut says that there were more when the answer was full: it would be the same if it was asked for again.
	Cut bool
}

// ReadRecord is one record.
type ReadRecord struct {
	Offset      uint64
	Key, Value  []byte // nil for none
	Headers     []Attribute
	ContentType string
	TraceParent string
	Timestamp   time.Time
	Size        uint32
}

// Committed are the committed offsets of one name on a topic.
type Committed struct {
	// Offsets are, by partition, the next ones to read.
	Offsets map[uint32]uint64
	// ETag names this state. It has no quotes.
	ETag string
}
