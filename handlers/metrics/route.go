package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// statusReader is a response writer that knows what was answered.
type statusReader interface{ Status() int }

// Route counts the answers of one route by their status. The writer that next gets must know its status, as that of
// package middleware does. A handler that panics counts as a 500.
func (m *Metrics) Route(method, route string, next http.Handler) http.Handler {
	// What goes well is counted without a look-up by labels.
	usual := map[int]prometheus.Counter{}
	for _, status := range [...]int{http.StatusOK, http.StatusCreated, http.StatusNoContent} {
		usual[status] = m.requests.WithLabelValues(method, route, strconv.Itoa(status))
	}
	count := func(status int) {
		c, ok := usual[status]
		if !ok {
			c = m.requests.WithLabelValues(method, route, strconv.Itoa(status))
		}
		c.Inc()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusInternalServerError
		defer func() { count(status) }()
		next.ServeHTTP(w, r)
		status = http.StatusOK
		if s, ok := w.(statusReader); ok && s.Status() != 0 {
			status = s.Status()
		}
	})
}
