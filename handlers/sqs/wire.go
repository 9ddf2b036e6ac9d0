package sqs

// The requests and answers below are as the service model of AWS has them. A json tag is the name in JSON and, of what is
// no list, in Query and XML. A flat tag is what an entry of a list is called there, since AWS writes lists flat:
// Name.1, Name.2, and an element for each; of a map it also says what key and value are called.

// nothing is the answer of operations that only succeed.
type nothing struct{}

// messageAttribute is the value of an attribute of a message.
type messageAttribute struct {
	DataType    string  `json:"DataType,omitzero"`
	StringValue *string `json:"StringValue,omitzero"`
	BinaryValue []byte  `json:"BinaryValue,omitzero"`
	// SQS reserves these two and refuses them.
	StringListValues []string `json:"StringListValues,omitzero" flat:"StringListValue"`
	BinaryListValues [][]byte `json:"BinaryListValues,omitzero" flat:"BinaryListValue"`
}

type createQueueRequest struct {
	QueueName  string            `json:"QueueName"`
	Attributes map[string]string `json:"Attributes" flat:"Attribute,Name,Value"`
	Tags       map[string]string `json:"tags" flat:"Tag,Key,Value"`
}

type queueURLAnswer struct {
	QueueURL string `json:"QueueUrl"`
}

type getQueueURLRequest struct {
	QueueName              string `json:"QueueName"`
	QueueOwnerAWSAccountID string `json:"QueueOwnerAWSAccountId"`
}

type queueRequest struct {
	QueueURL *string `json:"QueueUrl"`
}

type listQueuesRequest struct {
	QueueNamePrefix string `json:"QueueNamePrefix"`
	NextToken       string `json:"NextToken"`
	MaxResults      *int   `json:"MaxResults"`
}

type listQueuesAnswer struct {
	QueueURLs []string `json:"QueueUrls,omitempty" flat:"QueueUrl"`
	NextToken string   `json:"NextToken,omitzero"`
}

type getQueueAttributesRequest struct {
	QueueURL       *string  `json:"QueueUrl"`
	AttributeNames []string `json:"AttributeNames" flat:"AttributeName"`
}

type getQueueAttributesAnswer struct {
	Attributes map[string]string `json:"Attributes,omitempty" flat:"Attribute,Name,Value"`
}

type setQueueAttributesRequest struct {
	QueueURL   *string           `json:"QueueUrl"`
	Attributes map[string]string `json:"Attributes" flat:"Attribute,Name,Value"`
}

type addPermissionRequest struct {
	QueueURL      *string  `json:"QueueUrl"`
	Label         string   `json:"Label"`
	AWSAccountIDs []string `json:"AWSAccountIds" flat:"AWSAccountId"`
	Actions       []string `json:"Actions" flat:"ActionName"`
}

type removePermissionRequest struct {
	QueueURL *string `json:"QueueUrl"`
	Label    string  `json:"Label"`
}

type listQueueTagsAnswer struct {
	Tags map[string]string `json:"Tags,omitempty" flat:"Tag,Key,Value"`
}

type tagQueueRequest struct {
	QueueURL *string           `json:"QueueUrl"`
	Tags     map[string]string `json:"Tags" flat:"Tag,Key,Value"`
}

type untagQueueRequest struct {
	QueueURL *string  `json:"QueueUrl"`
	TagKeys  []string `json:"TagKeys" flat:"TagKey"`
}

type listDeadLetterSourceQueuesRequest struct {
	QueueURL   *string `json:"QueueUrl"`
	NextToken  string  `json:"NextToken"`
	MaxResults *int    `json:"MaxResults"`
}

// listDeadLetterSourceQueuesAnswer has the one list whose name in JSON is lower-case, and is there when it is empty.
type listDeadLetterSourceQueuesAnswer struct {
	QueueURLs []string `json:"queueUrls" flat:"QueueUrl"`
	NextToken string   `json:"NextToken,omitzero"`
}

type startMessageMoveTaskRequest struct {
	SourceARN                    string `json:"SourceArn"`
	DestinationARN               string `json:"DestinationArn"`
	MaxNumberOfMessagesPerSecond *int   `json:"MaxNumberOfMessagesPerSecond"`
}

type startMessageMoveTaskAnswer struct {
	TaskHandle string `json:"TaskHandle"`
}

type cancelMessageMoveTaskRequest struct {
	TaskHandle string `json:"TaskHandle"`
}

type cancelMessageMoveTaskAnswer struct {
	ApproximateNumberOfMessagesMoved int64 `json:"ApproximateNumberOfMessagesMoved"`
}

type listMessageMoveTasksRequest struct {
	SourceARN  string `json:"SourceArn"`
	MaxResults *int   `json:"MaxResults"`
}

type listMessageMoveTasksAnswer struct {
	Results []moveTask `json:"Results,omitempty" flat:"ListMessageMoveTasksResultEntry"`
}

type moveTask struct {
	TaskHandle                        string `json:"TaskHandle,omitzero"`
	Status                            string `json:"Status"`
	SourceARN                         string `json:"SourceArn"`
	DestinationARN                    string `json:"DestinationArn,omitzero"`
	MaxNumberOfMessagesPerSecond      int    `json:"MaxNumberOfMessagesPerSecond,omitzero"`
	ApproximateNumberOfMessagesMoved  int64  `json:"ApproximateNumberOfMessagesMoved"`
	ApproximateNumberOfMessagesToMove int64  `json:"ApproximateNumberOfMessagesToMove"`
	FailureReason                     string `json:"FailureReason,omitzero"`
	StartedTimestamp                  int64  `json:"StartedTimestamp"`
}

