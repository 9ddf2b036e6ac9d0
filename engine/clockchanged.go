package engine

// ClockChanged has the engine notice at once that [Options.Now] was put forward, as a clock for development is, or that the
// wall clock was set, which it would notice by itself within a second. What is due by now happens at once: waits end, delays and
// leases do, retention removes, pauses end, redrives continue at their rate. Schedules look at the wall clock again; what is more
// than a minute late by it was missed. It does not wait for any of this.
func (e *Engine) ClockChanged() {
	e.compareClocks()
	e.clock.look()
	e.timetable.survey.ring()
	e.tasks.askLook()
}
