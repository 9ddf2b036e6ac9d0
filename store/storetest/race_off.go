//go:build !race

package storetest

// raceEnabled says that the race detector watches, under which everything takes several times as long.
const raceEnabled = false
