package sqs

import (
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
)

// The limits of tags, in characters.
const (
	maxTags       = 50
	maxTagKey     = 128
	maxTagValue   = 256
	reservedTag   = "aws:"
	wrongTagKey   = "Tag keys must be between 1 and 128 characters in length."
	wrongTagValue = "Tag values must be between 0 and 256 characters in length."
)

// tagQueue adds tags to a queue. A tag with a key that is there already takes the place of the old one.
func (c *call) tagQueue(in *tagQueueRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, missing("Tags")
	}
	return c.configure(ref, func(config *engine.QueueConfig) error {
		tags := make(map[string]string, len(config.Tags)+len(in.Tags))
		maps.Copy(tags, config.Tags)
		maps.Copy(tags, in.Tags)
		config.Tags = tags
		return validTags(ref.Name, in.Tags, len(tags))
	})
}

// validTags checks tags that a queue is to get, after which it will have total.
func validTags(queue string, tags map[string]string, total int) error {
	for key, value := range tags {
		switch {
		case key == "" || utf8.RuneCountInString(key) > maxTagKey:
			return invalidParameterValue.is(wrongTagKey)
		case utf8.RuneCountInString(value) > maxTagValue:
			return invalidParameterValue.is(wrongTagValue)
		case strings.HasPrefix(strings.ToLower(key), reservedTag):
			return invalidParameterValue.is("Tag keys that begin with " + reservedTag + " are reserved; choose another.")
		}
	}
	if total > maxTags {
		return invalidParameterValue.is("Too many tags added for queue " + queue + ".")
	}
	return nil
}
