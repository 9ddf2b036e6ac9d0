// Package metrics turns what the engine and the HTTP layer report into Prometheus metrics.
//
// Counts that the server adds up since its start (messages sent, requests answered, syncs) are kept here, in plain
// atomics on a message's way. What can be asked for exactly (messages by state, oldest age) is asked for when it is
// scraped and never kept.
//
// Queues of the default tenant have no tenant label, so that a server without tenants reads as one; Prometheus takes
// an absent label for an empty one.
package metrics
