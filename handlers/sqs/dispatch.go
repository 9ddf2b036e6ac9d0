package sqs

// operation is one of the 23 that SQS has.
type operation struct {
	name string
	// input is an empty request to decode into.
	input func() any
	do    func(c *call, input any) (answer any, err error)
	// serviceOnly says that Query takes it on "/" only, not on the URL of a queue.
	serviceOnly bool
	// borrows says that the bodies of messages in the request may share memory with the request's body, which is kept for
	// as long as the operation takes.
	borrows bool
	// reads says that the operation changes nothing and leases nothing.
	reads bool
}

// of makes an operation of a method of [call]. Its name is what the wire calls it.
func of[In, Out any](name string, do func(*call, *In) (*Out, error)) operation {
	return operation{
		name:  name,
		input: func() any { return new(In) },
		do: func(c *call, input any) (any, error) {
			in, _ := input.(*In)
			out, err := do(c, in)
			if err != nil {
				return nil, err
			}
			return out, nil
		},
	}
}

func onService(o operation) operation {
	o.serviceOnly = true
	return o
}

func borrowing(o operation) operation {
	o.borrows = true
	return o
}

func reading(o operation) operation {
	o.reads = true
	return o
}

// operations are all that the wire knows, by name.
var operations = index(
	onService(of("CreateQueue", (*call).createQueue)),
	reading(of("GetQueueUrl", (*call).getQueueURL)),
	reading(onService(of("ListQueues", (*call).listQueues))),
	of("DeleteQueue", (*call).deleteQueue),
	of("PurgeQueue", (*call).purgeQueue),
	reading(of("GetQueueAttributes", (*call).getQueueAttributes)),
	of("SetQueueAttributes", (*call).setQueueAttributes),
	of("AddPermission", (*call).addPermission),
	of("RemovePermission", (*call).removePermission),
	reading(of("ListQueueTags", (*call).listQueueTags)),
	of("TagQueue", (*call).tagQueue),
	of("UntagQueue", (*call).untagQueue),
	reading(of("ListDeadLetterSourceQueues", (*call).listDeadLetterSourceQueues)),
	of("StartMessageMoveTask", (*call).startMessageMoveTask),
	of("CancelMessageMoveTask", (*call).cancelMessageMoveTask),
	reading(of("ListMessageMoveTasks", (*call).listMessageMoveTasks)),

	borrowing(of("SendMessage", (*call).sendMessage)),
	borrowing(of("SendMessageBatch", (*call).sendMessageBatch)),
	of("ReceiveMessage", (*call).receiveMessage),
	of("DeleteMessage", (*call).deleteMessage),
	of("DeleteMessageBatch", (*call).deleteMessageBatch),
	of("ChangeMessageVisibility", (*call).changeMessageVisibility),
	of("ChangeMessageVisibilityBatch", (*call).changeMessageVisibilityBatch),
)

func index(all ...operation) map[string]operation {
	byName := make(map[string]operation, len(all))
	for _, o := range all {
		byName[o.name] = o
	}
	return byName
}
