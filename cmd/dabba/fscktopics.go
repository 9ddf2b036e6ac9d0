package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/segment"
)

// checkedTopic is a topic as of the last record in the folder.
type checkedTopic struct {
	// ID is what records call it.
	ID string `json:"id"`
	// Tenant and Name are null for a topic that the catalog does not list: it was about to be deleted.
	Tenant     *string            `json:"tenant"`
	Name       *string            `json:"name"`
	Partitions []checkedPartition `json:"partitions"`
}

type checkedPartition struct {
	Partition     int    `json:"partition"`
	FirstOffset   uint64 `json:"first_offset"`
	HighWatermark uint64 `json:"high_watermark"`
	Bytes         int64  `json:"bytes"`
}

// newCheckedTopics names the logs that were found. The error is about names that cannot be read.
func newCheckedTopics(found segment.Report) (list []checkedTopic, unreadable error) {
	names := make(map[store.LogID]engine.Ref)
	for _, pair := range found.Pairs {
		ref, id, ok, err := engine.TopicEntry(pair)
		unreadable = errors.Join(unreadable, err)
		if ok {
			names[id] = ref
		}
	}
	list = []checkedTopic{}
	for _, l := range found.Logs {
		shown := checkedTopic{ID: fmt.Sprintf("%016x", uint64(l.ID)), Partitions: []checkedPartition{}}
		if ref, ok := names[l.ID]; ok {
			shown.Tenant, shown.Name = &ref.Tenant, &ref.Name
		}
		for i, b := range l.Partitions {
			shown.Partitions = append(shown.Partitions, checkedPartition{i, uint64(b.First), uint64(b.Next), b.Bytes})
		}
		list = append(list, shown)
	}
	return list, unreadable
}

func printCheckedTopics(w io.Writer, topics []checkedTopic) {
	if len(topics) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPARTITION\tFIRST OFFSET\tHIGH WATERMARK\tBYTES\tID\t  TOPIC")
	for _, t := range topics {
		for _, p := range t.Partitions {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t  %s\n", p.Partition, p.FirstOffset, p.HighWatermark, p.Bytes, t.ID, title(t.Tenant, t.Name))
		}
	}
}
