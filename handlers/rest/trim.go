package rest

import "net/http"

// Trim removes the older records of one partition.
//
// @Summary Remove older records
// @Description Removes the records of a partition before an offset, for ever, and shows what is left.
// @ID trimRecords
// @Tags topics
// @Produce json
// @Param t path string true "Topic name"
// @Param p path int true "Partition, from 0"
// @Param before query string true "An offset, latest (all records) or time:<RFC 3339> (those before the first record whose timestamp is not before it)"
// @Success 200 {object} Partition
// @Failure 400,401,403,404,416,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/topics/{t}/partitions/{p}/records [delete]
func (a *API) Trim(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.topic(r, "manage")
	if err != nil {
		return err
	}
	params, err := query(r, "before")
	if err != nil {
		return err
	}
	number, err := partition(r)
	if err != nil {
		return err
	}
	before, ok := parseStart(params["before"])
	if !ok {
		return invalid("before", "Give an offset (a number from 0), latest, or a time such as time:2026-11-29T16:50:00Z.")
	}
	left, err := a.engine.TrimTopic(r.Context(), ref, number, before)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, partitionOf(left))
}
