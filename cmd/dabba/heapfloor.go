package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is how far the heap may grow before the garbage collector has anything to do. A server with little in
// memory would otherwise collect many times a second, at a fifth of its processor time, to keep a few megabytes small.
const heapFloor = 96 << 20

const usualPercent = 100

// keepHeapFloor makes the collector's next goal the larger of the floor and its usual one, twice what is alive, after
// each collection. GOGC, when it is set, has the last word, and this is not called.
func keepHeapFloor() {
	debug.SetGCPercent(2 * usualPercent)
	watchCollections(adjustPercent)
}

// watchCollections calls back after each collection, for ever: an object that nobody holds is found by the next one.
func watchCollections(collected func()) {
	sentinel := new([64]byte)
	runtime.AddCleanup(sentinel, func(collected func()) {
		collected()
		watchCollections(collected)
	}, collected)
}

func adjustPercent() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		debug.SetGCPercent(percentFor(live[0].Value.Uint64(), heapFloor))
	}
}

// percentFor is the GOGC with which a heap of live bytes is collected at the floor, or at twice its size if that is
// more.
func percentFor(live, floor uint64) int {
	live = max(live, 1<<20)
	if live >= floor/2 {
		return usualPercent
	}
	return int((floor - live) * 100 / live)
}
