package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// workload says which calls a client draws, and how often. All sizes are small, so that every boundary of a backend
// whose files are small, too, is crossed often.
type workload struct {
	name     string
	settings store.Settings
	queues   int // at the start
	logs     int // at the start
	clients  int
	steps    int
	batch    int            // the largest
	large    int            // bytes of the largest payload
	delayed  int            // percent of the messages
	keyed    int            // percent of the messages, under one of a few keys
	groups   int            // the number of groups; 0: no message has one
	targets  []store.Target // what settles turn messages into
	weights  map[step]int
	// room is how many bytes the disk has beside the reserve of the backend; 0: it never gets full.
	room int64
	// logSettings are those of logs, but for the number of partitions.
	logSettings store.LogSettings
}

// step is one kind of call.
type step uint8

const (
	stepSend step = iota
	stepOnce
	stepClaim
	stepSettle
	stepMove
	stepMoveSome
	stepSettleSome
	stepReschedule
	stepPurge
	stepSweep
	stepConfigure
	stepCreate
	stepDrop
	stepPut
	stepDelete
	stepLook
	stepAppend
	stepAppendOnce
	stepFetch
	stepTrim
	stepSweepLog
	stepConfigureLog
	stepCreateLog
	stepDropLog
	stepAdvance
	stepRestart
)

// longWindow does not end while a test runs.
const longWindow = 10_000 * time.Hour

