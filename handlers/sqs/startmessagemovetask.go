package sqs

import (
	"math"
	"strconv"

	"github.com/dabba-mq/dabba/engine"
)

// The bounds of MaxNumberOfMessagesPerSecond.
const (
	minMoveRate = 1
	maxMoveRate = 500
)

// startMessageMoveTask begins to move the messages of a dead-letter queue: to another queue, or each to the one it came
// from.
func (c *call) startMessageMoveTask(in *startMessageMoveTaskRequest) (*startMessageMoveTaskAnswer, error) {
	ref, err := c.moveSource(in.SourceARN, "manage")
	if err != nil {
		return nil, err
	}
	req := engine.RedriveRequest{
		Renew:     true,
		Principal: c.principal.Subject,
		Allow:     c.maySend,
	}
	if rate := in.MaxNumberOfMessagesPerSecond; rate != nil {
		if *rate < minMoveRate || *rate > maxMoveRate {
			return nil, invalidValue(strconv.Itoa(*rate), "MaxNumberOfMessagesPerSecond", "Must be between 1 and 500, if provided.")
		}
		req.Rate = float64(*rate)
	}
	feeders, err := c.Engine.Feeders(c.ctx(), ref)
	if err != nil {
		return nil, err
	}
	if len(feeders) == 0 {
		return nil, invalidParameterValue.is("Source queue must be configured as a Dead Letter Queue.")
	}
	if in.DestinationARN != "" {
		if req.To, err = c.moveTarget(in.DestinationARN); err != nil {
			return nil, err
		}
	}
	task, err := c.startMove(ref, req)
	if err != nil {
		return nil, err
	}
	return &startMessageMoveTaskAnswer{TaskHandle: c.taskHandle(task)}, nil
}

// startMove starts the task unless one of this queue runs. Of two requests at once one is refused.
func (c *call) startMove(ref engine.Ref, req engine.RedriveRequest) (engine.Task, error) {
	running := invalidParameterValue.is("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
	if _, taken := c.starting.LoadOrStore(ref, true); taken {
		return engine.Task{}, running
	}
	defer c.starting.Delete(ref)
	tasks, err := c.Engine.TasksOf(c.ctx(), ref, math.MaxInt)
	if err != nil {
		return engine.Task{}, err
	}
	for i := range tasks {
		if tasks[i].State == engine.TaskRunning {
			return engine.Task{}, running
		}
	}
	return c.Engine.Redrive(c.ctx(), ref, req)
}

// moveSource is the queue whose messages are moved.
func (c *call) moveSource(arn, action string) (engine.Ref, error) {
	if arn == "" {
		return engine.Ref{}, missing("SourceArn")
	}
	name, ok := c.nameInARN(arn)
	if !ok {
		return engine.Ref{}, noResource("SourceArn")
	}
	ref, err := c.named(name, action)
	if err != nil {
		return engine.Ref{}, err
	}
	if _, err = c.Engine.Config(c.ctx(), ref); isNotFound(err) {
		err = noResource("SourceArn")
	}
	return ref, err
}

// moveTarget is the name of the queue that messages are moved to.
func (c *call) moveTarget(arn string) (string, error) {
	name, ok := c.nameInARN(arn)
	if !ok {
		return "", noResource("DestinationArn")
	}
	ref, err := c.named(name, "send")
	if err != nil {
		return "", err
	}
	if _, err = c.Engine.Config(c.ctx(), ref); isNotFound(err) {
		err = noResource("DestinationArn")
	}
	return name, err
}

func noResource(parameter string) *fault {
	return resourceNotFound.is("The resource that you specified for the " + parameter + " parameter doesn't exist.")
}
