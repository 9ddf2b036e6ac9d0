package engine

// ClockChanged tells the engine that [Options.Now] or [Options.Wall] was put forward, as a clock for development is. What
// is due by now happens at once: waits end, delays and leases do, retention removes, pauses end, redrives go on at their
// rate. Schedules look at the wall clock again; what is more than a minute late by it was missed, as ever. It does not
// wait for any of this. A clock that is put back is not supported.
func (e *Engine) ClockChanged() {
	e.clock.look()
	e.timetable.survey.ring()
	e.tasks.askLook()
}
