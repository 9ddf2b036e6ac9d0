package sqs_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dabba-mq/dabba/handlers/sqs"
	"github.com/dabba-mq/dabba/memlimit"
)

// What a receive asks for is in memory while it waits, and may be as large as a body.
func TestALargeReceiveCountsInTheBudgetWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := memlimit.New(3 << 20)
		s := start(t, func(c *sqs.Config) { c.Exchange.Budget = budget })
		url := s.queue("q", nil)
		large := params{"MessageAttributeNames": []string{strings.Repeat("x", 600<<10)}}
		waiting := s.poll(url, large, params{"WaitTimeSeconds": 20})
		synctest.Wait()
		s.json("ReceiveMessage", with(params{"QueueUrl": url}, large)).refused(http.StatusServiceUnavailable, "ServiceUnavailable", "")
		s.put(url, "small")
		(<-waiting).want(t, 0, "small")
		if n := budget.Used(); n != 0 {
			t.Errorf("%d bytes are taken after the receive, want none", n)
		}
	})
}
