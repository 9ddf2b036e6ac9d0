package sqs

import "github.com/dabba-mq/dabba/engine"

// maxMoveTasks is the most tasks that are listed; one is, if the request does not say.
const maxMoveTasks = 10

// listMessageMoveTasks lists the tasks of a queue, the newest first.
func (c *call) listMessageMoveTasks(in *listMessageMoveTasksRequest) (*listMessageMoveTasksAnswer, error) {
	ref, err := c.moveSource(in.SourceARN, "read")
	if err != nil {
		return nil, err
	}
	most := 1
	if in.MaxResults != nil {
		most = *in.MaxResults
	}
	if most < 1 || most > maxMoveTasks {
		return nil, invalidParameterValue.is("Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 10.")
	}
	tasks, err := c.Engine.TasksOf(c.ctx(), ref, most)
	if err != nil {
		return nil, err
	}
	out := &listMessageMoveTasksAnswer{}
	for i := range tasks {
		out.Results = append(out.Results, c.moveTask(tasks[i]))
	}
	return out, nil
}

// moveTask is a task as it is listed. Only one that runs has a handle, since it alone can be cancelled.
func (c *call) moveTask(t engine.Task) moveTask {
	out := moveTask{
		SourceARN:                         c.arn(t.Queue.Name),
		MaxNumberOfMessagesPerSecond:      int(t.RateLimit),
		ApproximateNumberOfMessagesMoved:  t.Moved,
		ApproximateNumberOfMessagesToMove: t.Total,
		StartedTimestamp:                  t.CreatedAt.UnixMilli(),
	}
	if t.To != "" {
		out.DestinationARN = c.arn(t.To)
	}
	switch t.State {
	case engine.TaskRunning:
		out.Status, out.TaskHandle = "RUNNING", c.taskHandle(t)
	case engine.TaskDone:
		out.Status = "COMPLETED"
	case engine.TaskCancelled:
		out.Status = "CANCELLED"
	case engine.TaskFailed:
		out.Status, out.FailureReason = "FAILED", failureReason(t)
	}
	return out
}

// failureReason is a code as far as AWS has one, or says in words why a task failed.
func failureReason(t engine.Task) string {
	if t.ErrorCode == engine.CodeNotFound {
		return nonExistentQueue.code
	}
	return t.Error
}
