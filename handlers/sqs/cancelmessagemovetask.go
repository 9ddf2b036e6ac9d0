package sqs

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/dabba-mq/dabba/engine"
)

// cancelMessageMoveTask ends a task that is running. What it has moved stays moved.
func (c *call) cancelMessageMoveTask(in *cancelMessageMoveTaskRequest) (*cancelMessageMoveTaskAnswer, error) {
	if in.TaskHandle == "" {
		return nil, missing("TaskHandle")
	}
	handle, id, ok := readTaskHandle(in.TaskHandle)
	if !ok {
		return nil, invalidParameterValue.is("Value for parameter TaskHandle is invalid.")
	}
	ref, err := c.moveSource(handle.Source, "manage")
	if err != nil {
		return nil, err
	}
	task, err := c.Engine.Task(c.ctx(), ref.Tenant, id)
	if isNotFound(err) || err == nil && task.Queue != ref {
		return nil, resourceNotFound.is("Task does not exist.")
	}
	if err != nil {
		return nil, err
	}
	if task.State != engine.TaskRunning {
		return nil, invalidParameterValue.is("Value for parameter TaskHandle is invalid. Reason: Only active tasks can be cancelled.")
	}
	task, err = c.Engine.CancelTask(c.ctx(), ref.Tenant, id, c.principal.Subject)
	if err != nil {
		return nil, err
	}
	return &cancelMessageMoveTaskAnswer{ApproximateNumberOfMessagesMoved: task.Moved}, nil
}

// taskHandle names a task and its queue.
type taskHandle struct {
	// ID is the task's id, written as a UUID.
	ID     string `json:"taskId"`
	Source string `json:"sourceArn"`
}

func (c *call) taskHandle(t engine.Task) string {
	text := asJSON(taskHandle{uuid(t.ID), c.arn(t.Queue.Name)})
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// readTaskHandle gives also the id as the engine has it; false for what is no handle.
func readTaskHandle(s string) (h taskHandle, id string, ok bool) {
	text, err := base64.StdEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(text, &h) != nil || h.Source == "" {
		return taskHandle{}, "", false
	}
	id = strings.ReplaceAll(h.ID, "-", "")
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != 16 || h.ID != uuid(id) {
		return taskHandle{}, "", false
	}
	return h, id, true
}

// uuid writes 16 bytes in hexadecimal as UUIDs are written.
func uuid(id string) string {
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
}
