package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// listAll reads the queues or the topics, whichever is asked for, whose name begins with the prefix: all pages.
func (c *client) listAll(ctx context.Context, what, prefix string) ([]jsontext.Value, error) {
	query := url.Values{}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	all := []jsontext.Value{}
	for {
		var page map[string]jsontext.Value
		err := c.call(ctx, request{method: http.MethodGet, path: "/v1/" + what, query: query, repeat: true}, &page)
		if err != nil {
			return nil, err
		}
		var entries []jsontext.Value
		if err := json.Unmarshal(page[what], &entries); err != nil {
			return nil, fmt.Errorf("read a page of %s: %w", what, err)
		}
		all = append(all, entries...)
		if page["cursor"] == nil {
			return all, nil
		}
		var cursor string
		if err := json.Unmarshal(page["cursor"], &cursor); err != nil {
			return nil, fmt.Errorf("read a page of %s: %w", what, err)
		}
		query.Set("cursor", cursor)
	}
}
