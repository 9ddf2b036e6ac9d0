package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// create-topic topic [partitions=] [age=] [bytes=] [max=]: put it with these settings, the others default.
func (s *session) createTopic(c command) string {
	cfg := engine.DefaultTopicConfig()
	cfg.Partitions, cfg.RetentionBytes = uint32(s.number(c, "partitions")), int64(s.number(c, "bytes"))
	if age := s.duration(c, "age"); age != nil {
		cfg.RetentionAge = *age
	}
	if most := s.number(c, "max"); most != 0 {
		cfg.MaxRecordBytes = int64(most)
	}
	_, created, err := s.engine.PutTopic(s.Context(), s.ref(c), cfg, engine.Condition{})
	switch {
	case err != nil:
		return problem(err)
	case created:
		return "created"
	}
	return "replaced"
}

// topic name: its partitions.
func (s *session) topic(c command) string {
	t, err := s.engine.Topic(s.Context(), s.ref(c))
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, p := range t.Partitions {
		fmt.Fprintf(&out, "%d: %d to %d, %d bytes\n", p.Partition, p.FirstOffset, p.HighWatermark, p.Bytes)
	}
	return out.String()
}

// topics [prefix=]: their names.
func (s *session) topics(c command) string {
	all, err := s.engine.Topics(s.Context(), tenant, c.value("prefix"), "", 0, nil)
	if err != nil {
		return problem(err)
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Ref.Name
	}
	return strings.Join(names, " ") + "\n"
}

func (s *session) deleteTopic(c command) string {
	if err := s.engine.DeleteTopic(s.Context(), s.ref(c), engine.Condition{}); err != nil {
		return problem(err)
	}
	return ""
}

// produce topic value… [key=] [partition=] [expect=] [once=]: where they went.
func (s *session) produce(c command) string {
	var req engine.ProduceRequest
	key, partition, expect, once := c.value("key"), c.value("partition"), c.value("expect"), c.value("once")
	for _, value := range c.words[1:] {
		r := engine.Record{Value: []byte(value)}
		if key != "" {
			r.Key = []byte(key)
		}
		if partition != "" {
			r.Partition = new(uint32(s.offset(partition)))
		}
		req.Records = append(req.Records, r)
	}
	if expect != "" {
		req.ExpectedOffset = new(s.offset(expect))
	}
	if once != "" {
		req.Key = &engine.IdempotencyKey{Principal: "tester", Path: "/", Key: once}
	}
	done, err := s.engine.Produce(s.Context(), s.ref(c), req)
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, p := range done.Places {
		fmt.Fprintf(&out, "%d@%d ", p.Partition, p.Offset)
	}
	if done.Duplicate {
		out.WriteString("duplicate")
	}
	return strings.TrimRight(out.String(), " ") + "\n"
}

func (s *session) offset(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// place is an offset, earliest, latest, or a duration from now.
func (s *session) place(word string) engine.Start {
	switch word {
	case "", "earliest":
		return engine.Start{Kind: engine.AtEarliest}
	case "latest":
		return engine.Start{Kind: engine.AtLatest}
	}
	if d, err := time.ParseDuration(word); err == nil && word != "0" {
		return engine.Start{Kind: engine.AtTime, Time: time.Now().Add(d)}
	}
	return engine.Start{Offset: s.offset(word)}
}

// read topic partition [from=] [max=] [wait=]: the records, and where to read on.
func (s *session) read(c command) string {
	req := engine.ReadRequest{Partition: uint32(s.offset(c.words[1])), Start: s.place(c.value("from")), Max: s.number(c, "max")}
	if wait := s.duration(c, "wait"); wait != nil {
		req.Wait = *wait
	}
	got, err := s.engine.Read(s.Context(), s.ref(c), req)
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, r := range got.Records {
		fmt.Fprintf(&out, "%d %q", r.Offset, r.Value)
		if r.Key != nil {
			fmt.Fprintf(&out, " key=%s", r.Key)
		}
		fmt.Fprintln(&out)
	}
	fmt.Fprintf(&out, "next %d of %d\n", got.NextOffset, got.HighWatermark)
	return out.String()
}

// trim topic partition before: what is left.
func (s *session) trim(c command) string {
	left, err := s.engine.TrimTopic(s.Context(), s.ref(c), uint32(s.offset(c.words[1])), s.place(c.words[2]))
	if err != nil {
		return problem(err)
	}
	return fmt.Sprintf("%d to %d, %d bytes", left.FirstOffset, left.HighWatermark, left.Bytes)
}

// commit topic name partition:offset… [expected=partition:offset or partition:none]: what is committed then.
func (s *session) commit(c command) string {
	req := engine.CommitRequest{Offsets: s.offsets(c.words[2:])}
	if expected := c.value("expected"); expected != "" {
		req.Expected = s.expectedOffset(expected)
	}
	return shownOffsets(s.engine.Commit(s.Context(), s.ref(c), c.words[1], req))
}

// committed topic name: what is committed.
func (s *session) committed(c command) string {
	return shownOffsets(s.engine.CommittedOffsets(s.Context(), s.ref(c), c.words[1]))
}

// expectedOffset is partition:offset, or partition:none.
func (s *session) expectedOffset(word string) map[uint32]*uint64 {
	partition, offset, _ := strings.Cut(word, ":")
	var want *uint64
	if offset != "none" {
		want = new(s.offset(offset))
	}
	return map[uint32]*uint64{uint32(s.offset(partition)): want}
}

func (s *session) offsets(words []string) map[uint32]uint64 {
	all := make(map[uint32]uint64)
	for _, word := range words {
		partition, offset, _ := strings.Cut(word, ":")
		all[uint32(s.offset(partition))] = s.offset(offset)
	}
	return all
}

func shownOffsets(c engine.Committed, err error) string {
	if err != nil {
		return problem(err)
	}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(c.Offsets)) {
		fmt.Fprintf(&out, "%d:%d ", p, c.Offsets[p])
	}
	return strings.TrimRight(out.String(), " ") + "\n"
}
