//go:build !race

package integration

// raceEnabled says that the race detector watches the tests; in long runs it watches the program under test, too.
const raceEnabled = false
