package engine

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Acks is how many copies of a change there are when it is answered. The empty value is what the queue or topic says.
type Acks string

// The choices. On a store with one copy of everything they mean the same: that the change is durable.
const (
	AcksLeader Acks = "leader" // that of the server that leads: a change may be lost when another takes its place
	AcksAll    Acks = "all"    // one on each replica that keeps up, and at least as many as MinInsyncReplicas in all
)

// MaxInsyncReplicas bounds the MinInsyncReplicas of queues and topics.
const MaxInsyncReplicas = 32

// acksOne is what AcksLeader is called by other brokers, and was in catalog entries of topics.
const acksOne Acks = "1"

// validAcks checks the acks of a configuration.
func validAcks(a Acks, least uint32) *Error {
	switch {
	case a != AcksLeader && a != AcksAll:
		return invalid("acks", `Give "leader" or "all".`)
	case least < 1 || least > MaxInsyncReplicas:
		return invalid("min_insync_replicas", fmt.Sprintf("Give a number from 1 to %d; it counts the leader.", MaxInsyncReplicas))
	}
	return nil
}

// validCopies refuses a number of copies that the store can never have. It is looked at only when a configuration is set.
func (e *Engine) validCopies(least uint32) *Error {
	if least > 1 && !e.store.Info().Replicated {
		return invalid("min_insync_replicas", "This store keeps one copy of everything and cannot wait for more; "+
			"give 1, or run the server on a Redis with replicas.")
	}
	return nil
}

// validAsked checks the acks of a request.
func validAsked(a Acks) *Error {
	if a != "" && a != AcksLeader && a != AcksAll {
		return invalid("acks", `Give "leader" or "all", or leave it out for what the queue or topic says.`)
	}
	return nil
}

// copies are what the store is to wait for: what a request asks for, else what is configured.
func copies(asked, configured Acks, least uint32) store.Acks {
	if asked == "" {
		asked = configured
	}
	if asked != AcksAll {
		return store.Acks{}
	}
	return store.Acks{All: true, Min: int(least)}
}

// copies of a change of the queue, as a request asks; empty for what the queue says.
func (s *setup) copies(asked Acks) store.Acks {
	return copies(asked, s.config.Acks, s.config.MinInsyncReplicas)
}
