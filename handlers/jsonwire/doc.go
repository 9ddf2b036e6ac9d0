// Package jsonwire is what both wires do with JSON: they scan the requests and append the answers on a message's way by hand,
// and say in plain words what is wrong with a request. What requests and answers are made of is up to the wires.
package jsonwire
