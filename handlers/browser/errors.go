package browser

import "github.com/dabba-mq/dabba/engine"

// HostField is the field of [ErrMisdirected]: an invalid request with it is answered 421.
const HostField = "Host"

// ErrForeign is about what a page of another site sent.
var ErrForeign = &engine.Error{
	Code: engine.CodeForbidden,
	Detail: "A web page of another site made the browser send this (see its headers Origin and Sec-Fetch-Site). " +
		"If that page may call this server, start it with --allow-origin and the page's origin.",
	Outcome: engine.NotApplied,
}

// ErrMisdirected is about a request to a name that this server does not know as its own.
var ErrMisdirected = &engine.Error{
	Code:  engine.CodeInvalidRequest,
	Field: HostField,
	Detail: "This server does not know the name in the Host header as its own, and without keys serves no other, " +
		"since web pages can give it names. If it is right, start the server with --allow-host and that name, or with --public-url.",
	Outcome: engine.NotApplied,
}
