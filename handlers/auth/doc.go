// Package auth answers two questions about a request: who is it (a [Principal], from a bearer token) and may it do
// this ([Principal.Allows], from the token's scopes).
//
// Tokens are JSON Web Tokens (RFC 7519) signed with HS256, RS256, ES256 or EdDSA. Every key is tied to the one
// algorithm that its type allows, so a token cannot choose how it is checked: "none" and a public key used as a
// shared secret are refused (RFC 8725, sections 2.1 and 3.1). A token must expire.
//
// A scope is <resource>:<action>:<name pattern>; a token carries any number of them, separated by spaces, in its
// "scope" claim (RFC 8693). The "tenant" claim names the namespace that the token sees; none means "default".
//
// Verifying a signature costs tens of microseconds, so tokens that were found good are remembered by their hash until
// they expire or the keys change; from then on a request costs about one SHA-256 of its token.
//
// [AccessKeys] are the same for clients that sign their requests as AWS SDKs do: which secret belongs to an id, and what
// its principal may do.
//
// What does not live here: routes, problem documents (refusals are handed to a function that writes them), and how a
// request is signed.
package auth
