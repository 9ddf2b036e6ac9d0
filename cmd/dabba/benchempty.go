package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// serveEmpty is what a server is compared with: a router, a decoder, an answer and nothing else, with the runtime's
// settings as they come. It runs in a process of its own, so that both pay for the same things. Set GOGC to give the two
// the same garbage collection; otherwise the server's is that of keepHeapFloor.
func serveEmpty(ctx context.Context, p program) error {
	r := chi.NewRouter()
	r.Post("/v1/queues/{q}/messages", func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Body       string            `json:"body"`
			Attributes map[string]string `json:"attributes"`
			Delay      string            `json:"delay"`
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"00000000-0000-8000-8000-000000000000"}`)
	})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: patience}
	go func() {
		_, _ = io.Copy(io.Discard, p.in)
		_ = server.Close()
	}()
	if _, err := fmt.Fprintln(p.out, "http://"+l.Addr().String()); err != nil {
		return err
	}
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
