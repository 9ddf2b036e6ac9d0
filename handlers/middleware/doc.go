// Package middleware holds what every request passes through, whatever it asks for: an id, one log line, a net under
// panics, and the limits that keep one client from taking the server's memory or its connections.
//
// What a request means, who may make it and how an error reads do not live here: see packages rest, auth and problem.
//
// The outer layer is on the way of every message, so it makes no system call, and its log line is put together only
// when it is going to be written.
package middleware
