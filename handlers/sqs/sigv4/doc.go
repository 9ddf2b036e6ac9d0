// Package sigv4 reads and verifies signatures of AWS Signature Version 4, as the SDKs write them for the service sqs:
// in the Authorization header, or in the query of a presigned URL.
//
// A signer and this package each write the request down in the same canonical form: method, path, query, the signed
// headers and the hash of the body, a line each. Its hash, the time and the scope (day, region, service) are signed
// with a key derived from the secret, so whatever stands in the canonical form cannot be changed on the way:
//
//   - Path: without "." and ".." and with single slashes, then percent-encoded once more. Some SDKs leave the path as
//     it is sent; that is taken as well, since both name all of it.
//   - Query: every name and value decoded and encoded anew, sorted. "+" is a space, as it is for whoever reads the
//     parameters afterwards; were it a plus here, %2B could become a space on the way.
//   - Headers: those that the signature names, trimmed, runs of white space made one space. Host must be among them,
//     and X-Amz-Target when it is there, since it chooses the operation.
//   - Body: its SHA-256, or UNSIGNED-PAYLOAD if the signer says so.
//
// What does not live here: whose key it is (package auth has the access keys) and bearer tokens.
package sigv4
