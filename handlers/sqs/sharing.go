package sqs

import "unsafe"

// Bodies are strings in the requests and answers of the wire and bytes in the engine. Copying each of them is a good part of
// what a message costs here, so they share memory instead. That is allowed while nobody changes the bytes.

// bytesOf is the text as bytes for a reader who neither changes nor keeps them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// textOf is the text of bytes that nobody changes any more.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
