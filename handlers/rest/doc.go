// Package rest is the native HTTP API: it reads a request, asks the engine, and writes the answer. There is one file
// for each operation, named after it; above each handler stand the annotations that the OpenAPI document is made of.
//
// What a queue means is decided by package engine, who a caller is by package auth, and what every request passes
// through by package middleware. Nothing here knows how messages are stored.
//
// # Reading
//
// JSON is read strictly: unknown fields, fields given twice and strings that are not valid UTF-8 are refused with a
// sentence that names the field and the place. Bodies are read into pooled memory and live until the handler returns;
// the engine keeps none of it.
//
// # Writing
//
// The answers on a message's way (send, receive, ack, nack, extend) are appended by hand to pooled memory and leave
// in one write; all others are encoded from the types in wire.go.
package rest
