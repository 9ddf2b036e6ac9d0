package rest_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestFeaturesAreListedOnceAndInOrder(t *testing.T) {
	t.Parallel()
	var info rest.Info
	withQueue(t, "").Get("/v1/info").Want(http.StatusOK).Decode(&info)
	want := slices.Compact(slices.Sorted(slices.Values(info.Features)))
	if !slices.Equal(info.Features, want) {
		t.Errorf("features = %q, want %q", info.Features, want)
	}
	for _, f := range []string{"fifo", "redrive", "schedules", "tasks", "topics"} {
		if !slices.Contains(info.Features, f) {
			t.Errorf("features = %q, want %q among them", info.Features, f)
		}
	}
}
