package engine

// Events tell what happened, for metrics and logs. Any function may be nil. They are called after the fact, possibly
// from many goroutines, with no lock held, and must not block or call the engine.
type Events struct {
	// Sent: messages were accepted, with the bytes of their bodies and attributes.
	Sent func(q Ref, messages int, bytes int64)
	// Duplicate: a send was answered from the memory of its idempotency key.
	Duplicate func(q Ref)
	// Deduplicated: messages were found to be duplicates of earlier ones and were not sent again.
	Deduplicated func(q Ref, messages int)
	// Shed: the queue is full, and messages were passed over or gave way to newer ones.
	Shed func(q Ref, messages int)
	// Refused: messages were refused, since the queue is full.
	Refused func(q Ref, messages int)
	// Received: messages were leased; empty receives report 0.
	Received func(q Ref, messages int, bytes int64)
	// Undone: deliveries were taken back uncounted, since the client did not get them, or did not try what it got.
	Undone func(q Ref, messages int)
	// Acked, Nacked and Extended: items were settled.
	Acked, Nacked, Extended func(q Ref, messages int)
	// LeaseLost: items were refused, since the lease was no longer theirs.
	LeaseLost func(q Ref, messages int)
	// Died: messages were found dead.
	Died func(q Ref, messages int)
	// DeadLettered: dead messages were moved to their dead-letter queue.
	DeadLettered func(q, to Ref, messages int)
	// Expired: messages were removed, since their retention was over.
	Expired func(q Ref, messages int)
	// Removed: messages were removed by someone who looks after the queue, not by their consumer.
	Removed func(q Ref, messages int)
	// Produced: records were appended to a topic, Read: they were read, with the bytes of keys, values and headers; empty
	// reads report 0.
	Produced, Read func(t Ref, records int, bytes int64)
	// Trimmed: records of a topic were removed, since their retention was over.
	Trimmed func(t Ref, records int)
	// TopicDeleted: the topic is no longer there, whichever node deleted it.
	TopicDeleted func(t Ref)
	// TopicFailed: work on a topic in the background failed and will be tried again.
	TopicFailed func(t Ref, err error)
	// Waiting: receives began (+1) or ended (-1) to wait.
	Waiting func(delta int)
	// Configured and Deleted: the catalog changed. A deletion is reported by each node that knew of the queue, once it finds out.
	Configured, Deleted func(q Ref)
	// TaskStarted and TaskEnded: someone asked for a redrive, and it is done, was cancelled or has failed.
	TaskStarted, TaskEnded func(t Task)
	// Moved: a redrive moved messages.
	Moved func(m Move)
	// TaskStalled: work on a task failed and will be tried again. Queue and id are empty if it is about all tasks.
	TaskStalled func(q Ref, id string, err error)
	// JanitorFailed: work in the background failed and will be tried again.
	JanitorFailed func(q Ref, err error)
	// ScheduleFailed: fire times were missed, or looking at a schedule failed and will be tried again. Queue and name are
	// empty if it is about all schedules.
	ScheduleFailed func(q Ref, name string, err error)
	// ClockStepped: the wall clock was set, forward or back.
	ClockStepped func(ClockStep)
}

// Move is one step of a redrive.
type Move struct {
	// Task is its id, Principal who asked for it.
	Task, Principal string
	From, To        Ref
	Messages        int
	// IDs are those of the messages if they were chosen by id.
	IDs []MessageID
}

func tell(f func(Ref, int), q Ref, n int) {
	if f != nil && n > 0 {
		f(q, n)
	}
}
