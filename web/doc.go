// Package web holds the pages a browser sees, embedded: no file of them is loaded from elsewhere.
//
// What lives here talks only to the public API. The documentation of the API is in package openapi.
package web
