package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// Produce appends records to a topic. An answer means that they are durable.
//
// @Summary Append records to a topic
// @Description With Content-Type application/json the body lists up to 1000 records, which are appended all or not at all. A record goes to the partition it names; else its key chooses (the 64-bit FNV-1a hash of its bytes modulo the number of partitions); records with neither go to one partition together. The same holds for a body labeled as a form (which curl -d does) that is a JSON object with records and nothing but fields of this call. Any other body is itself the value of one record, with headers in Dabba-Attr-<name> headers, whose names become lower case; value and type are given back as they are on read (no type for a form, or if there was none). An answer means that the records are durable.
// @ID produce
// @Tags topics
// @Accept json,octet-stream
// @Produce json
// @Param t path string true "Topic name"
// @Param Idempotency-Key header string false "1 to 128 characters; repeating a request with the same key within 10 minutes returns the first outcome"
// @Param traceparent header string false "W3C trace context, handed back on read"
// @Param key query string false "For a raw body: the record's key"
// @Param partition query int false "For a raw body: the record's partition"
// @Param expected_offset query int false "For a raw body: the offset that the record must get"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the topic says" Enums(leader, all)
// @Param records body ProduceRequest true "The records"
// @Success 200 {object} ProduceAnswer
// @Failure 400,401,403,404,409,413,415,422,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t}/records [post]
func (a *API) Produce(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "produce")
	if err != nil {
		return err
	}
	if _, given := r.Header["Producer-Id"]; given {
		return invalid("Producer-Id", "Producers with epochs are planned but not built yet: use an Idempotency-Key to repeat a request safely.")
	}
	var req engine.ProduceRequest
	if req.Key, err = a.idempotencyKey(r); err != nil {
		return err
	}
	body, err := a.exchange.Read(w, r, a.produceLimit(ref))
	if err != nil {
		return err
	}
	defer body.Release()
	if describedProduce.describes(r, body.Bytes) {
		err = readRecords(r, body, &req)
	} else {
		err = rawRecord(r, body.Bytes, &req)
	}
	if err != nil {
		return err
	}
	if trace := traceParent(r); trace != "" {
		for i := range req.Records {
			req.Records[i].TraceParent = trace
		}
	}
	req.Acks = askedAcks(r)
	done, err := a.engine.Produce(r.Context(), ref, req)
	if err != nil {
		return err
	}
	return writeProduced(w, done)
}

// produceLimit is the most a request may be: the topic's largest record in base64, and something around it.
func (a *API) produceLimit(ref engine.Ref) exchange.Limit {
	return func(ctx context.Context) (int64, error) {
		t, err := a.engine.Topic(ctx, ref)
		if err != nil {
			return 0, err
		}
		const around = 1 << 20
		return max(exchange.MaxBody, t.Config.MaxRecordBytes/3*4+around), nil
	}
}

// readRecords reads what the body describes.
func readRecords(r *http.Request, body *exchange.Body, into *engine.ProduceRequest) error {
	if _, err := query(r, acksParameter); err != nil {
		return err
	}
	if err := body.DecodingJSON(); err != nil {
		return err
	}
	var req ProduceRequest
	if err := decode(body.Bytes, &req); err != nil {
		return err
	}
	into.ExpectedOffset = req.ExpectedOffset
	into.Records = make([]engine.Record, len(req.Records))
	for i := range req.Records {
		record, err := req.Records[i].engine("records[" + strconv.Itoa(i) + "].")
		if err != nil {
			return err
		}
		into.Records[i] = record
	}
	return nil
}

// engine is the record as the engine takes it; at is where it stands in the request.
func (n *NewRecord) engine(at string) (engine.Record, error) {
	out := engine.Record{Headers: n.Headers, Partition: n.Partition, Timestamp: n.Timestamp}
	if n.Key != nil {
		out.Key = []byte(*n.Key)
	}
	switch {
	case n.Value.given && n.ValueBase64 != nil:
		return out, invalid(at+"value", "Give the value either as value or as value_base64, not both.")
	case n.Value.text != nil:
		out.Value = bytesOf(*n.Value.text)
	case n.ValueBase64 != nil:
		out.Value = n.ValueBase64
	case !n.Value.given:
		return out, invalid(at+"value", "The value is missing: give it as value (a string, or null for a tombstone) or value_base64 (bytes).")
	}
	return out, nil
}

// rawRecord makes the request body, as it is, the value of one record. It shares memory with the body.
func rawRecord(r *http.Request, body []byte, into *engine.ProduceRequest) error {
	params, err := query(r, "key", "partition", "expected_offset", acksParameter)
	if err != nil {
		return err
	}
	record := engine.Record{Value: body, ContentType: carriedType(r)}
	if body == nil {
		record.Value = []byte{}
	}
	if key, given := params["key"]; given {
		if !utf8.ValidString(key) {
			return invalid("key", "The key must be valid UTF-8.")
		}
		record.Key = []byte(key)
	}
	if given, ok := params["partition"]; ok {
		p, err := strconv.ParseUint(given, 10, 32)
		if err != nil {
			return invalid("partition", `The query parameter "partition" must be the number of a partition, from 0.`)
		}
		record.Partition = new(uint32(p))
	}
	if given, ok := params["expected_offset"]; ok {
		expected, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			return invalid("expected_offset", `The query parameter "expected_offset" must be an offset, from 0.`)
		}
		into.ExpectedOffset = &expected
	}
	record.Headers, err = headerAttributes(r.Header)
	into.Records = []engine.Record{record}
	return err
}

func writeProduced(w http.ResponseWriter, done engine.ProduceAnswer) error {
	out := exchange.NewAnswer()
	defer out.Release()
	b := append(out.Bytes, `{"results":[`...)
	for i, p := range done.Places {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendUint(append(b, `{"partition":`...), uint64(p.Partition))
		b = appendUint(append(b, `,"offset":`...), p.Offset)
		if done.Duplicate {
			b = append(b, `,"duplicate":true`...)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if done.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	out.Bytes = append(b, '}')
	_ = send(w, out, http.StatusOK) // a client that is gone repeats with its key
	return nil
}

// partition is the number of the partition in a request's path.
func partition(r *http.Request) (uint32, error) {
	given := pathValue(r, "p")
	n, err := strconv.ParseUint(given, 10, 32)
	if err != nil {
		return 0, invalid("partition", fmt.Sprintf("A partition is named by its number, from 0, not by %q.", given))
	}
	return uint32(n), nil
}