// workloads are those of the crash tests.
var workloads = append([]workload{
	{
		name: "send", queues: 2, batch: 1, large: 6000, steps: 40,
		weights: map[step]int{stepSend: 10, stepLook: 1, stepAdvance: 1},
	},
	{
		name: "batch", queues: 2, batch: 20, large: 1500, steps: 30,
		weights: map[step]int{stepSend: 10, stepClaim: 2, stepAdvance: 1},
	},
	{
		name: "lease and ack", queues: 1, batch: 6, large: 500, steps: 60,
		targets: []store.Target{store.Done, store.Done, store.Done, store.Leased},
		weights: map[step]int{stepSend: 4, stepClaim: 5, stepSettle: 6, stepAdvance: 2, stepLook: 1},
	},
	{
		name: "delay", queues: 2, batch: 4, large: 500, steps: 50, delayed: 70,
		targets: []store.Target{store.Done, store.Ready},
		weights: map[step]int{stepSend: 5, stepClaim: 4, stepSettle: 3, stepAdvance: 4, stepLook: 1},
	},
	{
		name: "nack and backoff", queues: 2, batch: 4, large: 500, steps: 60, settings: store.Settings{MaxReceives: 3},
		targets: []store.Target{store.Ready, store.Ready, store.Ready, store.Leased, store.Done},
		weights: map[step]int{stepSend: 3, stepClaim: 6, stepSettle: 6, stepAdvance: 4, stepLook: 1},
	},
	{
		name: "dead and move", queues: 3, batch: 5, large: 800, steps: 70, settings: store.Settings{MaxReceives: 2},
		targets: []store.Target{store.Dead, store.Dead, store.Ready, store.Done},
		weights: map[step]int{stepSend: 4, stepClaim: 6, stepSettle: 6, stepMove: 6, stepAdvance: 3, stepLook: 1},
	},
	{
		name: "create and drop", queues: 2, batch: 3, large: 1000, steps: 50,
		targets: []store.Target{store.Done, store.Dead},
		weights: map[step]int{stepCreate: 4, stepDrop: 4, stepConfigure: 4, stepSend: 8, stepClaim: 3, stepSettle: 2, stepMove: 2},
	},
	{
		name: "key-value", queues: 1, batch: 1, large: 3000, steps: 50,
		weights: map[step]int{stepPut: 8, stepDelete: 4, stepLook: 2, stepSend: 1},
	},
	{
		name: "once", queues: 2, batch: 3, large: 800, steps: 50,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepOnce: 8, stepClaim: 3, stepSettle: 3, stepAdvance: 1},
	},
	{
		name: "retention", queues: 2, batch: 6, large: 800, steps: 50, delayed: 20,
		// Half a second beside the whole seconds of all that happens, so that ticks do not matter.
		settings: store.Settings{Retention: 10*time.Second + 500*time.Millisecond},
		targets:  []store.Target{store.Done, store.Ready, store.Dead},
		weights:  map[step]int{stepSend: 6, stepClaim: 3, stepSettle: 3, stepSweep: 5, stepAdvance: 5},
	},
	{
		name: "long backlog", queues: 1, batch: 8, large: 3000, steps: 90,
		targets: []store.Target{store.Done, store.Done, store.Done, store.Done, store.Leased},
		weights: map[step]int{stepSend: 5, stepClaim: 4, stepSettle: 5, stepAdvance: 1},
	},
	{
		name: "one old message in each file", queues: 4, batch: 8, large: 2500, steps: 90,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepSend: 4, stepClaim: 6, stepSettle: 6, stepDrop: 1},
	},
	{
		name: "fifo", queues: 2, batch: 5, large: 800, steps: 60, groups: 3,
		settings: store.Settings{Mode: store.FIFO, MaxReceives: 3},
		targets:  []store.Target{store.Done, store.Done, store.Done, store.Ready, store.Leased, store.Dead},
		weights:  map[step]int{stepSend: 5, stepClaim: 6, stepSettle: 7, stepMove: 2, stepAdvance: 3, stepLook: 1},
	},
	{
		name: "fifo with delays", queues: 1, batch: 4, large: 500, steps: 60, groups: 2, delayed: 60,
		settings: store.Settings{Mode: store.FIFO},
		targets:  []store.Target{store.Done, store.Done, store.Ready, store.Ready},
		weights:  map[step]int{stepSend: 5, stepClaim: 6, stepSettle: 6, stepAdvance: 4},
	},
	{
		name: "fifo with deduplication and restarts", queues: 2, batch: 4, large: 800, steps: 40, groups: 2, keyed: 50, delayed: 10,
		settings: store.Settings{Mode: store.FIFO, DedupWindow: longWindow},
		targets:  []store.Target{store.Done, store.Done, store.Ready, store.Leased},
		weights:  map[step]int{stepSend: 6, stepClaim: 5, stepSettle: 5, stepAdvance: 2, stepRestart: 3},
	},
	{
		name: "fair", queues: 2, batch: 5, large: 800, steps: 60, groups: 4, delayed: 10,
		settings: store.Settings{Mode: store.Fair, MaxInFlight: 7},
		targets:  []store.Target{store.Done, store.Done, store.Ready, store.Leased, store.Dead},
		weights:  map[step]int{stepSend: 5, stepClaim: 6, stepSettle: 6, stepMove: 2, stepAdvance: 3},
	},
	{
		name: "deduplication", queues: 2, batch: 5, large: 800, steps: 50, keyed: 80,
		settings: store.Settings{DedupWindow: longWindow},
		targets:  []store.Target{store.Done},
		weights:  map[step]int{stepSend: 8, stepClaim: 3, stepSettle: 3, stepPurge: 1, stepAdvance: 1},
	},
	{
		name: "purge", queues: 2, batch: 8, large: 1500, steps: 60, delayed: 20, keyed: 20, groups: 3,
		settings: store.Settings{Mode: store.Fair, DedupWindow: longWindow},
		targets:  []store.Target{store.Done, store.Ready, store.Leased, store.Dead},
		weights:  map[step]int{stepSend: 8, stepClaim: 4, stepSettle: 3, stepPurge: 4, stepAdvance: 2, stepLook: 1},
	},
	{
		name: "move by selection", queues: 3, batch: 5, large: 800, steps: 60, delayed: 20, groups: 3,
		targets: []store.Target{store.Dead, store.Ready, store.Done},
		weights: map[step]int{stepSend: 6, stepClaim: 4, stepSettle: 4, stepMove: 2, stepMoveSome: 7, stepAdvance: 2, stepLook: 1},
	},
	{
		name: "release, skip and reschedule", queues: 2, batch: 5, large: 800, steps: 60, delayed: 40, groups: 3,
		settings: store.Settings{Mode: store.FIFO, MaxReceives: 4},
		targets:  []store.Target{store.Done, store.Ready},
		weights:  map[step]int{stepSend: 6, stepClaim: 5, stepSettle: 2, stepSettleSome: 5, stepReschedule: 4, stepAdvance: 2},
	},
	{
		name: "dropping the oldest", queues: 2, batch: 6, large: 800, steps: 60,
		settings: store.Settings{MaxMessages: 12, MaxBytes: 3000, Overflow: store.DropOldest},
		targets:  []store.Target{store.Done, store.Leased, store.Dead},
		weights:  map[step]int{stepSend: 7, stepClaim: 4, stepSettle: 3, stepMove: 1, stepAdvance: 2, stepLook: 1},
	},
	{
		name: "refusing when full", queues: 2, batch: 6, large: 800, steps: 60, delayed: 20, keyed: 50,
		settings: store.Settings{MaxMessages: 15, MaxBytes: 4000, DedupWindow: longWindow},
		targets:  []store.Target{store.Done, store.Done, store.Ready, store.Dead},
		weights:  map[step]int{stepSend: 7, stepClaim: 4, stepSettle: 5, stepMove: 1, stepAdvance: 2, stepLook: 1},
	},
	{
		name: "all at once", queues: 2, clients: 4, batch: 4, large: 1500, steps: 25, delayed: 20,
		settings: store.Settings{MaxReceives: 3},
		targets:  []store.Target{store.Done, store.Done, store.Ready, store.Leased, store.Dead},
		weights: map[step]int{
			stepSend: 6, stepOnce: 2, stepClaim: 6, stepSettle: 6, stepMove: 2, stepConfigure: 1, stepCreate: 1, stepDrop: 1,
			stepPut: 2, stepDelete: 1, stepLook: 1,
		},
	},
	{
		name: "a full disk is drained", queues: 3, batch: 8, large: 4000, steps: 90, room: 200_000,
		targets: []store.Target{store.Done},
		weights: map[step]int{stepSend: 9, stepClaim: 4, stepSettle: 4, stepPurge: 1, stepDrop: 1, stepCreate: 1, stepAdvance: 4},
	},
	{
		name: "restarts on a full disk", queues: 2, batch: 8, large: 4000, steps: 60, room: 150_000,
		targets: []store.Target{store.Done, store.Done, store.Done, store.Leased},
		weights: map[step]int{stepSend: 8, stepClaim: 4, stepSettle: 4, stepAdvance: 3, stepRestart: 2},
	},
	{
		name: "restarts", queues: 2, batch: 4, large: 1500, steps: 40, delayed: 20,
		targets: []store.Target{store.Done, store.Done, store.Ready, store.Leased, store.Dead},
		weights: map[step]int{
			stepSend: 6, stepOnce: 2, stepClaim: 5, stepSettle: 5, stepMove: 2, stepPut: 2, stepAdvance: 2, stepRestart: 3,
		},
	},
}, logWorkloads...)

