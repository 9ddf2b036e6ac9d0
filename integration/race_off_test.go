//go:build !race

package integration

// raceEnabled has the program under test built like the tests themselves.
const raceEnabled = false
