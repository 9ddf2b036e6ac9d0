package model

import "github.com/dabba-mq/dabba/store"

// Millis is queue time: milliseconds since the Unix epoch.
type Millis int64

// Meta is what the machine keeps of a message that is sent or moved in.
type Meta struct {
	Size uint32
	// Delay is how long from the event the message may not be claimed, TTL how long from then it may be; 0 for none.
	Delay, TTL Millis
	// NotBefore is when the wall clock lets it be claimed; 0 for a message that does not wait for that. It has no Delay.
	NotBefore Millis
	// Expires is the end of the time to live of a message that was moved in.
	Expires  Millis
	Group    string
	Priority uint8
	Dedup    store.DedupKey
	InOrder  bool
	// Alias says where a message that was moved in was first sent; 0 for one that is new here.
	Alias uint32

	displace bool
}

// Configured creates a queue or replaces its settings.
type Configured struct {
	At Millis
	// Created says that the queue did not exist before.
	Created  bool
	Settings store.Settings
}

// Sent appends messages First, First+1, …
type Sent struct {
	At      Millis
	First   store.Seq
	Entries []Meta
	Once    *store.Once
	// Evictions are messages that gave way, in order.
	Evictions []Eviction
	// Fates, as encodeFates writes them, are kept for those who repeat the send; empty when all were accepted.
	Fates string
	// Simple says that the entries are those of the call as they were. It is not encoded.
	Simple bool
}

// Eviction removes a message before an entry is appended.
type Eviction struct {
	Before uint32 // place of the entry
	Seq    store.Seq
}

// Claimed leases Seqs until Deadline. Messages found used up are in Died, those past retention or time to live in Expired,
// or in Lapsed if that makes them dead.
type Claimed struct {
	At, Deadline          Millis
	Token                 store.Token
	Consumer              string
	Seqs                  []store.Seq
	Died, Expired, Lapsed []store.Seq
	// Attempt, unless zero, can be repeated until AttemptEnds.
	Attempt     attemptKey
	AttemptEnds Millis
	// Repeated says that the leases were there and only end at another time.
	Repeated bool
	// Spent says that nothing was claimed: the attempt was used up. Such an event is not written.
	Spent bool
	// Returned says that some of Seqs had been given back or delayed before. It is not encoded.
	Returned bool
}

// Change is one effective item of a Settled event.
type Change struct {
	Seq store.Seq
	// Target is what the message became.
	Target store.Target
	// Due is the end of the delay or lease; with ByWall it is what the wall clock shows then.
	Due     Millis
	ByWall  bool
	Uncount bool
	// Backs says that a delay is a backoff, which locks a FIFO group.
	Backs  bool
	Reason string
}

// Settled changes messages one after the other.
type Settled struct {
	At      Millis
	Changes []Change
}

// Swept removes messages past retention or time to live; those in Lapsed are dead instead.
type Swept struct {
	At              Millis
	Expired, Lapsed []store.Seq
}

// Purged removes Seqs, or everything.
type Purged struct {
	At   Millis
	All  bool
	Seqs []store.Seq
}

// MovedOut removes messages that went to another queue.
type MovedOut struct {
	At   Millis
	Seqs []store.Seq
}

// MovedIn appends messages that came from another queue, ready at once.
type MovedIn struct {
	At      Millis
	First   store.Seq
	Entries []Meta
}

// Reading is what the clocks showed at one moment, as it is kept for the next start.
type Reading struct {
	At    Millis
	Ahead Ahead
	// Protected is until when retention and times to live remove nothing.
	Protected Millis
	// Up is how long the machine had been up, and Boot names that boot; empty if neither is known.
	Up   Millis
	Boot string
}

// Restarted marks that the process started anew: tokens it gave out before may have been forgotten.
type Restarted struct {
	Reading
	// Dated says that there is more in the reading than At. Earlier versions kept no more.
	Dated bool
}

// Stepped says by how much the wall clock is ahead from At on. Up to Before the queue had followed what was known.
type Stepped struct {
	At, Before Millis
	Ahead      Ahead
}
