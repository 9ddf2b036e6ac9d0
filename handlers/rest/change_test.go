package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

func TestChangeLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"visibility":"1m","retry":{"base":"2s","max_receives":5},"tags":{"a":"1","b":"2"}}`)

	srv.Patch("/v1/queues/q", `{"retry":{"cap":"1h"},"tags":{"b":null,"c":"3"}}`).Want(http.StatusOK).
		Has(`"visibility":"1m"`).
		Has(`"retry":{"policy":"exponential","base":"2s","cap":"1h","jitter":"full","max_receives":5}`).
		Has(`"tags":{"a":"1","c":"3"}`)
}

func TestChangeToNullIsTheDefault(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"visibility":"1m","retry":{"max_receives":5},"dead_letter":{"queue":"dead","when":"lazy"}}`)

	srv.Patch("/v1/queues/q", `{"visibility":null,"retry":{"max_receives":null},"dead_letter":null}`).Want(http.StatusOK).
		Has(`"visibility":"30s"`).
		Has(`"retry":{"policy":"exponential","base":"1s","cap":"5m","jitter":"full"}`).
		Has(`"dead_letter":{"when":"eager"}`)
}

func TestChangeOfNothingChangesNothing(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"delay":"5s"}`)
	before := srv.Get("/v1/queues/q").Want(http.StatusOK)
	after := srv.Patch("/v1/queues/q", "").Want(http.StatusOK)
	if string(before.Body) != string(after.Body) || before.Header.Get("ETag") != after.Header.Get("ETag") {
		t.Errorf("an empty patch made\n%s\nof\n%s", after.Body, before.Body)
	}
}

func TestChangeNeedsAQueue(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Patch("/v1/queues/q", `{"delay":"1s"}`).Refused(http.StatusNotFound, "not_found", "")
}

// TestChangesAreNotMixedUp changes and replaces queues at the same time, each with values of its own.
func TestChangesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	var clients sync.WaitGroup
	for i := range 4 {
		path := fmt.Sprint("/v1/queues/q", i)
		srv.Put(path, "").Want(http.StatusCreated)
		clients.Go(func() {
			for n := range 10 {
				for verb, call := range map[string]func(path, body string, headers ...string) *handlerstest.Answer{"PATCH": srv.Patch, "PUT": srv.Put} {
					own := fmt.Sprintf(`"tags":{"own":"%s %d %d"}`, verb, i, n)
					got := call(path, strings.Repeat(" ", n)+"{"+own+"}")
					if got.Status != http.StatusOK || !strings.Contains(string(got.Body), own) {
						t.Errorf("%s of %s to %s: %d %s", verb, path, own, got.Status, got.Body)
					}
				}
			}
		})
	}
	clients.Wait()
}
