package sqs

import (
	"maps"
	"strings"

	"github.com/dabba-mq/dabba/engine"
)

// maxInFlight is how many messages of a queue created here may be leased at a time.
const maxInFlight = 120_000

// createQueue makes a queue, or finds the one there is if that has all that the request asks for.
func (c *call) createQueue(in *createQueueRequest) (*queueURLAnswer, error) {
	name := in.QueueName
	if !validQueueName(name) {
		return nil, wrongName()
	}
	ref, err := c.named(name, "manage")
	if err != nil {
		return nil, err
	}
	if fifo, _ := parseFlag("FifoQueue", in.Attributes["FifoQueue"]); fifo && !isFIFO(name) {
		return nil, wrongFIFOName()
	}
	asked, err := c.settings(name, in.Attributes)
	if err != nil {
		return nil, err
	}
	if err := validTags(name, in.Tags, len(in.Tags)); err != nil {
		return nil, err
	}
	for {
		present, err := c.Engine.Config(c.ctx(), ref)
		switch {
		case isNotFound(err):
			if err = c.createNew(ref, in, asked); isTaken(err) {
				continue // someone else was faster
			}
		case err == nil:
			if name := c.difference(present, asked); name != "" {
				err = queueNameExists.is("A queue already exists with the same name and a different value for attribute " + name)
			}
		}
		if err != nil {
			return nil, err
		}
		return &queueURLAnswer{QueueURL: c.url(name)}, nil
	}
}

// createNew makes a queue unless there is one of this name.
func (c *call) createNew(ref engine.Ref, in *createQueueRequest, asked []setting) error {
	config := engine.DefaultConfig()
	config.DeadLetter.When = engine.Lazy
	config.Limits.MaxInFlight = maxInFlight
	config.Tags = maps.Clone(in.Tags)
	if isFIFO(ref.Name) {
		if _, ok := in.Attributes["FifoQueue"]; !ok {
			return wrongName()
		}
		config.FIFO, config.GroupLock = true, engine.GroupLockTail
	}
	if err := apply(&config, asked, false); err != nil {
		return err
	}
	if err := c.mayCreate(ref); err != nil {
		return err
	}
	_, _, err := c.Engine.PutQueue(c.ctx(), ref, config, engine.Condition{Absent: true, MaySend: c.maySend})
	return err
}

// isTaken says that there was a queue of the name after all.
func isTaken(err error) bool {
	if err == nil {
		return false
	}
	e := engine.ErrorOf(err)
	return e.Code == engine.CodeConflict && e.Field == "If-None-Match"
}

// maxQueueName is the length of a queue's name, the suffix of FIFO queues included.
const maxQueueName = 80

func validQueueName(name string) bool {
	return len(name) <= maxQueueName && isLabel(strings.TrimSuffix(name, engine.FIFOSuffix))
}

// wrongName refuses a name that is none, or that only a FIFO queue has.
func wrongName() *fault {
	return invalidParameterValue.is("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
}

func wrongFIFOName() *fault {
	return invalidParameterValue.is("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.")
}
