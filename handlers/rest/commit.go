package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
)

// Commit sets the committed offsets of a name on a topic.
//
// @Summary Commit offsets under a name
// @Description Sets, for each partition given, the next offset to read; those of other partitions stay. With If-Match, If-None-Match or expected the offsets are set only if nobody else committed meanwhile.
// @ID putOffsets
// @Tags topics
// @Accept json
// @Produce json
// @Param t path string true "Topic name"
// @Param name path string true "Name of the reader: letters, digits, - and _, at most 80"
// @Param If-Match header string false "Only if the committed offsets have this ETag; * for some that exist"
// @Param If-None-Match header string false "* commits only if nothing was committed under this name yet (else 412)"
// @Param offsets body CommitRequest true "The offsets"
// @Success 200 {object} Committed
// @Header 200 {string} ETag "Names this state of the committed offsets"
// @Failure 400,401,403,404,409,412,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t}/offsets/{name} [put]
func (a *API) Commit(w http.ResponseWriter, r *http.Request) error {
	ref, name, err := a.reader(r)
	if err != nil {
		return err
	}
	only, err := precondition(r)
	if err != nil {
		return err
	}
	var req CommitRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	done, err := a.engine.Commit(r.Context(), ref, name, engine.CommitRequest{Offsets: req.Offsets, Expected: req.Expected.engine(req.Offsets), Only: only})
	if err != nil {
		return err
	}
	return replyCommitted(w, name, done)
}

// Committed shows the committed offsets of a name on a topic.
//
// @Summary Show committed offsets
// @Description The offsets that were committed under a name. The ETag header names this state of them.
// @ID getOffsets
// @Tags topics
// @Produce json
// @Param t path string true "Topic name"
// @Param name path string true "Name of the reader"
// @Param If-None-Match header string false "Answers 304 while they have this ETag"
// @Success 304 "They are the same"
// @Success 200 {object} Committed
// @Header 200 {string} ETag "Names this state of the committed offsets"
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t}/offsets/{name} [get]
func (a *API) Committed(w http.ResponseWriter, r *http.Request) error {
	ref, name, err := a.reader(r)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	found, err := a.engine.CommittedOffsets(r.Context(), ref, name)
	if err != nil {
		return err
	}
	if unchanged(w, r, found.ETag) {
		return nil
	}
	return replyCommitted(w, name, found)
}

func replyCommitted(w http.ResponseWriter, name string, c engine.Committed) error {
	w.Header().Set("ETag", quoted(c.ETag))
	return reply(w, http.StatusOK, Committed{Name: name, Offsets: c.Offsets})
}

// reader is the topic and the name in the path of a request whose sender may consume under that name: the scope names
// the topic, or topic/name.
func (a *API) reader(r *http.Request) (engine.Ref, string, error) {
	topic, name := pathValue(r, "t"), pathValue(r, "name")
	p := a.principal(r)
	if !p.Allows("topics", "consume", topic) {
		if err := p.Require("topics", "consume", topic+"/"+name); err != nil {
			return engine.Ref{}, "", err
		}
	}
	return engine.Ref{Tenant: p.Tenant, Name: topic}, name, nil
}