// run makes the client's queues and logs and draws calls until the steps are done or a call was not answered.
func (c *client) run() {
	for range c.load.queues {
		if !c.isStopped() {
			c.create()
		}
	}
	for range c.load.logs {
		if !c.isStopped() {
			c.createLog()
		}
	}
	total := 0
	for s := range stepRestart + 1 {
		total += c.load.weights[s]
	}
	for range c.load.steps {
		if c.isStopped() {
			return
		}
		n := c.rng.IntN(total)
		for s := range stepRestart + 1 {
			if n -= c.load.weights[s]; n < 0 {
				c.step(s)
				break
			}
		}
	}
}

func (c *client) step(s step) {
	switch s {
	case stepSend:
		c.send()
	case stepOnce:
		c.sendOnce()
	case stepClaim:
		c.claim()
	case stepSettle:
		c.settle()
	case stepMove:
		c.move()
	case stepMoveSome:
		c.moveSome()
	case stepSettleSome:
		c.settleSome()
	case stepReschedule:
		c.reschedule()
	case stepPurge:
		c.purge()
	case stepSweep:
		c.sweep()
	case stepConfigure:
		c.configure()
	case stepCreate:
		c.create()
	case stepDrop:
		c.drop()
	case stepPut:
		c.put()
	case stepDelete:
		c.delete()
	case stepLook:
		c.look()
	case stepAdvance:
		c.clock.Advance(time.Duration(1+c.rng.IntN(12)) * time.Second)
		c.steps = append(c.steps, "Advance")
	case stepRestart:
		c.restart()
	default:
		c.logStep(s)
	}
}
