package sqs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxActions is the most actions that one permission may name.
const maxActions = 7

// What a permission may be about: the actions that AWS lets other accounts perform, and those that it leaves to the owner
// of a queue.
var (
	grantable = []string{
		"*", "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues",
		"PurgeQueue", "ReceiveMessage", "SendMessage",
	}
	ownersOwn = []string{
		"AddPermission", "CancelMessageMoveTask", "CreateQueue", "DeleteQueue", "ListMessageMoveTasks", "ListQueueTags", "ListQueues",
		"RemovePermission", "SetQueueAttributes", "StartMessageMoveTask", "TagQueue", "UntagQueue",
	}
)

// addPermission adds a statement to the policy of a queue.
func (c *call) addPermission(in *addPermissionRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if err := in.validate(); err != nil {
		return nil, err
	}
	arn := c.arn(ref.Name)
	s := statement{
		Sid: in.Label, Effect: "Allow", Resource: arn,
		Principal: principals{oneOrAll("arn:aws:iam::", in.AWSAccountIDs, ":root")},
		Action:    oneOrAll("SQS:", in.Actions, ""),
	}
	return c.editPolicy(ref, func(p *policy) error {
		if p.labeled(in.Label) >= 0 {
			return invalidValue(in.Label, "Label", "Already exists.")
		}
		if len(p.statements) == 0 {
			p.Version = cmp.Or(p.Version, "2008-10-17")
			p.ID = cmp.Or(p.ID, arn+"/SQSDefaultPolicy")
		}
		p.statements = append(p.statements, jsontext.Value(asJSON(s)))
		return nil
	})
}

func (r *addPermissionRequest) validate() error {
	switch {
	case r.Label == "":
		return missing("Label")
	case !isLabel(r.Label):
		return invalidValue(r.Label, "Label", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	case len(r.AWSAccountIDs) == 0:
		return invalidValue("[]", "PrincipalId", "Unable to verify.")
	case len(r.Actions) == 0:
		return missing("Actions")
	case len(r.Actions) > maxActions:
		return overLimit.is(fmt.Sprintf("%d Actions were found, maximum allowed is %d.", len(r.Actions), maxActions))
	}
	for _, id := range r.AWSAccountIDs {
		if !IsAccount(id) {
			return invalidValue(id, "PrincipalId", "Unable to verify.")
		}
	}
	for _, action := range r.Actions {
		if slices.Contains(grantable, action) {
			continue
		}
		reason := "Please refer to the appropriate WSDL for a list of valid actions."
		if slices.Contains(ownersOwn, action) {
			reason = "Only the queue owner is allowed to invoke this action."
		}
		return invalidValue("SQS:"+action, "ActionName", reason)
	}
	return nil
}

// oneOrAll is the one value, or the list of several, each between two texts.
func oneOrAll(before string, values []string, after string) any {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = before + v + after
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}
