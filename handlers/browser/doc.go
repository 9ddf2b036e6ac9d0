// Package browser keeps web pages from commanding the server through a visitor's browser, and lets in those that
// may.
//
// A browser sends requests for every page it shows, to any address it can reach: to 127.0.0.1, too. Three things in
// them show where they come from, and no page can set them: Origin, the fetch metadata Sec-Fetch-Site and
// Sec-Fetch-Mode, and Host, which is the attacker's own name when that name has been made to resolve to this server
// (DNS rebinding).
//
// The rules are in [Guard]. What a request asks for does not matter here, and neither does who makes it: see
// packages rest, sqs and auth.
//
// Sources: RFC 6454 (origins), the Fetch standard (CORS, the Origin header), W3C Fetch Metadata, W3C Secure Contexts
// (to which addresses browsers send fetch metadata: https, 127.0.0.0/8, ::1 and localhost).
package browser
