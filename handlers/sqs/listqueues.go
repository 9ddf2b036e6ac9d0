package sqs

import (
	"encoding/base64"
	"strings"
)

// maxPage is the most entries of one page of a list, and what a list without pages has at most.
const maxPage = 1000

// listQueues lists the queues that the principal may read, by name.
func (c *call) listQueues(in *listQueuesRequest) (*listQueuesAnswer, error) {
	page, err := readPage(in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &listQueuesAnswer{}
	last := "" // of those that are shown; after may be one that is not
	for after, more := page.after, true; more; {
		found, err := c.Engine.Names(c.ctx(), c.tenant(), in.QueueNamePrefix, after, page.limit+1)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if !c.principal.Allows("queues", "read", name) {
				continue
			}
			if len(out.QueueURLs) == page.limit {
				out.NextToken = page.next(last)
				return out, nil
			}
			out.QueueURLs = append(out.QueueURLs, c.url(name))
			last = name
		}
		if more = len(found) == min(page.limit+1, maxPage); more {
			after = found[len(found)-1]
		}
	}
	return out, nil
}

// page is a part of a list.
type page struct {
	limit int
	// after is the name before its first.
	after string
	// asked says that the client wants pages: without a size it gets no token.
	asked bool
}

// tokenPrefix is what the next token of a list is made of, with the last name of the page before.
const tokenPrefix = "after:"

// readPage checks what a request says of the page that it wants.
func readPage(maxResults *int, token string) (page, error) {
	p := page{limit: maxPage, asked: maxResults != nil}
	if p.asked {
		p.limit = *maxResults
	}
	if p.limit < 1 || p.limit > maxPage {
		return page{}, invalidParameterValue.is("Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000.")
	}
	if token == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(text), tokenPrefix)
	if err != nil || !ok || after == "" {
		return page{}, invalidParameterValue.is("Invalid or expired next token.")
	}
	p.after = after
	return p, nil
}

// next is the token of the page that comes after a name.
func (p page) next(after string) string {
	if !p.asked {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + after))
}
