package containers

import (
	"net/http"
	"testing"
	"time"
)

// TestReplicaIsPaused asks for two copies while there is one: nobody can know whether the second will be, and a repeat with
// the same key finds out.
func TestReplicaIsPaused(t *testing.T) {
	t.Parallel()
	on := where.fleet(t, replicated)
	_, clients := pair(t, on)
	a, b := clients[0], clients[1]
	a.create("sure", `{"acks":"all","min_insync_replicas":2}`)
	a.create("plain", "")
	a.send("sure", "before")

	on.replica().pause(t)
	unknown := a.with("Idempotency-Key", "k").post("/v1/queues/sure/messages", `{"body":"perhaps"}`)
	if p := unknown.problem(); unknown.status != http.StatusServiceUnavailable || p.Outcome != "unknown" {
		t.Errorf("with the replica paused a send that wants two copies got %d %s, want outcome unknown", unknown.status, unknown.body)
	}
	note(t, "that there are not two copies was known after %v", unknown.took.Round(time.Millisecond))
	b.send("plain", "who asks for one copy does not wait")

	on.replica().unpause(t)
	begun := time.Now()
	eventually(t, "a repeat to be acknowledged", func() bool {
		return b.with("Idempotency-Key", "k").post("/v1/queues/sure/messages", `{"body":"perhaps"}`).status == http.StatusOK
	})
	note(t, "two copies again after %v", time.Since(begun).Round(time.Millisecond))
	got := b.receive("sure", `{"max":10}`)
	if len(got) != 2 || got[0].Body != "before" || got[1].Body != "perhaps" {
		t.Errorf("there are %+v, want before and perhaps, each once", got)
	}
}
