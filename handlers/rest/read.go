package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// Read gives records of one partition, from a place of the reader's choice. Nothing is remembered of it.
//
// @Summary Read a partition
// @Description Records in order, from offset on, without remembering anything: the reader goes on at next_offset. With wait the read stays open while there is nothing to give. Answers that end below the high watermark because they were full may be kept by the client for a minute.
// @ID readRecords
// @Tags topics
// @Produce json
// @Param t path string true "Topic name"
// @Param p path int true "Partition, from 0"
// @Param offset query string false "An offset, earliest, latest (the next record to come) or time:<RFC 3339> (the first record whose timestamp is not before it)" default(earliest)
// @Param max query int false "Records, from 1 to 10000" default(500)
// @Param max_bytes query int false "The most of keys, values and headers in one answer, up to 16 MiB; one record is always given"
// @Param wait query string false "How long to wait for the first record, up to 1h"
// @Param isolation query string false "Without transactions every record is committed" Enums(read_uncommitted, read_committed)
// @Success 200 {object} ReadAnswer
// @Failure 400,401,403,404,410,416,503,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t}/partitions/{p}/records [get]
func (a *API) Read(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "read", "consume")
	if err != nil {
		return err
	}
	req, err := readRequest(r)
	if err != nil {
		return err
	}
	if req.Wait > 0 {
		exchange.UnhurriedRead(w)
	}
	got, err := a.engine.Read(r.Context(), ref, req)
	if err != nil {
		return err
	}
	size := recordsSize(got.Records)
	if err := exchange.Answering(r, answerMemory(size)); err != nil {
		return err
	}
	if got.Cut && req.Start.Kind == engine.AtOffset {
		w.Header().Set("Cache-Control", "private, max-age=60")
	} else {
		w.Header().Set("Cache-Control", "no-store")
	}
	writeRecords(w, req.Partition, got, size)
	return nil
}

func readRequest(r *http.Request) (engine.ReadRequest, error) {
	var req engine.ReadRequest
	params, err := query(r, "offset", "max", "max_bytes", "wait", "isolation")
	if err != nil {
		return req, err
	}
	if req.Partition, err = partition(r); err != nil {
		return req, err
	}
	req.Start.Kind = engine.AtEarliest
	if given, ok := params["offset"]; ok {
		if req.Start, ok = parseStart(given); !ok {
			return req, invalid("offset", "Give an offset (a number from 0), earliest, latest, or a time such as time:2026-11-29T16:50:00Z.")
		}
	}
	most, err := params.number("max")
	if err != nil {
		return req, err
	}
	bytes, err := params.number("max_bytes")
	if err != nil {
		return req, err
	}
	for name, n := range map[string]*int{"max": most, "max_bytes": bytes} {
		if n != nil && *n < 1 {
			return req, invalid(name, "Give a number from 1 on.")
		}
	}
	if most != nil {
		req.Max = *most
	}
	if bytes != nil {
		req.MaxBytes = int64(*bytes)
	}
	wait, err := params.duration("wait")
	if err != nil {
		return req, err
	}
	if wait == nil {
		wait = preferredWait(r)
	}
	if wait != nil {
		req.Wait = time.Duration(*wait)
	}
	switch params["isolation"] {
	case "", "read_uncommitted", "read_committed":
	default:
		return req, invalid("isolation", "Give read_committed or read_uncommitted.")
	}
	return req, nil
}

// parseStart reads a place in a partition.
func parseStart(s string) (engine.Start, bool) {
	switch s {
	case "earliest":
		return engine.Start{Kind: engine.AtEarliest}, true
	case "latest":
		return engine.Start{Kind: engine.AtLatest}, true
	}
	if at, ok := strings.CutPrefix(s, "time:"); ok {
		// A plus in a query string is a space, and nobody writes a time with one.
		t, err := time.Parse(time.RFC3339, strings.ReplaceAll(at, " ", "+"))
		return engine.Start{Kind: engine.AtTime, Time: t}, err == nil
	}
	offset, err := strconv.ParseUint(s, 10, 64)
	return engine.Start{Offset: offset}, err == nil
}

// recordsSize is about how many bytes the records have that an answer shows.
func recordsSize(records []engine.ReadRecord) (size int64) {
	for i := range records {
		size += messageBytes + int64(records[i].Size) + attributeBytes*int64(len(records[i].Headers))
	}
	return size
}

// writeRecords lets go of values once they are written, as writeReceived does of bodies.
func writeRecords(w http.ResponseWriter, partition uint32, got engine.ReadAnswer, size int64) {
	// In either case, a client that is gone reads again.
	if exchange.Streams(size) {
		_ = exchange.SendStream(w, http.StatusOK, jsonType, func(s *exchange.Stream) { streamRecords(s, partition, got) })
		return
	}
	out := exchange.NewAnswer()
	defer out.Release()
	b := append(out.Bytes, `{"records":[`...)
	for i := range got.Records {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRecord(b, partition, &got.Records[i])
		got.Records[i].Value = nil
	}
	out.Bytes = appendBounds(b, got)
	_ = send(w, out, http.StatusOK)
}

func streamRecords(s *exchange.Stream, partition uint32, got engine.ReadAnswer) {
	s.B = append(s.B, `{"records":[`...)
	for i := range got.Records {
		r := &got.Records[i]
		if i > 0 {
			s.B = append(s.B, ',')
		}
		s.B = appendBeforeValue(s.B, partition, r)
		if r.Value == nil {
			s.B = append(s.B, `,"value":null`...)
		} else {
			streamBytes(s, "value", r.Value)
		}
		s.B = appendAfterValue(s.B, r)
		s.Next()
		if !s.Counting() {
			r.Value = nil
		}
	}
	s.B = append(appendBounds(s.B, got), '\n')
}

// appendBounds ends an answer.
func appendBounds(b []byte, got engine.ReadAnswer) []byte {
	b = appendUint(append(b, `],"next_offset":`...), got.NextOffset)
	b = appendUint(append(b, `,"high_watermark":`...), got.HighWatermark)
	return append(b, '}')
}

func appendRecord(b []byte, partition uint32, r *engine.ReadRecord) []byte {
	b = appendBeforeValue(b, partition, r)
	switch {
	case r.Value == nil:
		b = append(b, `,"value":null`...)
	case utf8.Valid(r.Value):
		b = jsonwire.AppendString(append(b, `,"value":`...), r.Value)
	default:
		b = jsonwire.AppendBase64(append(b, `,"value_base64":`...), r.Value)
	}
	return appendAfterValue(b, r)
}

func appendBeforeValue(b []byte, partition uint32, r *engine.ReadRecord) []byte {
	b = appendUint(append(b, `{"partition":`...), uint64(partition))
	b = appendUint(append(b, `,"offset":`...), r.Offset)
	b = append(b, `,"key":`...)
	if r.Key == nil {
		return append(b, "null"...)
	}
	return jsonwire.AppendString(b, r.Key)
}

func appendAfterValue(b []byte, r *engine.ReadRecord) []byte {
	if r.ContentType != "" {
		b = jsonwire.AppendString(append(b, `,"content_type":`...), r.ContentType)
	}
	b = appendAttributes(append(b, `,"headers":`...), r.Headers)
	b = appendTime(append(b, `,"timestamp":`...), r.Timestamp)
	if r.TraceParent != "" {
		b = jsonwire.AppendString(append(b, `,"traceparent":`...), r.TraceParent)
	}
	return append(b, '}')
}