// outgoing is a message to send: alone, or as an entry of a batch.
type outgoing struct {
	MessageBody             string                      `json:"MessageBody"`
	DelaySeconds            *int                        `json:"DelaySeconds"`
	MessageAttributes       map[string]messageAttribute `json:"MessageAttributes" flat:"MessageAttribute,Name,Value"`
	MessageSystemAttributes map[string]messageAttribute `json:"MessageSystemAttributes" flat:"MessageSystemAttribute,Name,Value"`
	MessageDeduplicationID  *string                     `json:"MessageDeduplicationId"`
	MessageGroupID          *string                     `json:"MessageGroupId"`
}

type sendMessageRequest struct {
	QueueURL *string `json:"QueueUrl"`
	outgoing `json:",inline"`
}

// sent is what became of one message.
type sent struct {
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string `json:"MD5OfMessageBody"`
	MD5OfMessageAttributes       string `json:"MD5OfMessageAttributes,omitzero"`
	MD5OfMessageSystemAttributes string `json:"MD5OfMessageSystemAttributes,omitzero"`
	SequenceNumber               string `json:"SequenceNumber,omitzero"`
}

type sendMessageBatchRequest struct {
	QueueURL *string            `json:"QueueUrl"`
	Entries  []sendMessageEntry `json:"Entries" flat:"SendMessageBatchRequestEntry"`
}

type sendMessageEntry struct {
	ID       string `json:"Id"`
	outgoing `json:",inline"`
}

type sendMessageBatchAnswer struct {
	Successful []sentEntry   `json:"Successful,omitempty" flat:"SendMessageBatchResultEntry"`
	Failed     []failedEntry `json:"Failed,omitempty" flat:"BatchResultErrorEntry"`
}

type sentEntry struct {
	ID   string `json:"Id"`
	sent `json:",inline"`
}

// failedEntry says why an entry of a batch was refused.
type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message,omitzero"`
}

type receiveMessageRequest struct {
	QueueURL                    *string  `json:"QueueUrl"`
	AttributeNames              []string `json:"AttributeNames" flat:"AttributeName"`
	MessageSystemAttributeNames []string `json:"MessageSystemAttributeNames" flat:"MessageSystemAttributeName"`
	MessageAttributeNames       []string `json:"MessageAttributeNames" flat:"MessageAttributeName"`
	MaxNumberOfMessages         *int     `json:"MaxNumberOfMessages"`
	VisibilityTimeout           *int     `json:"VisibilityTimeout"`
	WaitTimeSeconds             *int     `json:"WaitTimeSeconds"`
	ReceiveRequestAttemptID     *string  `json:"ReceiveRequestAttemptId"`
}

type receiveMessageAnswer struct {
	Messages []message `json:"Messages,omitempty" flat:"Message"`
}

// message is one delivery.
type message struct {
	MessageID              string                      `json:"MessageId"`
	ReceiptHandle          string                      `json:"ReceiptHandle"`
	MD5OfBody              string                      `json:"MD5OfBody"`
	Body                   string                      `json:"Body"`
	Attributes             map[string]string           `json:"Attributes,omitempty" flat:"Attribute,Name,Value"`
	MD5OfMessageAttributes string                      `json:"MD5OfMessageAttributes,omitzero"`
	MessageAttributes      map[string]messageAttribute `json:"MessageAttributes,omitempty" flat:"MessageAttribute,Name,Value"`
}

type deleteMessageRequest struct {
	QueueURL      *string `json:"QueueUrl"`
	ReceiptHandle string  `json:"ReceiptHandle"`
}

type deleteMessageBatchRequest struct {
	QueueURL *string              `json:"QueueUrl"`
	Entries  []deleteMessageEntry `json:"Entries" flat:"DeleteMessageBatchRequestEntry"`
}

type deleteMessageEntry struct {
	ID            string `json:"Id"`
	ReceiptHandle string `json:"ReceiptHandle"`
}

// doneEntry names an entry of a batch that succeeded.
type doneEntry struct {
	ID string `json:"Id"`
}

type deleteMessageBatchAnswer struct {
	Successful []doneEntry   `json:"Successful,omitempty" flat:"DeleteMessageBatchResultEntry"`
	Failed     []failedEntry `json:"Failed,omitempty" flat:"BatchResultErrorEntry"`
}

type changeMessageVisibilityRequest struct {
	QueueURL          *string `json:"QueueUrl"`
	ReceiptHandle     string  `json:"ReceiptHandle"`
	VisibilityTimeout *int    `json:"VisibilityTimeout"`
}

type changeMessageVisibilityBatchRequest struct {
	QueueURL *string                        `json:"QueueUrl"`
	Entries  []changeMessageVisibilityEntry `json:"Entries" flat:"ChangeMessageVisibilityBatchRequestEntry"`
}

type changeMessageVisibilityEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int   `json:"VisibilityTimeout"`
}

type changeMessageVisibilityBatchAnswer struct {
	Successful []doneEntry   `json:"Successful,omitempty" flat:"ChangeMessageVisibilityBatchResultEntry"`
	Failed     []failedEntry `json:"Failed,omitempty" flat:"BatchResultErrorEntry"`
}
