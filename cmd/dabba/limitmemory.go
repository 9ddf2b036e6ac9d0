package main

import (
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
)

const (
	// outsideHeap is what of a container's memory is not for the Go runtime: the kernel's part of it, and what the runtime goes
	// beyond its limit for a moment.
	outsideHeap = 32 << 20
	// alivePart is how much of the runtime's memory may be alive at a time, in percent: the rest is garbage that was not
	// collected yet, or not given back. The collector would take all of the processor if everything were alive.
	alivePart = 65
	// moderate is the part of a machine's memory, as a divisor, that requests may take if nobody has set a limit.
	moderate = 4
)

// limitMemory makes the budget of requests. Their memory and the collector's goal follow GOMEMLIMIT if it is given, else the
// limit of the container. Without either the budget is [memlimit.Usual], or less on a small machine.
func limitMemory(given bool, now func() time.Time, log *slog.Logger) *memlimit.Budget {
	runtimeLimit := int64(math.MaxInt64)
	container := memlimit.Container()
	switch {
	case given:
		runtimeLimit = debug.SetMemoryLimit(-1)
	case container > 0:
		runtimeLimit = max(container-max(outsideHeap, container/10), container/2)
		debug.SetMemoryLimit(runtimeLimit)
	}
	size := int64(memlimit.Usual)
	if runtimeLimit < math.MaxInt64 {
		size = runtimeLimit / 100 * alivePart
	} else if machine := memlimit.Machine(); machine > 0 {
		size = min(size, machine/moderate)
	}
	b := memlimit.New(size)
	if runtimeLimit < math.MaxInt64 {
		followCollections(b, now)
	}
	log.Info("memory", slog.Int64("container", container), slog.Int64("gomemlimit", debug.SetMemoryLimit(-1)), slog.Int64("requests", size))
	return b
}

// measureAgain is how soon after a collection another one is begun when a request finds no room: the last one may have seen
// requests that have ended since as memory of something else.
const measureAgain = 250 * time.Millisecond

// followCollections adjusts the budget to what is alive after each collection.
func followCollections(b *memlimit.Budget, now func() time.Time) {
	begun := now()
	var last atomic.Int64
	collected := func() {
		b.Collected(aliveNow())
		last.Store(int64(now().Sub(begun)))
	}
	collected()
	watchCollections(collected)
	b.Measure = func() {
		before := last.Load()
		if at := int64(now().Sub(begun)); at-before >= int64(measureAgain) && last.CompareAndSwap(before, at) {
			go runtime.GC()
		}
	}
}

// aliveNow is what was alive after the last collection, and what the runtime takes besides the heap.
func aliveNow() int64 {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/memory/classes/profiling/buckets:bytes"},
		{Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/memory/classes/other:bytes"},
	}
	metrics.Read(samples)
	n := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			n += s.Value.Uint64()
		}
	}
	return int64(n)
}
