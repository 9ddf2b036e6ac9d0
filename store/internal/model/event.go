package model

import "github.com/dabba-mq/dabba/store"

// Millis is queue time: milliseconds since the Unix epoch.
type Millis int64

// Meta is what the machine keeps of a message that is sent or moved in.
type Meta struct {
	Size uint32
	// Due is when the message may first be claimed; at or before the event's time means at once.
	Due Millis
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
}

// Claimed leases Seqs until Deadline. Messages found used up are in Died, those past retention in Expired.
type Claimed struct {
	At, Deadline  Millis
	Token         store.Token
	Consumer      string
	Seqs          []store.Seq
	Died, Expired []store.Seq
	// Returned says that some of Seqs had been given back or delayed before. It is not encoded.
	Returned bool
}

// Change is one effective item of a Settled event.
type Change struct {
	Seq store.Seq
	// Target is what the message became.
	Target store.Target
	// Due is the end of the delay or lease.
	Due     Millis
	Uncount bool
	Reason  string
}

// Settled changes messages one after the other.
type Settled struct {
	At      Millis
	Changes []Change
}

// Swept removes messages past retention.
type Swept struct {
	At      Millis
	Expired []store.Seq
}

// MovedOut removes dead messages that went to another queue.
type MovedOut struct {
	At   Millis
	Seqs []store.Seq
}

// MovedIn appends messages that came from another queue, ready at once.
type MovedIn struct {
	At    Millis
	First store.Seq
	Sizes []uint32
}

// Restarted marks that the process started anew: tokens it gave out before may have been forgotten.
type Restarted struct {
	At Millis
}
