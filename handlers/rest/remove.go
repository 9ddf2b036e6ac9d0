package rest

import (
	"net/http"
)

// Remove acks one message, by the receipt in the path.
func (a *API) Remove(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	results, err := a.engine.Ack(r.Context(), ref, []string{pathValue(r, "receipt")})
	if err != nil {
		return err
	}
	if refused := results[0].Err; refused != nil {
		return fieldOf(refused, "receipts[0]", "receipt")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
