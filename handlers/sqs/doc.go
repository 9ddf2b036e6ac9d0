// Package sqs is the wire of Amazon SQS: every client made for it works against Dabba by changing the endpoint. What the
// operations do is the engine's; this package reads requests, holds them to SQS's stricter limits, and writes answers and
// errors the way AWS spells them.
//
// A request takes one way: [API.ServeHTTP] reads it, a protocol (JSON 1.0, or Query with answers in XML) finds which of
// the 23 operations it names and decodes its parameters into the operation's request, the operation calls the engine, and
// the same protocol encodes the answer, or the fault if there is one. Each operation is a file of its own and knows
// nothing of protocols; all faults that it can answer with are in one table.
//
// Words: an account and a region are parts of queue URLs and ARNs; a region is a namespace within the tenant. A handle is
// SQS's name for a receipt, an attribute SQS's name for a setting of a queue and for what goes with a message.
//
// Sources: the SQS API reference and developer guide of AWS, the service model that AWS SDKs are generated from, and AWS's
// own answers. Each fact this relies on has a test named after it, see the files facts_*_test.go.
package sqs
